/* matmul/gpu/gemv.cl: D = act(alpha op(A) op(B) + beta C + bias) for M or N 1: a matrix times a vector. GPU class.
 *
 *   VECTOR_IS_A   0: N is 1, A is the matrix and B the vector. 1: M is 1, A is the vector and B the matrix
 *   TEXTURE       the matrix is read through an image that shares its memory (src/runtime/texture.h). 1: an image of
 *                 one dimension. 2: of two, whose rows have 1 << texture_shift pixels. The matrix must be f32 or f16,
 *                 aligned, and adjacent along k or along the outer index, and VEC must be at least 4. 0: no image
 *
 * The outer index is the row of A or the column of B; D has one element per outer index. Reading the matrix bounds the
 * time, so neighbouring work-items should read neighbouring memory. A work-group is K_LANES work-items along k by
 * WG_SIZE / K_LANES along the outer index. If the matrix is adjacent along k (layout 1), neighbouring work-items are
 * neighbours along k and a vector of VEC elements is along k. Otherwise they are neighbours along the outer index, and
 * a work-item computes VEC outer indices. Along k, each work-item adds up every K_LANES-th element or vector. Then the
 * K_LANES sums of an outer index are added by a tree.
 *
 * NDRange: one dimension, WG_SIZE * ceil(max(M, N) / OUTERS) * batches, where OUTERS is WG_SIZE / K_LANES in layout 1,
 * otherwise WG_SIZE / K_LANES * VEC; work-group (WG_SIZE). */
#include "matmul/operands.clh"

#if WG_SIZE % K_LANES || K_LANES & (K_LANES - 1)
#error "K_LANES must be a power of two that divides WG_SIZE"
#endif

#define OUTER_LANES (WG_SIZE / K_LANES)

#if TEXTURE
#include "common/gpu/texture.clh"
#define READ_MATRIX(X, n, p, at) MICA_PASTE(READ_TEXTURE, n)(at)
#else
#define TEXTURE_PARAMS
#define READ_MATRIX(X, n, p, at) READ_VECTOR(X, n, p, at)
#endif

#if VECTOR_IS_A
#define ALONG_K (B_LAYOUT == 1)
#define MATRIX_ELEMENT(o, k) ELEMENT_B(batch, k, o)
#define MATRIX_VECTOR(o, k) READ_MATRIX(B, VEC, B, B_at + batch * B_batch + (k)*B_row + (o)*B_col)
#define MATRIX_PROLOGUE(v, o, k) MICA_PROLOGUE_B(v, batch, k, o)
#define MATRIX_LAYOUT B_LAYOUT
#define FACTOR(k) ELEMENT_A(batch, 0, k)
#define LENGTH N
#define FINISH_OUTER(sum, o) FINISH(1, sum, batch, 0, o)
#else
#define ALONG_K (A_LAYOUT == 1)
#define MATRIX_ELEMENT(o, k) ELEMENT_A(batch, o, k)
#define MATRIX_VECTOR(o, k) READ_MATRIX(A, VEC, A, A_at + batch * A_batch + (o)*A_row + (k)*A_col)
#define MATRIX_PROLOGUE(v, o, k) MICA_PROLOGUE_A(v, batch, o, k)
#define MATRIX_LAYOUT A_LAYOUT
#define FACTOR(k) ELEMENT_B(batch, k, 0)
#define LENGTH M
#define FINISH_OUTER(sum, o) FINISH(1, sum, batch, o, 0)
#endif

#define STEP_O (ALONG_K ? 0 : 1)
#define STEP_K (ALONG_K ? 1 : 0)
#define OUTERS_ITEM (ALONG_K ? 1 : VEC)
#define OUTERS_GROUP (OUTER_LANES * OUTERS_ITEM)

__kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1))) void gemv_gpu(const int batches, OPERAND_PARAMS,
                                                                            TEXTURE_PARAMS EPILOGUE_PARAMS) {
  __local acc_t partial[WG_SIZE * OUTERS_ITEM];
  const int item = (int)get_local_id(0);
  const int k_lane = ALONG_K ? item % K_LANES : item / OUTER_LANES;
  const int o_lane = ALONG_K ? item / K_LANES : item % OUTER_LANES;
  const long groups = (LENGTH + OUTERS_GROUP - 1) / OUTERS_GROUP, group = (long)get_group_id(0);
  const long batch = group / groups, outer0 = group % groups * OUTERS_GROUP + o_lane * OUTERS_ITEM;

  acc_t sums[VEC];
#pragma unroll
  for (int j = 0; j < VEC; j++) sums[j] = 0;
  if (outer0 < LENGTH) {
    const int depth = ALONG_K ? VEC : 1;
    for (long k = (long)k_lane * depth; k < K; k += K_LANES * depth) {
      acc_t lanes[VEC];
      const bool whole = outer0 + STEP_O * (VEC - 1) < LENGTH && k + STEP_K * (VEC - 1) < K;
      if (MATRIX_LAYOUT != 0 && whole) {
        MICA_VSTORE(VEC, MATRIX_VECTOR(outer0, k), lanes, 0);
#pragma unroll
        for (int j = 0; j < VEC; j++) {
          lanes[j] = (acc_t)MATRIX_PROLOGUE(lanes[j], outer0 + j * STEP_O, k + j * STEP_K);
          sums[j] = MAC(lanes[j], FACTOR(k + j * STEP_K), sums[j]);
        }
      } else {
#pragma unroll
        for (int j = 0; j < VEC; j++) {
          const long o = outer0 + j * STEP_O, d = k + j * STEP_K;
          if (o < LENGTH && d < K) sums[j] = MAC(MATRIX_ELEMENT(o, d), FACTOR(d), sums[j]);
        }
      }
    }
  }

#if VEC > 1
#pragma unroll
  for (int j = 1; ALONG_K && j < VEC; j++) sums[0] += sums[j];
#endif
  /* Writes the sums to partial[lane along k][outer index in the group], for the tree below. */
  const int at = k_lane * OUTERS_GROUP + o_lane * OUTERS_ITEM;
#pragma unroll
  for (int j = 0; j < OUTERS_ITEM; j++) partial[at + j] = sums[j];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = K_LANES / 2; reach > 0; reach /= 2) {
    if (k_lane < reach) {
#pragma unroll
      for (int j = 0; j < OUTERS_ITEM; j++) partial[at + j] += partial[at + j + reach * OUTERS_GROUP];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (k_lane == 0) {
#pragma unroll
    for (int j = 0; j < OUTERS_ITEM; j++)
      if (outer0 + j < LENGTH) FINISH_OUTER(partial[at + j], outer0 + j);
  }
}
