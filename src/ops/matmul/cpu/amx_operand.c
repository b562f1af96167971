#include "ops/matmul/cpu/amx_operand.h"

#include "base/arith.h"
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/workspace.h"

static const mica__kernel_param pack_params[] = {
    MICA__CASE("PER", "elements a word", 2, 4),
    MICA__CASE("ROWS", "1 rows of a, 0 columns of b", 0, 1),
    MICA__CASE("ACROSS", "1 vectors along matrices", 0, 1),
};
static const mica__variant pack_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, 2, 0, 0)};
const mica__kernel_desc mica__gemm_amx_pack_kernel = {
    MICA__KERNEL("gemm_amx_pack", "matmul/cpu/amx_pack.cl", pack_params, pack_variants)};

/* A group of the packing kernel takes SHARE panels. In each it packs LENGTH words or, if ROWS is 1, all whole chunks
 * that fit in LENGTH words (cl/matmul/cpu/amx_pack.cl). */
#define SHARE 8
#define LENGTH 32
/* The number of matrices that the kernel packs together if ACROSS is 1. */
#define LANES 16
/* The most words that a tile takes along k. */
#define MOST_WORDS 16

mica__tiles_cut mica__tiles_cut_of(int64_t k, int64_t per) {
  int64_t all = mica__max(1, mica__ceil_div(k, per)), chunks = mica__ceil_div(all, MOST_WORDS);
  int64_t words = mica__ceil_div(all, chunks);
  return (mica__tiles_cut){words, words * chunks};
}

const char *mica__tiles_missing(const mica_device_info *device) {
  return mica__host_has_tiles(device) ? NULL : "the processor has no AMX tiles, or this process may not use them";
}

mica_status mica__tiles_check(const mica_device_info *device, const mica__kernel_desc *desc,
                              const mica__variant *variant) {
  if (!variant->has_instruction || variant->has_instruction(device)) return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED, "%s: the processor has no AMX tiles, or this process may not use them",
                    desc->name);
}

mica_status mica__tiles_pack(mica_queue *queue, const mica__tiles_operand *o, mica__tiles_cut cut,
                             mica_tensor **packed) {
  const mica__kernel_desc *desc = &mica__gemm_amx_pack_kernel;
  int64_t panels = mica__ceil_div(o->outer, MICA__TILES_SIDE);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  const bool across = o->batch == 1 && o->batches >= LANES && o->outer_step != 1 && o->k_step != 1;
  mica__kernel_values(desc, &pack_variants[0], values);
  mica__kernel_set(desc, values, "PER", (int32_t)o->per);
  mica__kernel_set(desc, values, "ROWS", o->rows);
  mica__kernel_set(desc, values, "ACROSS", across);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica_shape shape = MICA_SHAPE(o->batches, panels, cut.steps, MICA__TILES_SIDE);
  MICA_TRY(mica__workspace_tensor(queue, MICA_U32, shape, packed));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t sizes[] = {o->batches, o->outer, o->k, cut.steps, cut.words};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_tensor(&launch, o->tensor);
  mica__launch_long(&launch, o->batch);
  mica__launch_long(&launch, o->outer_step);
  mica__launch_long(&launch, o->k_step);
  mica__launch_tensor(&launch, *packed);
  const int64_t taken = o->rows ? LENGTH / cut.words * cut.words : LENGTH;
  const int64_t groups[] = {mica__ceil_div(cut.steps, taken), mica__ceil_div(panels, SHARE),
                            across ? mica__ceil_div(o->batches, LANES) : o->batches};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, 2 * (double)mica_tensor_bytes(*packed));
  return mica__queue_submit(queue, &launch);
}
