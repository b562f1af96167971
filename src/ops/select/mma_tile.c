/* The tiles of kernels on matrix units (cl/common/mma/tile.clh). */
#include "ops/select/mma.h"

#define PIECE_BYTES 16

/* MMA_LANES of each unit's file in cl/common/mma. */
static const int64_t lanes[] = {
    [MICA__MMA_PTX] = 32, [MICA__MMA_MFMA] = 64, [MICA__MMA_WMMA] = 32, [MICA__MMA_DPAS8] = 8, [MICA__MMA_DPAS16] = 16};

int64_t mica__mma_lanes(int32_t unit) { return lanes[unit]; }

mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  const int64_t warps_m = mica__kernel_value(desc, values, "WARPS_M"),
                warps_n = mica__kernel_value(desc, values, "WARPS_N");
  const int32_t unit = mica__kernel_value(desc, values, "MMA_UNIT");
  const bool deep = mica__kernel_param_index(desc, "MMA_DEPTH") < 0;
  return (mica__mma_tile){.m = warps_m * mica__kernel_value(desc, values, "WARP_M"),
                          .n = warps_n * mica__kernel_value(desc, values, "WARP_N"),
                          .depth = deep ? MICA__MMA_STEP : mica__kernel_value(desc, values, "MMA_DEPTH"),
                          .threads = (size_t)(warps_m * warps_n * lanes[unit]),
                          .copies = unit == MICA__MMA_PTX};
}

/* True if results fit the memory of B's tiles. Each warp passes its results through that memory, eight rows at a time,
 * as floats or ints. Both sizes are bytes per column. */
static bool has_room_for_results(mica__mma_tile tile, int64_t stages, int64_t warps_m) {
  return warps_m * 8 * (int64_t)sizeof(float) <= stages * tile.depth * PIECE_BYTES;
}

bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device) {
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  const int64_t threads = (int64_t)tile.threads, stages = mica__kernel_value(desc, values, "STAGES");
  const uint64_t local = (uint64_t)(tile.depth * (tile.m + tile.n) * stages) * PIECE_BYTES;
  if (tile.depth != MICA__MMA_STEP && !tile.copies) return false;
  return tile.m * tile.depth % threads == 0 && tile.n * tile.depth % threads == 0 &&
         has_room_for_results(tile, stages, mica__kernel_value(desc, values, "WARPS_M")) &&
         tile.threads <= device->max_group && local <= device->local_bytes;
}
