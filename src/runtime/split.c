#include "runtime/split.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/kernel_table.h"
#include "runtime/objects.h"

/* Limits that GPUs of all vendors accept. CUDA's devices take 65,535 groups in the second and in the third dimension.
 * Some drivers take at most 2^32 - 1 work-items. */
#define MOST_GROUPS 65535
#define MOST_ITEMS UINT32_MAX

/* Windows resets a GPU that also drives a display if one launch takes longer than 2 s; other systems wait longer. So a
 * part is limited to what the slowest kernels do in 1 s: 4 operations per clock and compute unit, and 4 GB moved.
 *
 * Peaks are 16 operations per clock (an EU of Intel's) to 256 (an SM of NVIDIA's). So faster kernels get shorter parts
 * than they need, but each part still takes milliseconds, which is much longer than starting it takes. */
#define SLOWEST_FLOPS_A_CLOCK 4
#define SLOWEST_BYTES 4e9
#define SLOWEST_MHZ 500 /* if the driver reports no clock */
#define UNKNOWN_ITEMS ((size_t)1 << 24)

static bool splits(const mica_device_info *device) {
  return device->device_class != MICA_DEVICE_CLASS_CPU && device->device_class != MICA_DEVICE_CLASS_NULL;
}

const char *mica__split_prelude(const mica_device_info *device) {
  if (!splits(device)) return "";
  return "#define get_group_id(d) (get_group_id(d) + (get_global_offset(d) ? get_global_offset(d) / "
         "get_local_size(d) : 0))\n";
}

mica__split_limits mica__split_limits_of(const mica_device_info *device) {
  double mhz = device->clock_mhz ? device->clock_mhz : SLOWEST_MHZ;
  double units = device->compute_units ? device->compute_units : 1;
  if (!splits(device)) return (mica__split_limits){{SIZE_MAX, SIZE_MAX, SIZE_MAX}, SIZE_MAX, 1e300, 1e300, SIZE_MAX};
  return (mica__split_limits){.groups = {INT32_MAX, MOST_GROUPS, MOST_GROUPS},
                              .items = MOST_ITEMS,
                              .flops = SLOWEST_FLOPS_A_CLOCK * 1e6 * mhz * units,
                              .bytes = SLOWEST_BYTES,
                              .unknown_items = UNKNOWN_ITEMS};
}

/* True if the launch may be split: the caller gave a group size and did not forbid it, and the kernel counts groups
 * from the beginning of the range, as only Mica's own kernels do. */
static bool may_split(const mica__launch *launch) {
  const mica__kernel *kernel = launch->kernel;
  return launch->local[0] && !launch->is_whole && (kernel->file || kernel->generated);
}

/* Reduces a part to at most `most` groups, but to no fewer than one. Takes groups away in the last dimension first,
 * then in the one before it. */
static void cap(size_t part[3], double most) {
  for (int d = 2; d >= 0; d--) {
    double groups = (double)part[0] * (double)part[1] * (double)part[2];
    if (groups <= most) return;
    double fewer = (double)part[d] * most / groups;
    part[d] = fewer >= 1 ? (size_t)fewer : 1;
  }
}

/* The number of parts needed so that none takes longer than a launch may. */
static double parts_for_time(const mica__split_limits *limits, const mica__launch *launch, double items) {
  if (launch->flops <= 0 && launch->bytes <= 0) return items / (double)limits->unknown_items;
  double flops = launch->flops / limits->flops, bytes = launch->bytes / limits->bytes;
  return flops > bytes ? flops : bytes;
}

mica_status mica__split_make(const mica__split_limits *limits, const mica__launch *launch, mica__split *split) {
  size_t groups[3] = {1, 1, 1}, local[3] = {1, 1, 1}, part[3];
  double all = 1, items = 1;
  split->count = 1;
  for (uint32_t d = 0; d < 3; d++) {
    if (d < launch->dims && launch->local[0]) local[d] = launch->local[d];
    if (d < launch->dims) groups[d] = mica__ceil_div_size(launch->global[d], local[d]);
    part[d] = groups[d] < limits->groups[d] ? groups[d] : limits->groups[d];
    split->global[d] = groups[d] * local[d];
    all *= (double)groups[d];
    items *= (double)local[d];
  }
  if (limits->items == SIZE_MAX) {
    for (int d = 0; d < 3; d++) split->part[d] = split->global[d];
    return MICA_OK;
  }
  cap(part, (double)limits->items / items);
  bool fits = part[0] == groups[0] && part[1] == groups[1] && part[2] == groups[2];
  if (!fits && !may_split(launch))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "kernel %s has %zu x %zu x %zu groups of %.0f work-items; the device takes at most "
                      "%zu x %zu x %zu groups and %zu work-items per launch",
                      launch->kernel->name, groups[0], groups[1], groups[2], items, limits->groups[0],
                      limits->groups[1], limits->groups[2], limits->items);
  double wanted = parts_for_time(limits, launch, all * items);
  if (wanted > 1 && may_split(launch)) cap(part, all / wanted);
  for (uint32_t d = 0; d < 3; d++) {
    split->part[d] = part[d] * local[d];
    if (part[d]) split->count *= mica__ceil_div_size(groups[d], part[d]);
  }
  return MICA_OK;
}

mica__split_limits *mica__engine_split_limits(mica_engine *engine) { return &engine->split_limits; }
