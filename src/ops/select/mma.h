/* ops/select/mma.h: kernels on matrix units of GPUs (cl/common/mma/tile.clh): the rows of their parameter tables, the
 * units, the tiles that they are shipped with, and which devices take them. A build without a vendor's OpenCL needs
 * nothing of it: the instructions are text that no other device gets to see. */
#ifndef MICA_OPS_SELECT_MMA_H
#define MICA_OPS_SELECT_MMA_H

#include "ops/select/tile.h"
#include "runtime/core_model.h"

/* MMA_UNIT of cl/common/mma/mma.clh. */
typedef enum mica__mma_unit {
  MICA__MMA_PTX,
  MICA__MMA_MFMA,
  MICA__MMA_WMMA,
  MICA__MMA_DPAS8,
  MICA__MMA_DPAS16,
  MICA__MMA_UNITS
} mica__mma_unit;

/* Rows of a parameter table. native: MICA__EMULATED; MICA__CASE for convolutions, whose emulations run for longer over
 * the grid of the check than it takes to optimise them. In a variant: the unit and whether by its own instructions,
 * warps and elements of a warp along rows and columns, stages. */
#define MICA__MMA_PARAMS(native)                                                                                       \
  MICA__CASE("MMA_UNIT", "0 NVIDIA's mma.sync, 1 AMD's MFMA, 2 AMD's WMMA, 3 and 4 Intel's DPAS of 8 and 16", 0, 1, 2, \
             3, 4),                                                                                                    \
      native("MMA_NATIVE", "0 an emulation, 1 the unit's instructions", 0, 1),                                         \
      MICA__INT("WARPS_M", "warps along the rows of a tile", 1, 2, 4),                                                 \
      MICA__INT("WARPS_N", "warps along its columns", 1, 2, 4),                                                        \
      MICA__INT("WARP_M", "rows a warp computes", 16, 32, 64),                                                         \
      MICA__INT("WARP_N", "columns a warp computes", 16, 32, 64),                                                      \
      MICA__INT("STAGES", "tiles of an operand in local memory", 2, 3, 4)

/* The variants of a table by their names, after the values of its own parameters: from the largest tiles of a unit to
 * the smallest. At the end emulations, no device's choice, there to be checked, one a unit. */
#define MICA__MMA_VARIANT(label, predicate, ...)                                                                       \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_GPU, .has_instruction = predicate, .values = { __VA_ARGS__ }                    \
  }
#define MICA__MMA_EMULATION(label, ...)                                                                                \
  {                                                                                                                    \
    .name = label, .values = { __VA_ARGS__ }                                                                           \
  }
#define MICA__MMA_PTX_128X128(...)                                                                                     \
  MICA__MMA_VARIANT("ptx128x128", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 64, 64, 3)
#define MICA__MMA_PTX_64X128(...)                                                                                      \
  MICA__MMA_VARIANT("ptx64x128", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 32, 64, 3)
#define MICA__MMA_PTX_64X64(...)                                                                                       \
  MICA__MMA_VARIANT("ptx64x64", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 32, 32, 4)
#define MICA__MMA_MFMA_128X128(...)                                                                                    \
  MICA__MMA_VARIANT("mfma128x128", mica__gpu_has_mfma, __VA_ARGS__, MICA__MMA_MFMA, 1, 2, 2, 64, 64, 2)
#define MICA__MMA_MFMA_64X64(...)                                                                                      \
  MICA__MMA_VARIANT("mfma64x64", mica__gpu_has_mfma, __VA_ARGS__, MICA__MMA_MFMA, 1, 2, 2, 32, 32, 2)
#define MICA__MMA_WMMA_128X128(...)                                                                                    \
  MICA__MMA_VARIANT("wmma128x128", mica__gpu_has_wmma, __VA_ARGS__, MICA__MMA_WMMA, 1, 2, 4, 64, 32, 2)
#define MICA__MMA_WMMA_64X64(...)                                                                                      \
  MICA__MMA_VARIANT("wmma64x64", mica__gpu_has_wmma, __VA_ARGS__, MICA__MMA_WMMA, 1, 2, 2, 32, 32, 2)
#define MICA__MMA_DPAS8_64X64(...)                                                                                     \
  MICA__MMA_VARIANT("dpas8.64x64", mica__gpu_has_dpas8, __VA_ARGS__, MICA__MMA_DPAS8, 1, 4, 4, 16, 16, 2)
#define MICA__MMA_DPAS8_32X32(...)                                                                                     \
  MICA__MMA_VARIANT("dpas8.32x32", mica__gpu_has_dpas8, __VA_ARGS__, MICA__MMA_DPAS8, 1, 2, 2, 16, 16, 2)
#define MICA__MMA_DPAS16_64X128(...)                                                                                   \
  MICA__MMA_VARIANT("dpas16.64x128", mica__gpu_has_dpas16, __VA_ARGS__, MICA__MMA_DPAS16, 1, 4, 4, 16, 32, 2)
#define MICA__MMA_DPAS16_32X32(...)                                                                                    \
  MICA__MMA_VARIANT("dpas16.32x32", mica__gpu_has_dpas16, __VA_ARGS__, MICA__MMA_DPAS16, 1, 2, 2, 16, 16, 2)
/* Variants for the units of others than NVIDIA. */
#define MICA__MMA_OTHERS(...)                                                                                          \
  MICA__MMA_MFMA_128X128(__VA_ARGS__), MICA__MMA_MFMA_64X64(__VA_ARGS__), MICA__MMA_WMMA_128X128(__VA_ARGS__),         \
      MICA__MMA_WMMA_64X64(__VA_ARGS__), MICA__MMA_DPAS8_64X64(__VA_ARGS__), MICA__MMA_DPAS8_32X32(__VA_ARGS__),       \
      MICA__MMA_DPAS16_64X128(__VA_ARGS__), MICA__MMA_DPAS16_32X32(__VA_ARGS__)
#define MICA__MMA_EMULATIONS(...)                                                                                      \
  MICA__MMA_EMULATION("emulated_mfma", __VA_ARGS__, MICA__MMA_MFMA, 0, 2, 1, 32, 64, 2),                               \
      MICA__MMA_EMULATION("emulated_wmma", __VA_ARGS__, MICA__MMA_WMMA, 0, 2, 1, 16, 32, 2),                           \
      MICA__MMA_EMULATION("emulated_dpas8", __VA_ARGS__, MICA__MMA_DPAS8, 0, 2, 1, 16, 16, 2),                         \
      MICA__MMA_EMULATION("emulated_dpas16", __VA_ARGS__, MICA__MMA_DPAS16, 0, 2, 1, 16, 32, 2),                       \
      MICA__MMA_EMULATION("emulation", __VA_ARGS__, MICA__MMA_PTX, 0, 2, 1, 16, 32, 2)

/* For variants: compute capability 8.0, with which mma.sync for tf32 and bf16 came, and a driver that takes PTX. */
bool mica__mma_has_ptx(const mica_device_info *device);

/* Pieces of 16 bytes that a tile is deep. */
#define MICA__MMA_STEP 4

/* A tile's rows and columns, and the work-items of its group. */
typedef struct mica__mma_tile {
  int64_t m, n;
  size_t threads;
} mica__mma_tile;

/* Work-items of a warp. */
int64_t mica__mma_lanes(int32_t unit);
mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values);

/* For has_room: the group is whole copies of a tile, and it and its tiles are within the device's limits. */
bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device);

/* True if the variant's unit multiplies numbers of the type, or its kernel uses none. */
bool mica__mma_takes(const mica__kernel_desc *desc, const mica__variant *variant, mica_dtype type);

/* True if the variant's unit rounds f32 to tf32, which the caller must allow. */
bool mica__mma_rounds(const mica__kernel_desc *desc, const mica__variant *variant);

/* For `decline`: NULL if the device has a unit that takes the type, as far as is known. engine: see mica__task. */
const char *mica__mma_missing(const mica__kernel_desc *desc, mica_dtype type, const mica_device_info *device,
                              mica_engine *engine);
/* MICA_E_UNSUPPORTED if a variant cannot be launched with the type. On units that no GPU here has shown right, a trial
 * product decides. */
mica_status mica__mma_check(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                            mica_dtype type);

/* The trial product, in mma_trial.c. try: MICA_E_NUMERIC if a variant of its kernel does not give the result. prove:
 * tries the device's own variant, MICA_E_UNSUPPORTED if it was wrong or could not be built; disproved is why, NULL if
 * it was right or there was no trial yet. A result is known for all engines of the device, a failed build for its
 * engine: drivers differ. */
extern const mica__kernel_desc mica__mma_trial_kernel;
mica_status mica__mma_try(mica_engine *engine, const mica__variant *variant, mica_dtype type);
mica_status mica__mma_prove(mica_engine *engine, int32_t unit, mica_dtype type);
const char *mica__mma_disproved(const mica_device_info *device, mica_engine *engine, int32_t unit, mica_dtype type);
/* Likewise for a kernel that does more than multiply, by a trial of its own: MICA_E_NUMERIC if the variant's results
 * are wrong. */
typedef mica_status mica__mma_trial(mica_engine *engine, const mica__variant *variant, mica_dtype type);
mica_status mica__mma_prove_by(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                               mica_dtype type, mica__mma_trial *trial);
const char *mica__mma_failed(const mica_device_info *device, mica_engine *engine, const mica__kernel_desc *desc,
                             const mica__variant *variant, mica_dtype type);

/* A variant, and the number of parts of the depth. */
typedef struct mica__mma_plan {
  const mica__variant *variant;
  int64_t splits;
  double cost; /* elements of a step that a unit computes meanwhile, 20 a cycle */
} mica__mma_plan;

/* What a product takes of a unit, its depth in so many parts: in elements of a step that the unit computes meanwhile
 * with tiles of 128 x 128. p: its k counts steps of a tile. */
double mica__mma_cost(mica__mma_tile tile, const mica__tiled *p, int64_t splits, double units);

/* The task's variant, or the one with which a product is done soonest on the device, the emulation where it has no
 * unit; and the cheapest split of the depth, up to `most` parts. product: its k counts steps of a tile. */
mica__mma_plan mica__mma_choose(const mica__kernel_desc *desc, const mica__task *task, const mica__tiled *product,
                                int64_t most);

#endif
