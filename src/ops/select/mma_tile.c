/* The tiles of kernels on matrix units (cl/common/mma/tile.clh). */
#include "ops/select/mma.h"

#define PIECE_BYTES 16

/* MMA_LANES of the unit's file. */
static const int64_t lanes[] = {
    [MICA__MMA_PTX] = 32, [MICA__MMA_MFMA] = 64, [MICA__MMA_WMMA] = 32, [MICA__MMA_DPAS8] = 8, [MICA__MMA_DPAS16] = 16};

int64_t mica__mma_lanes(int32_t unit) { return lanes[unit]; }

mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  const int64_t warps_m = mica__kernel_value(desc, values, "WARPS_M"),
                warps_n = mica__kernel_value(desc, values, "WARPS_N");
  return (mica__mma_tile){.m = warps_m * mica__kernel_value(desc, values, "WARP_M"),
                          .n = warps_n * mica__kernel_value(desc, values, "WARP_N"),
                          .threads = (size_t)(warps_m * warps_n * lanes[mica__kernel_value(desc, values, "MMA_UNIT")])};
}

bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device) {
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  const int64_t pieces = MICA__MMA_STEP * (tile.m + tile.n), threads = (int64_t)tile.threads;
  const uint64_t local = (uint64_t)(pieces * mica__kernel_value(desc, values, "STAGES")) * PIECE_BYTES;
  return tile.m * MICA__MMA_STEP % threads == 0 && tile.n * MICA__MMA_STEP % threads == 0 &&
         tile.threads <= device->max_group && local <= device->local_bytes;
}
