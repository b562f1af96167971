/* ops/matmul/gemm.h: the description of a matrix product (mica__gemm), and the implementations that compute it.
 *
 *    D[batch] = act(alpha op(A)[batch] op(B)[batch] + beta C[batch] + bias)
 *
 *  op(A) is m x k, op(B) k x n, C and D m x n. mica__gemm_problem (gemm.c) checks all operands; implementations do not
 *  repeat its checks. */
#ifndef MICA_OPS_MATMUL_GEMM_H
#define MICA_OPS_MATMUL_GEMM_H

#include "ir/op.h"
#include "ops/epilogue/epilogue.h"
#include "ops/select/choice.h"

#include <mica/blocks.h>
#include <mica/ops.h>

/* The largest m, n, k and number of batches: an index in a tile that begins below it still fits an int. */
#define MICA__GEMM_MAX_SIZE (INT32_MAX - 65536)

typedef struct mica__gemm {
  int64_t m, n, k, batches;
  mica__matrix a, b;
  mica_block block;        /* not NONE: b is U8 in blocks, one of its strides is 1, and the other is unused */
  mica__epilogue epilogue; /* c and d are members of it */
  bool allow_tf32;         /* as mica_gemm_config says */
  bool recorded;           /* the launch is recorded for a session and not run at once */
  uint32_t constant, held; /* bit 0: a, bit 1: b; as in mica__exec */
  mica_queue *prologue;    /* as in mica__exec; NULL: none */
} mica__gemm;

/* mica_op_gemm for the launch of a node whose inputs 0 and 1 are a and b: exec says which of them stay constant. */
mica_status mica__gemm_run(const mica__exec *exec, const mica_gemm_config *config, const mica_tensor *a,
                           const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias, mica_tensor *d);

/* mica__gemm_run for a b in blocks: op(b) is b if by_k, else b transposed. a, c and d are f32 matrices; c and bias may
 * be NULL. The caller has checked their types and shapes (ops/blocks/matrix.c). MICA_E_OVERFLOW: a size exceeds
 * MICA__GEMM_MAX_SIZE; MICA_E_SHAPE: k is 0. */
mica_status mica__gemm_run_blocks(const mica__exec *exec, const mica_gemm_config *config, const mica_tensor *a,
                                  const mica_tensor *b, mica_block block, bool by_k, const mica_tensor *c,
                                  const mica_tensor *bias, mica_tensor *d);

/* The values of the kernels' macros A_LAYOUT and B_LAYOUT (cl/matmul/operands.clh). */
enum { MICA__LAYOUT_ANY, MICA__LAYOUT_K, MICA__LAYOUT_OUTER };

/* The parameters whose values follow from the problem. They come first in the lists of parameters of the kernels of
 * matrix products. The arguments of MICA__GEMM_PARAMS are the types that A_T and B_T may be. MICA__GEMM_EPILOGUE_VALUES
 * and MICA__GEMM_VALUES are the values of these parameters in shipped variants, for the commonest case (f32, row-major,
 * aligned). */
#define MICA__GEMM_ALL_TYPES MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8, MICA_F64
#define MICA__GEMM_EPILOGUE_PARAMS                                                                                     \
  MICA__DTYPE("D_T", "type of d and c", MICA_F32, MICA_F16, MICA_BF16, MICA_F64, MICA_I32),                            \
      MICA__DTYPE("ACC_T", "type of sums", MICA_F32, MICA_F64, MICA_I32),                                              \
      MICA__DTYPE("BIAS_T", "type of bias", MICA_F32, MICA_F16, MICA_BF16, MICA_F64, MICA_I32),                        \
      MICA__CASE("BIAS", "1 a value a column, 2 a value a row", 1, 2)
#define MICA__GEMM_PARAMS(...)                                                                                         \
  MICA__GEMM_EPILOGUE_PARAMS, MICA__DTYPE("A_T", "type of a", __VA_ARGS__),                                            \
      MICA__DTYPE("B_T", "type of b", __VA_ARGS__),                                                                    \
      MICA__CASE("A_LAYOUT", "a: 0 any strides, 1 adjacent along k, 2 along rows", 0, 1, 2),                           \
      MICA__CASE("B_LAYOUT", "b: 0 any strides, 1 adjacent along k, 2 along columns", 0, 1, 2),                        \
      MICA__CASE("A_ALIGNED", "1: vectors of a may be read whole", 0, 1),                                              \
      MICA__CASE("B_ALIGNED", "1: vectors of b may be read whole", 0, 1)
#define MICA__GEMM_EPILOGUE_VALUES MICA_F32, MICA_F32, MICA_F32, 1
#define MICA__GEMM_VALUES MICA__GEMM_EPILOGUE_VALUES, MICA_F32, MICA_F32, MICA__LAYOUT_K, MICA__LAYOUT_OUTER, 1, 1

/* Sets the parameters of MICA__GEMM_PARAMS in `values` (A_ALIGNED and B_ALIGNED for vectors of `vector` elements),
 * builds the kernel and begins its launch with the number of batches and OPERAND_PARAMS (cl/matmul/operands.clh). */
mica_status mica__gemm_begin(mica_queue *queue, const mica__kernel_desc *desc, int32_t *values, const mica__gemm *gemm,
                             int64_t vector, mica__launch *launch);
/* Ends a launch with the epilogue, notes its cost and submits it. */
mica_status mica__gemm_end(mica_queue *queue, mica__launch *launch, const mica__gemm *gemm);

/* Notes a product's operations and bytes in its launch. mica__gemm_end does so itself. */
void mica__gemm_cost(mica__launch *launch, const mica__gemm *gemm);

/* Adds up the partial sums P[splits][batches][m][n] in order, applies the epilogue and stores D
 * (cl/matmul/gpu/splitk.cl). */
mica_status mica__gemm_add_splits(mica_queue *queue, const mica__gemm *gemm, int64_t splits, mica_buffer *partial);

/* Computes partial sums of a product by the kernel of gemm_gpu: plan->splits of them for each element, at least 2, each
 * over a part of k. They go to sums[splits][batches][m][n], and the caller adds them up. mica__tile_choose with
 * mica__gemm_gpu_tiles makes the plan (ops/select/tile.h). */
struct mica__tile_plan;
mica_status mica__gemm_gpu_parts(mica_queue *queue, const mica__gemm *gemm, const struct mica__tile_plan *plan,
                                 const mica_tensor *sums);

/* An operand as panels of `width` along its outer index (rows of A, columns of B); each row of a panel has `pitch`
 * elements. */
typedef struct mica__panels {
  const mica_tensor *tensor;
  int64_t batches, outer, k, width, pitch;
  int64_t batch_stride, outer_stride, k_stride;
} mica__panels;

/* Packs an operand, which must be f32, into [batches][panels][k][pitch] (cl/matmul/cpu/pack.cl). *packed is a
 * workspace of the queue, which the caller destroys. It has one batch if batch_stride is 0. Elements beyond the last
 * row or column are undefined. */
mica_status mica__gemm_pack(mica_queue *queue, const mica__panels *panels, mica_tensor **packed);

/* The layout of op(A) or op(B), MICA__LAYOUT_...; outer: its stride along the rows of A or columns of B; k: along k. */
int32_t mica__gemm_layout(int64_t outer, int64_t k);

/* True if both operands have a unit stride, and vectors of this many elements along it may be read whole, so that
 * A_ALIGNED and B_ALIGNED are 1. */
bool mica__gemm_is_aligned(const mica__gemm *gemm, int64_t vector);

/* True if vectors of this many elements of the operand, gemm->a or gemm->b, may be read whole. It must have a unit
 * stride. */
bool mica__gemm_is_whole(const mica__gemm *gemm, const mica__matrix *operand, int64_t vector);

/* The number of tiles of m x n elements in all of D. */
int64_t mica__gemm_tiles(const mica__gemm *gemm, int64_t m, int64_t n);

/* The implementations and their kernels, most in the file of their name; gemm_gpu and gemm_splitk in gpu/tile.c,
 * gemm_naive in ref/gemm.c. */
extern const mica__impl mica__gemm_mma, mica__gemm_subgroup, mica__gemm_gpu, mica__gemm_splitk, mica__gemm_direct,
    mica__gemv_gpu, mica__gemm_amx, mica__gemm_tile, mica__gemm_clblast, mica__gemm_naive;
extern const mica__kernel_desc mica__gemm_mma_kernel, mica__gemm_subgroup_kernel, mica__gemm_gpu_kernel,
    mica__gemm_splitk_kernel, mica__gemm_direct_kernel, mica__gemv_gpu_kernel, mica__gemm_tile_kernel,
    mica__gemm_naive_kernel, mica__gemm_pack_kernel, mica__gemm_amx_kernel, mica__gemm_amx_pack_kernel;

/* The kernel of gemm_gpu with the known speeds of its tiles (ops/select/tile.h). */
extern const struct mica__tile_kernel mica__gemm_gpu_tiles;

/* For tests: checks the variants of all GPU kernels on any device, with every type and layout that they take
 * (gemm_splitk not with all combinations of both), on matrices on both sides of their tiles' edges. Variants whose
 * instructions the device lacks are left out. Runs groups first, first + step, ...; step 0 only counts. *groups
 * receives the number of all groups. */
MICA_CHECKED mica_status mica__gemm_check_grid(struct mica__check *check, size_t first, size_t step, size_t *groups);
/* Checks one variant of an implementation on any device, in all types that it takes, each in those layouts that are
 * read differently (gemm_check.c). */
MICA_CHECKED mica_status mica__gemm_check_variant(struct mica__check *check, const mica__impl *impl,
                                                  const mica__variant *variant);

/* All implementations, in the order in which they are tried; ends in NULL. */
extern const mica__impl *const mica__gemm_impls[];

/* Checks everything that mica_op_gemm promises to check, and then describes the problem in *gemm. config, c and bias
 * may be NULL. */
mica_status mica__gemm_problem(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                               const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias, mica_tensor *d,
                               mica__gemm *gemm);

/* The key of tuning results: types, sizes, layouts and the number of batches. The epilogue is not part of it. */
void mica__gemm_key(const mica__gemm *gemm, char key[MICA__TUNING_TEXT]);
/* The problem as text for mica_tuner_create; false if the text cannot express it. */
bool mica__gemm_tuner_problem(const mica__gemm *gemm, char problem[MICA__TUNING_TEXT]);

/* Matrix products for the tuner (gemm_tune.c). */
extern const struct mica__tunable mica__gemm_tunable;

#endif
