/* ops/matmul/cpu/amx_operand.h: kernels that multiply on the matrix unit of Intel's CPUs (cl/common/cpu/tiles.clh), and
 * their operands, packed in panels of 32 rows or columns (cl/matmul/cpu/amx_pack.cl). */
#ifndef MICA_OPS_MATMUL_CPU_AMX_OPERAND_H
#define MICA_OPS_MATMUL_CPU_AMX_OPERAND_H

#include "ops/epilogue/epilogue.h"
#include "runtime/host_cpu.h"

#define MICA__TILES_SIDE 32

/* MICA__TILES_PARAM is a parameter of a kernel that uses the matrix unit. MICA__TILES_VARIANTS gives the kernel's two
 * variants. Its arguments are the values of the parameters before MICA__TILES_PARAM; parameters after it get 0. No
 * device chooses the emulation; only checks run it. */
#define MICA__TILES_PARAM MICA__CASE("MICA_HAS_AMX", "1 the instructions, 0 an emulation", 1, 0)
#define MICA__TILES_VARIANTS(...)                                                                                      \
  {.name = "amx",                                                                                                      \
   .classes = MICA__ON_CPU,                                                                                            \
   .vector_bytes = MICA__LONG_VECTOR,                                                                                  \
   .has_instruction = mica__host_has_tiles,                                                                            \
   .values = {__VA_ARGS__, 1}},                                                                                        \
      {.name = "emulation", .values = {__VA_ARGS__, 0}},

/* Why the device cannot multiply on the matrix unit, for mica__impl.decline; NULL if it can. */
const char *mica__tiles_missing(const mica_device_info *device);
/* MICA_E_UNSUPPORTED if the processor lacks the variant's instructions. */
mica_status mica__tiles_check(const mica_device_info *device, const mica__kernel_desc *desc,
                              const mica__variant *variant);

/* How k is cut. words: the words along k that a tile takes, chosen so that the last tile is as full as possible; steps:
 * the words along k of all tiles, a multiple of `words`. */
typedef struct mica__tiles_cut {
  int64_t words, steps;
} mica__tiles_cut;
/* per: elements per word. */
mica__tiles_cut mica__tiles_cut_of(int64_t k, int64_t per);

/* The matrices to pack: each has `outer` rows of A (rows true) or columns of B, with k elements. batch, outer_step and
 * k_step are strides in elements; per is the number of elements in a word. */
typedef struct mica__tiles_operand {
  const mica_tensor *tensor;
  bool rows;
  int64_t per, batches, batch, outer, outer_step, k, k_step;
} mica__tiles_operand;
/* Queues the launch that packs. *packed must be NULL before; it becomes the workspace that the launch fills. The caller
 * destroys it, also after an error. */
mica_status mica__tiles_pack(mica_queue *queue, const mica__tiles_operand *operand, mica__tiles_cut cut,
                             mica_tensor **packed);

#endif
