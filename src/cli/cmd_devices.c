#include "cli/command.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "cli/text.h"

#include <mica/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

/* The devices of the machine, and the one that programs use by default. */
typedef struct listing {
  mica_device_info *infos;
  size_t count;
  size_t chosen; /* index of the default device; equal to count if no listed device is the default */
} listing;

static const struct {
  uint32_t bit;
  const char *extension;
} features[] = {
#define FEATURE_ROW(name, extension) {MICA_FEATURE_##name, extension},
    MICA_FEATURE_LIST(FEATURE_ROW)
#undef FEATURE_ROW
};

static void print_device(const mica_device_info *info, bool chosen) {
  char global[CLI_BYTES_TEXT], largest[CLI_BYTES_TEXT], local[CLI_BYTES_TEXT];
  printf("%s%s %s  %s%s\n", cli_colour_code(chosen ? CLI_GREEN : CLI_BOLD), chosen ? "*" : " ", info->id, info->name,
         cli_colour_code(CLI_PLAIN));
  printf("    platform  %s, %s\n", info->platform, info->platform_version);
  printf("    driver    %s, %s\n", info->driver, info->opencl_c);
  printf("    class     %s, vendor %s\n", mica_device_class_name(info->device_class), mica_vendor_name(info->vendor));
  printf("    compute   %u units at %u MHz, vectors of %u bytes\n", info->compute_units, info->clock_mhz,
         info->vector_bytes);
  printf("    memory    %s%s, largest buffer %s, aligned to %u bytes\n", cli_format_bytes(info->global_bytes, global),
         info->unified_memory ? " shared with the host" : "", cli_format_bytes(info->max_buffer_bytes, largest),
         info->align_bytes);
  printf("    groups    %zu work-items (%zu x %zu x %zu), %s of %s local memory\n", info->max_group,
         info->max_group_dim[0], info->max_group_dim[1], info->max_group_dim[2],
         cli_format_bytes(info->local_bytes, local), info->local_is_fast ? "fast" : "emulated");
  printf("    features ");
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    if (info->features & features[i].bit) printf(" %s", features[i].extension);
  puts(info->features ? "" : " none");
  if (info->texture_length)
    printf("    textures  of %llu pixels, %u x %u\n", (unsigned long long)info->texture_length, info->texture_width,
           info->texture_height);
  if (!info->has_compiler) puts("    compiler  none: it runs only the kernels of a bundle (MICA_BUNDLE)");
}

static void add_limits(cli_json *json, cJSON *device, const mica_device_info *info) {
  cJSON *limits = cli_json_object(json, device, "limits");
  cli_json_integer(json, limits, "max_buffer_bytes", info->max_buffer_bytes);
  cli_json_integer(json, limits, "local_bytes", info->local_bytes);
  cli_json_integer(json, limits, "max_group", info->max_group);
  cJSON *dims = cli_json_array(json, limits, "max_group_dim");
  for (size_t i = 0; i < 3; i++) cli_json_integer(json, dims, NULL, info->max_group_dim[i]);
  cli_json_integer(json, limits, "align_bytes", info->align_bytes);
  cli_json_integer(json, limits, "address_bits", info->address_bits);
  cli_json_integer(json, limits, "texture_length", info->texture_length);
  cli_json_integer(json, limits, "texture_width", info->texture_width);
  cli_json_integer(json, limits, "texture_height", info->texture_height);
}

static void add_device(cli_json *json, cJSON *devices, const mica_device_info *info, bool chosen) {
  cJSON *device = cli_json_object(json, devices, NULL);
  cli_json_text(json, device, "id", info->id);
  cli_json_bool(json, device, "chosen", chosen);
  cli_json_text(json, device, "platform", info->platform);
  cli_json_text(json, device, "platform_version", info->platform_version);
  cli_json_text(json, device, "name", info->name);
  cli_json_text(json, device, "class", mica_device_class_name(info->device_class));
  cli_json_text(json, device, "vendor", mica_vendor_name(info->vendor));
  cli_json_text(json, device, "driver", info->driver);
  cli_json_text(json, device, "opencl_c", info->opencl_c);
  cli_json_integer(json, device, "compute_units", info->compute_units);
  cli_json_integer(json, device, "vector_bytes", info->vector_bytes);
  cli_json_integer(json, device, "clock_mhz", info->clock_mhz);
  cli_json_integer(json, device, "global_bytes", info->global_bytes);
  cli_json_bool(json, device, "has_compiler", info->has_compiler);
  cli_json_bool(json, device, "unified_memory", info->unified_memory);
  cli_json_bool(json, device, "local_is_fast", info->local_is_fast);
  add_limits(json, device, info);
  cJSON *extensions = cli_json_array(json, device, "extensions");
  for (size_t i = 0; i < sizeof features / sizeof *features; i++)
    if (info->features & features[i].bit) cli_json_text(json, extensions, NULL, features[i].extension);
}

/* True if two devices can train together. Gradients go through the host's memory, so all devices can, except the null
 * device, which computes nothing. */
static bool pairs(const listing *list, size_t a, size_t b) {
  return list->infos[a].device_class != MICA_DEVICE_CLASS_NULL && list->infos[b].device_class != MICA_DEVICE_CLASS_NULL;
}

static void add_pairs(cli_json *json, const listing *list) {
  cJSON *all = cli_json_array(json, json->root, "pairs");
  for (size_t b = 1; b < list->count; b++)
    for (size_t a = 0; a < b; a++) {
      if (!pairs(list, a, b)) continue;
      cJSON *pair = cli_json_object(json, all, NULL), *devices = cli_json_array(json, pair, "devices");
      cli_json_text(json, devices, NULL, list->infos[a].id);
      cli_json_text(json, devices, NULL, list->infos[b].id);
      cli_json_text(json, pair, "gradients", "host memory");
    }
}

static void print_pairs(const listing *list) {
  for (size_t b = 1; b < list->count; b++)
    for (size_t a = 0; a < b; a++)
      if (pairs(list, a, b))
        printf("%s and %s train together: --devices %s,%s, gradients through the host's memory\n", list->infos[a].id,
               list->infos[b].id, list->infos[a].id, list->infos[b].id);
  for (size_t a = 0; a < list->count; a++)
    if (list->infos[a].device_class == MICA_DEVICE_CLASS_CPU && list->infos[a].compute_units > 1)
      printf("%s may be cut: --devices %s/2\n", list->infos[a].id, list->infos[a].id);
}

static int print_json(const cli_command *self, const listing *list) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "chosen", list->chosen < list->count ? list->infos[list->chosen].id : NULL);
  cJSON *devices = cli_json_array(&json, json.root, "devices");
  for (size_t i = 0; i < list->count; i++) add_device(&json, devices, &list->infos[i], i == list->chosen);
  add_pairs(&json, list);
  return cli_json_print(&json, self);
}

static int print_text(const listing *list) {
  for (size_t i = 0; i < list->count; i++) print_device(&list->infos[i], i == list->chosen);
  print_pairs(list);
  if (list->chosen < list->count) printf("* is chosen unless a program or MICA_DEVICE says otherwise\n");
  return CLI_OK;
}

/* Fills list. *found receives the status of looking for the default device. The null device is listed only if it is the
 * default. */
static mica_status list_devices(listing *list, mica_status *found) {
  size_t capacity = 0;
  mica_status status = mica_device_list(NULL, 0, &capacity);
  if (status != MICA_OK) return status;
  list->infos = calloc(capacity + 1, sizeof *list->infos);
  if (!list->infos) return MICA_E_NOMEM;
  status = mica_device_list(list->infos, capacity, &list->count);
  if (status != MICA_OK) return status;
  if (list->count > capacity) list->count = capacity;
  list->chosen = list->count;
  mica_device_info info;
  *found = mica_device_find(NULL, &info);
  if (*found != MICA_OK) return MICA_OK;
  if (info.device_class == MICA_DEVICE_CLASS_NULL) {
    list->infos[list->count++] = info;
    return MICA_OK;
  }
  list->chosen = 0;
  while (list->chosen < list->count && strcmp(list->infos[list->chosen].id, info.id) != 0) list->chosen++;
  return MICA_OK;
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  listing list = {0};
  mica_status found = MICA_OK;
  int status = CLI_OK;
  switch (list_devices(&list, &found)) {
  case MICA_OK: status = values->json ? print_json(self, &list) : print_text(&list); break;
  case MICA_E_NOMEM: status = cli_fail(self, "there is not enough memory for the list"); break;
  default: status = cli_fail_library(self);
  }
  free(list.infos);
  if (status == CLI_OK && found != MICA_OK) status = cli_fail_library(self);
  return status;
}

const cli_command cli_command_devices = {
    .name = "devices",
    .summary = "list the OpenCL devices and mark the chosen one",
    .details = "\nThe list is printed even if no device can be chosen; the exit status is then 1.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
