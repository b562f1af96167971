/* Devices by name: the list that programs see, and how selectors choose from it. */
#include "runtime/cl_error.h"
#include "runtime/sub_device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool equals_ignoring_case(const char *a, const char *b) {
  while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
  return *a == *b;
}

static bool contains_ignoring_case(const char *text, const char *part) {
  size_t length = strlen(part);
  for (; *text; text++) {
    size_t i = 0;
    while (i < length && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
    if (i == length) return true;
  }
  return false;
}

static bool is_candidate(const mica_device_info *info, const char *selector) {
  if (!selector || !*selector) return true;
  for (int c = 0; c <= MICA_DEVICE_CLASS_NULL; c++)
    if (equals_ignoring_case(selector, mica_device_class_name((mica_device_class)c)))
      return info->device_class == (mica_device_class)c;
  if (isdigit((unsigned char)selector[0]) && strchr(selector, ':')) return !strcmp(selector, info->id);
  return contains_ignoring_case(info->name, selector) || contains_ignoring_case(info->platform, selector);
}

/* A number that is larger for devices that are preferred. Devices with a compiler come first, then GPUs before
 * accelerators before CPUs, then those with the most compute units times clock. If two numbers are equal, the first
 * listed is chosen. */
static uint64_t preference(const mica_device_info *info) {
  uint64_t rank = info->device_class == MICA_DEVICE_CLASS_GPU           ? 3
                  : info->device_class == MICA_DEVICE_CLASS_ACCELERATOR ? 2
                                                                        : 1;
  return (uint64_t)info->has_compiler << 63 | rank << 60 | (uint64_t)info->compute_units * (info->clock_mhz + 1);
}

static mica_status fail_no_device(const char *selector, const mica__device *list, size_t count) {
  char known[1024] = "";
  size_t at = 0;
  for (size_t i = 0; i < count && at < sizeof known; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s %s", i ? ", " : "", list[i].info.id, list[i].info.name);
  if (count == 0)
    return mica__fail(MICA_E_NO_DEVICE,
                      "this machine has no OpenCL device; install a driver, on a CPU for example PoCL");
  const bool other = equals_ignoring_case(selector, "cuda") || contains_ignoring_case(selector, "cuda:") ||
                     equals_ignoring_case(selector, "mps") || equals_ignoring_case(selector, "rocm");
  return mica__fail(MICA_E_NO_DEVICE, "no device matches \"%s\"; choose from: %s%s", selector, known,
                    other ? "; Mica computes on OpenCL devices, for example --device gpu" : "");
}

static mica_status select_whole(const char *selector, mica__device *device) {
  bool null = equals_ignoring_case(selector, mica_device_class_name(MICA_DEVICE_CLASS_NULL));
  mica__device *list = NULL;
  size_t count = 0;
  MICA_TRY(mica__device_collect(null ? mica__cl_null() : mica__cl_loader(), &list, &count));
  const mica__device *best = NULL;
  for (size_t i = 0; i < count; i++)
    if (is_candidate(&list[i].info, selector) && (!best || preference(&list[i].info) > preference(&best->info)))
      best = &list[i];
  mica_status status = MICA_OK;
  if (best)
    *device = *best;
  else
    status = fail_no_device(selector, list, count);
  free(list);
  return status;
}

/* Copies an info for a program that was compiled with another version of the struct: cuts it to `bytes`, or fills up
 * with zeros. */
static void copy_info(void *to, size_t bytes, const mica_device_info *info) {
  memset(to, 0, bytes);
  memcpy(to, info, bytes < sizeof *info ? bytes : sizeof *info);
}

mica_status mica_device_list_sized(mica_device_info *infos, size_t info_bytes, size_t capacity, size_t *count) {
  if (!count || (capacity && !infos)) return mica__fail(MICA_E_INVALID, "mica_device_list: a pointer is NULL");
  mica__device *list = NULL;
  size_t n = 0;
  MICA_TRY(mica__device_collect(mica__cl_loader(), &list, &n));
  for (size_t i = 0; i < n && i < capacity; i++) copy_info((char *)infos + i * info_bytes, info_bytes, &list[i].info);
  free(list);
  *count = n;
  return MICA_OK;
}

mica_status mica__device_select(const char *selector, mica__device *device) {
  char whole[MICA_DEVICE_TEXT];
  size_t length = 0;
  uint32_t parts = 0, part = 0;
  bool is_part = false;
  if (!selector) selector = getenv("MICA_DEVICE");
  if (!selector) selector = "";
  MICA_TRY(mica__sub_device_parse(selector, &length, &parts, &part, &is_part));
  if (!is_part) return select_whole(selector, device);
  mica__device found;
  snprintf(whole, sizeof whole, "%.*s", (int)(length < sizeof whole ? length : sizeof whole - 1), selector);
  MICA_TRY(select_whole(whole, &found));
  return mica__sub_device_of(&found, parts, part, device);
}

mica_status mica_device_find_sized(const char *selector, mica_device_info *info, size_t info_bytes) {
  if (!info) return mica__fail(MICA_E_INVALID, "mica_device_find: info is NULL");
  mica__device device;
  MICA_TRY(mica__device_select(selector, &device));
  copy_info(info, info_bytes, &device.info);
  return MICA_OK;
}
