/* matmul/mma/trial.cl: a small product by which the host tests a GPU's matrix unit (common/mma/mma.clh) before it is
 * used. GPU class.
 *
 *   P[TILE_M][TILE_N] = A[TILE_M][k] B[TILE_N][k]^T
 *
 * where k is `steps` times 64 bytes. P is int for i8, else float. NDRange: THREADS; work-group (THREADS).
 *
 * A_T: type of A and B. */
#define MMA_T A_T
#define A_LIES 0
#define B_LIES 0

#include "common/mma/tile.clh"

#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    _Pragma("unroll") for (int i = 0; i < TILE_M * 4 / THREADS; i++) {                                                 \
      const int row = item / 4 + i * (THREADS / 4);                                                                    \
      MMA_COPY(SLOT_A + i, (to_a) + UPRIGHT(row, item % 4), A + (row * steps + (step)) * 4 + item % 4, true);          \
    }                                                                                                                  \
    _Pragma("unroll") for (int i = 0; i < TILE_N * 4 / THREADS; i++) {                                                 \
      const int row = item / 4 + i * (THREADS / 4);                                                                    \
      MMA_COPY(SLOT_B + i, (to_b) + UPRIGHT(row, item % 4), B + (row * steps + (step)) * 4 + item % 4, true);          \
    }                                                                                                                  \
  }
#define TO_SUM(row, col) (P + P_at + (row)*TILE_N + (col))

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void mma_trial(
    const int steps, __global const uint4 *restrict A, const long A_at, __global const uint4 *restrict B,
    const long B_at, __global mma_sum_t *restrict P, const long P_at) {
  MMA_TILE_VARIABLES
  A += A_at / PIECE;
  B += B_at / PIECE;
  MMA_TILE_LOOP(steps, FILL)
  MMA_TILE_WRITE(TILE_M, TILE_N, TO_SUM)
}
