/* conv/winograd/staged.cl: Winograd's convolution (conv/winograd/winograd.clh) in three launches, for GPUs: both
 * operands of a matrix product for each point, the products, by the kernels of cl/matmul, and the transform of what
 * they make.
 *
 *   forward, backward data   M[point] = U[point] V[point]         backward filter   M[part][point] = U V'
 *
 *   STAGE 0  winograd_operands         V, and U[point][k][c] = G g G', g[r][s] = W[k w_k + c w_c + 3 r + s]; FLIP: g
 *                                      rotated by 180 degrees
 *   STAGE 1  winograd_wgrad_operands   V, and U[part][point][k][tile] = A dY A'
 *   STAGE 2  winograd_outputs          D[n][k][y][x] = A' M A, with the epilogue
 *   STAGE 3  winograd_wgrad_sums       dW[k][c][3][3] = G' (sum over parts of M[part][point][k][c]) G
 *
 * with V[part][point][c][tile] = B' d B of the tile's EDGE x EDGE pixels of S, zero outside. U, V and M are float.
 * Tiles of TILE x TILE results are numbered through all images, row by row, and divided into parts of SHARE: sums
 * over tiles are long where filters are few. What the last part has beyond the last tile is zero. size: N C H W (of
 * S), K P Q (of the results), SHARE; cut: TOP, LEFT (of the first tile in S), PARTS, and the groups before the first
 * of U, which is how many V takes. A work-item makes all points of one element, or one tile of one channel. NDRange
 * of stages 0 and 1: one dimension, for each c ceil(PARTS SHARE / 64) groups, then for each k ceil(C / 64) or as many
 * as tiles take; of stage 2 tiles, K; of stage 3 C, K; work-groups (64, 1, 1). */
#include "common/epilogue.clh"
#include "common/group.clh"
#include "conv/winograd/winograd.clh"

#ifndef STAGE
#define STAGE 0
#endif
#ifndef FLIP /* 1: filters rotated by 180 degrees (backward data) */
#define FLIP 0
#endif
#ifndef WHOLE /* 1: rows of D are whole tiles, each at a multiple of its width (stage 2) */
#define WHOLE 0
#endif
#define UNROLL _Pragma("unroll")
#define GROUP 64

#if STAGE == 0 || STAGE == 1
/* A tile: its image, first row and first column; rows of parts that have no tile are beyond every image. */
static int3 tile_at(const int tile, const int8 size) {
  const int N = size.s0, P = size.s5, Q = size.s6;
  const int down = (P + TILE - 1) / TILE, across = (Q + TILE - 1) / TILE, row = tile / across;
  return (int3)(min(row / down, N), row % down * TILE, tile % across * TILE);
}

/* Where a tile stands in the first point of U or V of so many rows. */
static long offset_of(const int tile, const int row, const int rows, const int SHARE) {
  const int part = tile / SHARE;
  return ((long)part * POINTS * rows + row) * SHARE + (tile - part * SHARE);
}

static void transform_pixels(const int8 size, const int8 cut, const int c, const int tile,
                             __global const STORAGE(D_T) * S, __global float *V) {
  const int N = size.s0, channels = size.s1, H = size.s2, W = size.s3, SHARE = size.s7;
  const int3 at = tile_at(tile, size);
  const int y = at.s1 + cut.s0, x = at.s2 + cut.s1;
  float rows[EDGE][EDGE];
  if (tile >= cut.s2 * SHARE) return;
  S += ((long)min(at.s0, N - 1) * channels + c) * H * W;
  V += offset_of(tile, c, channels, SHARE);
  UNROLL for (int s = 0; s < EDGE; s++) {
    float d[EDGE], v[EDGE];
    UNROLL for (int r = 0; r < EDGE; r++) {
      const bool inside = at.s0 < N && y + r >= 0 && y + r < H && x + s >= 0 && x + s < W;
      d[r] = inside ? LOAD(D_T, S, (long)(y + r) * W + x + s) : 0.0f;
    }
    WINOGRAD_INPUT(float, d, v);
    UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = v[r];
  }
  UNROLL for (int r = 0; r < EDGE; r++) {
    float v[EDGE];
    WINOGRAD_INPUT(float, rows[r], v);
    UNROLL for (int s = 0; s < EDGE; s++) V[(long)(r * EDGE + s) * channels * SHARE] = v[s];
  }
}
#endif

#if STAGE == 0
static void transform_filter(const int8 size, const int k, const int c, __global const STORAGE(D_T) * W,
                             __global float *U) {
  const int C = size.s1, K = size.s4;
  float columns[EDGE][3];
  if (c >= C) return;
  U += (long)k * C + c;
  UNROLL for (int s = 0; s < 3; s++) {
    float g[3], u[EDGE];
    UNROLL for (int r = 0; r < 3; r++) g[r] = LOAD(D_T, W, FLIP ? 8 - r * 3 - s : r * 3 + s);
    WINOGRAD_FILTER(float, g, u);
    UNROLL for (int i = 0; i < EDGE; i++) columns[i][s] = u[i];
  }
  UNROLL for (int i = 0; i < EDGE; i++) {
    float u[EDGE];
    WINOGRAD_FILTER(float, columns[i], u);
    UNROLL for (int j = 0; j < EDGE; j++) U[(long)(i * EDGE + j) * K * C] = u[j];
  }
}

RANGE_KERNEL winograd_operands(const int8 size, const int8 cut, __global const STORAGE(D_T) * S, const long S_at,
                               __global float *restrict V, const long V_at, __global const STORAGE(D_T) * W,
                               const long W_at, __global float *restrict U, const long U_at, const long w_k,
                               const long w_c) {
  const int item = (int)get_local_id(0), group = (int)get_group_id(0), own = group - cut.s3;
  if (own < 0) {
    const int across = (cut.s2 * size.s7 + GROUP - 1) / GROUP, c = group / across;
    transform_pixels(size, cut, c, (group - c * across) * GROUP + item, S + S_at, V + V_at);
  } else {
    const int across = (size.s1 + GROUP - 1) / GROUP, k = own / across, c = (own - k * across) * GROUP + item;
    transform_filter(size, k, c, W + W_at + k * w_k + c * w_c, U + U_at);
  }
}
#endif

#if STAGE == 1
static void transform_gradients(const int8 size, const int8 cut, const int k, const int tile,
                                __global const STORAGE(D_T) * Y, __global float *U) {
  const int N = size.s0, K = size.s4, P = size.s5, Q = size.s6, SHARE = size.s7;
  const int3 at = tile_at(tile, size);
  float rows[EDGE][TILE];
  if (tile >= cut.s2 * SHARE) return;
  Y += ((long)min(at.s0, N - 1) * K + k) * P * Q;
  U += offset_of(tile, k, K, SHARE);
  UNROLL for (int s = 0; s < TILE; s++) {
    float d[TILE], m[EDGE];
    UNROLL for (int r = 0; r < TILE; r++) {
      const bool inside = at.s0 < N && at.s1 + r < P && at.s2 + s < Q;
      d[r] = inside ? LOAD(D_T, Y, (long)(at.s1 + r) * Q + at.s2 + s) : 0.0f;
    }
    WINOGRAD_OUTPUT_BACK(float, d, m);
    UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = m[r];
  }
  UNROLL for (int r = 0; r < EDGE; r++) {
    float m[EDGE];
    WINOGRAD_OUTPUT_BACK(float, rows[r], m);
    UNROLL for (int s = 0; s < EDGE; s++) U[(long)(r * EDGE + s) * K * SHARE] = m[s];
  }
}

RANGE_KERNEL winograd_wgrad_operands(const int8 size, const int8 cut, __global const STORAGE(D_T) * S, const long S_at,
                                     __global float *restrict V, const long V_at, __global const STORAGE(D_T) * Y,
                                     const long Y_at, __global float *restrict U, const long U_at) {
  const int item = (int)get_local_id(0), group = (int)get_group_id(0), own = group - cut.s3;
  const int across = (cut.s2 * size.s7 + GROUP - 1) / GROUP, row = (own < 0 ? group : own) / across;
  const int tile = ((own < 0 ? group : own) - row * across) * GROUP + item;
  if (own < 0)
    transform_pixels(size, cut, row, tile, S + S_at, V + V_at);
  else
    transform_gradients(size, cut, row, tile, Y + Y_at, U + U_at);
}
#endif

#if STAGE == 2
RANGE_KERNEL winograd_outputs(const int8 size, __global const float *M, const long M_at, EPILOGUE_PARAMS) {
  const int N = size.s0, K = size.s4, P = size.s5, Q = size.s6;
  const int down = (P + TILE - 1) / TILE, across = (Q + TILE - 1) / TILE, tiles = N * down * across;
  const int tile = (int)get_global_id(0), k = (int)get_global_id(1), row = tile / across;
  const int y = row % down * TILE, x = tile % across * TILE, n = row / down;
  float columns[TILE][EDGE];
  if (tile >= tiles || k >= K) return;
  M += M_at + (long)k * tiles + tile;
  UNROLL for (int s = 0; s < EDGE; s++) {
    float m[EDGE], out[TILE];
    UNROLL for (int r = 0; r < EDGE; r++) m[r] = M[(long)(r * EDGE + s) * K * tiles];
    WINOGRAD_OUTPUT(float, m, out);
    UNROLL for (int r = 0; r < TILE; r++) columns[r][s] = out[r];
  }
  UNROLL for (int r = 0; r < TILE; r++) {
    float out[TILE];
    WINOGRAD_OUTPUT(float, columns[r], out);
#if WHOLE
    if (y + r < P) FINISH_BY(STOREVA, TILE, MICA_VLOAD(TILE, out, 0), (long)n, (long)k, (long)(y + r) * Q + x);
#else
    UNROLL for (int s = 0; s < TILE; s++) if (y + r < P && x + s < Q)
        FINISH(1, out[s], (long)n, (long)k, (long)(y + r) * Q + x + s);
#endif
  }
}
#endif

#if STAGE == 3
RANGE_KERNEL winograd_wgrad_sums(const int8 size, const int parts, __global const float *restrict M, const long M_at,
                                 __global STORAGE(D_T) *restrict D, const long D_at) {
  const int C = size.s1, K = size.s4, c = (int)get_global_id(0), k = (int)get_global_id(1);
  const long point = (long)K * C;
  float columns[3][EDGE];
  if (c >= C || k >= K) return;
  M += M_at + (long)k * C + c;
  UNROLL for (int s = 0; s < EDGE; s++) {
    float u[EDGE], g[3];
    UNROLL for (int r = 0; r < EDGE; r++) u[r] = M[(r * EDGE + s) * point];
    for (int part = 1; part < parts; part++)
      UNROLL for (int r = 0; r < EDGE; r++) u[r] += M[((long)part * POINTS + r * EDGE + s) * point];
    WINOGRAD_FILTER_BACK(float, u, g);
    UNROLL for (int r = 0; r < 3; r++) columns[r][s] = g[r];
  }
  UNROLL for (int r = 0; r < 3; r++) {
    float g[3];
    WINOGRAD_FILTER_BACK(float, columns[r], g);
    UNROLL for (int s = 0; s < 3; s++) STORE(D_T, g[s], D, D_at + ((long)k * C + c) * 9 + r * 3 + s);
  }
}
#endif
