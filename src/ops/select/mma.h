/* ops/select/mma.h: the kernels on matrix units of GPUs (cl/common/mma/tile.clh). It has the rows of their parameter
 * tables, the units, the shipped tiles, and functions that say which devices take them.
 *
 * Mica is built without the vendors' OpenCL. Their instructions are part of the kernels' text, and only devices that
 * have them compile it. */
#ifndef MICA_OPS_SELECT_MMA_H
#define MICA_OPS_SELECT_MMA_H

#include "ops/select/tile.h"
#include "runtime/core_model.h"

/* The values of MMA_UNIT in cl/common/mma/mma.clh. */
typedef enum mica__mma_unit {
  MICA__MMA_PTX,
  MICA__MMA_MFMA,
  MICA__MMA_WMMA,
  MICA__MMA_DPAS8,
  MICA__MMA_DPAS16,
  MICA__MMA_UNITS
} mica__mma_unit;

/* The rows of a parameter table. Products pass MICA__EMULATED as `native`, which compiles the emulations without
 * optimisation. Convolutions pass MICA__CASE, because their unoptimised emulations would run longer over a check's grid
 * than the optimisation takes.
 *
 * A variant's values are, in this order: the unit; 1 for its instructions or 0 for an emulation; warps along rows and
 * columns; elements per warp along rows and columns; stages. */
#define MICA__MMA_PARAMS(native)                                                                                       \
  MICA__CASE("MMA_UNIT", "0 NVIDIA's mma.sync, 1 AMD's MFMA, 2 AMD's WMMA, 3 and 4 Intel's DPAS of 8 and 16", 0, 1, 2, \
             3, 4),                                                                                                    \
      native("MMA_NATIVE", "0 an emulation, 1 the unit's instructions", 0, 1),                                         \
      MICA__INT("WARPS_M", "warps along the rows of a tile", 1, 2, 4),                                                 \
      MICA__INT("WARPS_N", "warps along its columns", 1, 2, 4),                                                        \
      MICA__INT("WARP_M", "rows a warp computes", 16, 32, 64),                                                         \
      MICA__INT("WARP_N", "columns a warp computes", 16, 32, 64),                                                      \
      MICA__INT("STAGES", "tiles of an operand in local memory", 2, 3, 4)

/* The variants of a table by name; the arguments are the values of the kernel's own parameters. Tables list a unit's
 * tiles from the largest to the smallest, then one emulation per unit. No device chooses an emulation; only checks run
 * it. */
#define MICA__MMA_VARIANT(label, predicate, ...)                                                                       \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_GPU, .has_instruction = predicate, .values = { __VA_ARGS__ }                    \
  }
#define MICA__MMA_EMULATION(label, ...)                                                                                \
  {                                                                                                                    \
    .name = label, .values = { __VA_ARGS__ }                                                                           \
  }
/* The tile of 256 x 128: 85 multiply-adds for each element that is copied into local memory, where 128 x 128 has 64.
 * Never measured, so no device takes it by itself. Its kernel has MMA_DEPTH. */
#define MICA__MMA_PTX_256X128(...)                                                                                     \
  {                                                                                                                    \
    .name = "ptx256x128", .classes = MICA__ON_GPU, .has_instruction = mica__mma_has_ptx, .unmeasured = true,           \
    .values = {                                                                                                        \
      __VA_ARGS__,                                                                                                     \
      MICA__MMA_PTX,                                                                                                   \
      1,                                                                                                               \
      4,                                                                                                               \
      2,                                                                                                               \
      64,                                                                                                              \
      64,                                                                                                              \
      4                                                                                                                \
    }                                                                                                                  \
  }
#define MICA__MMA_PTX_128X128(...)                                                                                     \
  MICA__MMA_VARIANT("ptx128x128", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 64, 64, 3)
#define MICA__MMA_PTX_64X128(...)                                                                                      \
  MICA__MMA_VARIANT("ptx64x128", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 32, 64, 3)
#define MICA__MMA_PTX_128X64(...)                                                                                      \
  MICA__MMA_VARIANT("ptx128x64", mica__mma_has_ptx, __VA_ARGS__, MICA__MMA_PTX, 1, 2, 2, 64, 32, 3)
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
/* Variants for the units of vendors other than NVIDIA. */
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

/* For has_instruction: true if the driver accepts PTX in a kernel's text, and the compute capability is at least 8.0,
 * which introduced mma.sync for tf32 and bf16. */
bool mica__mma_has_ptx(const mica_device_info *device);

/* The depth of a step in pieces of 16 bytes. Kernels without the parameter MMA_DEPTH have tiles of this depth. */
#define MICA__MMA_STEP 4
/* The parameter MMA_DEPTH, for kernels whose tiles may be half as deep as a step, on NVIDIA's units. */
#define MICA__MMA_DEPTH_PARAM MICA__INT("MMA_DEPTH", "pieces of 16 bytes along k in a tile", 4, 2)

/* A tile's rows and columns, its depth in pieces of 16 bytes, and the work-items of its group. */
typedef struct mica__mma_tile {
  int64_t m, n, depth;
  size_t threads;
  bool copies; /* copies into local memory run in the background, as on NVIDIA's units */
} mica__mma_tile;

/* Returns the number of work-items in a warp of this unit. */
int64_t mica__mma_lanes(int32_t unit);
mica__mma_tile mica__mma_tile_of(const mica__kernel_desc *desc, const int32_t *values);

/* For has_room: true if each work-item copies equally many pieces of A's tile, and of B's; if the results fit the
 * memory of B's tiles; and if the group and its tiles are within the device's limits. Tiles less deep than
 * MICA__MMA_STEP also need copies that run in the background. */
bool mica__mma_has_room(const mica__kernel_desc *desc, const int32_t *values, const mica_device_info *device);

/* True if the variant's unit multiplies this type, or its kernel has no parameter MMA_UNIT. */
bool mica__mma_takes(const mica__kernel_desc *desc, const mica__variant *variant, mica_dtype type);

/* True if the variant's unit rounds f32 to tf32, which the caller must allow. */
bool mica__mma_rounds(const mica__kernel_desc *desc, const mica__variant *variant);

/* For `decline`: NULL if the device has a unit that takes the type and that no trial found wrong, otherwise the reason.
 * `engine` is as in mica__task. */
const char *mica__mma_missing(const mica__kernel_desc *desc, mica_dtype type, const mica_device_info *device,
                              mica_engine *engine);
/* MICA_E_UNSUPPORTED if a variant cannot be launched with the type. For units that were never tested on a real GPU,
 * a trial product decides, which runs at the first call. */
mica_status mica__mma_check(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                            mica_dtype type);

/* The trial product (mma_trial.c), for units that were never tested on a real GPU.
 *
 *    mica__mma_try         MICA_E_NUMERIC if a variant of the trial's kernel gives a wrong result
 *    mica__mma_prove       tries the device's variant, once; MICA_E_UNSUPPORTED if it was wrong or could not be built
 *    mica__mma_disproved   why the trial failed; NULL if it was right, did not run yet, or is not needed
 *
 * While the thread has an open build list, mica__mma_prove only notes the kernel. A wrong result counts for all engines
 * of the device. A failed build counts only for its engine, because drivers differ. */
extern const mica__kernel_desc mica__mma_trial_kernel;
mica_status mica__mma_try(mica_engine *engine, const mica__variant *variant, mica_dtype type);
mica_status mica__mma_prove(mica_engine *engine, int32_t unit, mica_dtype type);
const char *mica__mma_disproved(const mica_device_info *device, mica_engine *engine, int32_t unit, mica_dtype type);
/* mica__mma_prove_by and mica__mma_failed are prove and disproved for a kernel that does more than multiply. Its
 * trial returns MICA_E_NUMERIC if the variant's results are wrong. */
typedef mica_status mica__mma_trial(mica_engine *engine, const mica__variant *variant, mica_dtype type);
mica_status mica__mma_prove_by(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                               mica_dtype type, mica__mma_trial *trial);
const char *mica__mma_failed(const mica_device_info *device, mica_engine *engine, const mica__kernel_desc *desc,
                             const mica__variant *variant, mica_dtype type);

/* A variant, and the number of parts into which the depth is split. */
typedef struct mica__mma_plan {
  const mica__variant *variant;
  int64_t splits;
  double cost; /* the estimated duration, as from mica__mma_cost */
} mica__mma_plan;

/* Estimates the duration of a product whose depth is split into `splits` parts, counted in elements of one step: a
 * compute unit does 20 of them per cycle with tiles of 128 x 128. p->k is a number of steps of MICA__MMA_STEP
 * pieces. */
double mica__mma_cost(mica__mma_tile tile, const mica__tiled *p, int64_t splits, const mica_device_info *device);

/* Plans with the task's variant, or with the one that is estimated to be the fastest for the product on the device,
 * among those that were measured (the emulation if the device has no unit), and with the cheapest split of the depth
 * into at most `most` parts. product->k is a number of steps of MICA__MMA_STEP pieces. */
mica__mma_plan mica__mma_choose(const mica__kernel_desc *desc, const mica__task *task, const mica__tiled *product,
                                int64_t most);

/* For tests and benches: mica__mma_choose also takes variants that were never measured. Call it while no other thread
 * uses the library. */
void mica__mma_take_unmeasured(bool take);

#endif
