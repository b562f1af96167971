#include "runtime/sub_device.h"

#include "runtime/cl_error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PARTS 64

/* The parts into which a device was divided. */
typedef struct cut {
  struct cut *next;
  cl_device_id whole;
  uint32_t parts;
  cl_device_id ids[MOST_PARTS];
} cut;

mica_status mica__sub_device_parse(const char *selector, size_t *whole, uint32_t *parts, uint32_t *part,
                                   bool *is_part) {
  const char *slash = strrchr(selector, '/');
  char *end = NULL;
  *is_part = slash && slash[1] >= '0' && slash[1] <= '9';
  if (!*is_part) return MICA_OK;
  const unsigned long many = strtoul(slash + 1, &end, 10);
  const bool numbered = *end == ':' && end[1] >= '0' && end[1] <= '9';
  const unsigned long which = numbered ? strtoul(end + 1, &end, 10) : 0;
  if (!numbered || *end || many < 2 || many > MOST_PARTS || which >= many)
    return mica__fail(MICA_E_INVALID,
                      "\"%s\" does not name a part of a device; write 0:0/2:1 for the second of 2 parts of 0:0; 2 to "
                      "%d parts are allowed",
                      selector, MOST_PARTS);
  *whole = (size_t)(slash - selector);
  *parts = (uint32_t)many;
  *part = (uint32_t)which;
  return MICA_OK;
}

static mica_status cut_device(const mica__device *whole, uint32_t parts, cut *made) {
  const uint32_t units = whole->info.compute_units / parts;
  const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)units, 0};
  cl_uint count = 0;
  *made = (cut){.whole = whole->id, .parts = parts};
  if (units == 0)
    return mica__fail(MICA_E_INVALID, "%s cannot be divided into %u parts, because its number of compute units is %u",
                      whole->info.id, parts, whole->info.compute_units);
  if (whole->api->CreateSubDevices(whole->id, how, 0, NULL, &count) != CL_SUCCESS || count < parts)
    return mica__fail(MICA_E_UNSUPPORTED, "the driver of %s (%s) cannot divide it into %u parts", whole->info.id,
                      whole->info.name, parts);
  cl_device_id *ids = calloc(count, sizeof *ids);
  if (!ids) return mica__fail_nomem("parts of a device");
  mica_status status =
      mica__cl_check(whole->api->CreateSubDevices(whole->id, how, count, ids, NULL), "cutting a device in parts");
  if (status == MICA_OK) memcpy(made->ids, ids, parts * sizeof *ids);
  free(ids);
  return status;
}

mica_status mica__sub_device_of(const mica__device *whole, uint32_t parts, uint32_t part, mica__device *device) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static cut *cuts;
  mica_status status = MICA_OK;
  pthread_mutex_lock(&lock);
  cut *found = cuts;
  while (found && (found->whole != whole->id || found->parts != parts)) found = found->next;
  if (!found) {
    found = malloc(sizeof *found);
    status = found ? cut_device(whole, parts, found) : mica__fail_nomem("parts of a device");
    if (status == MICA_OK) {
      found->next = cuts;
      cuts = found;
    } else
      free(found);
  }
  pthread_mutex_unlock(&lock);
  MICA_TRY(status);
  *device = *whole;
  device->id = found->ids[part];
  MICA_TRY(mica__device_describe(whole->api, whole->platform, device->id, &device->info));
  snprintf(device->info.id, sizeof device->info.id, "%.6s/%u:%u", whole->info.id, parts, part);
  return MICA_OK;
}
