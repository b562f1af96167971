/* conv/winograd/staged.cl: Winograd's convolution (conv/winograd/winograd.clh) in four launches, for GPUs. For each
 * point one matrix product, M[point] = U[point] V[point], by the kernels of cl/matmul; before and after it what stands
 * here:
 *
 *   STAGE 0  winograd_filters  U[point][k][c]     = G g G', g[r][s] = W[k w_k + c w_c + 3 r + s]; FLIP: g rotated by
 *   180 STAGE 1  winograd_inputs   V[point][c][tile]  = B' d B of the tile's EDGE x EDGE pixels of S, zero outside
 *   STAGE 2  winograd_outputs  D[n][k][y][x]      = A' M A, with the epilogue
 *
 * U, V and M are float. D's tiles, TILE x TILE, are numbered through all images, row by row. size: N C H W (of S), K P
 * Q (of D). A work-item makes all points of one element, or one tile of one filter. NDRange: C, K, 1 (stage 0); tiles,
 * C or K, 1; work-groups of any size. */
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

#if STAGE == 0
RANGE_KERNEL winograd_filters(__global const STORAGE(D_T) * W, const long W_at, const long w_k, const long w_c,
                              const int C, const int K, __global float *restrict U, const long U_at) {
  const int c = (int)get_global_id(0), k = (int)get_global_id(1);
  float columns[EDGE][3];
  if (c >= C || k >= K) return;
  W += W_at + k * w_k + c * w_c;
  U += U_at + (long)k * C + c;
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
#endif

#if STAGE == 1
RANGE_KERNEL winograd_inputs(const int8 size, const int top, const int left, __global const STORAGE(D_T) * S,
                             const long S_at, __global float *restrict V, const long V_at) {
  const int N = size.s0, channels = size.s1, H = size.s2, W = size.s3, P = size.s5, Q = size.s6;
  const int down = (P + TILE - 1) / TILE, across = (Q + TILE - 1) / TILE, tiles = N * down * across;
  const int tile = (int)get_global_id(0), c = (int)get_global_id(1), row = tile / across;
  const int y = row % down * TILE + top, x = tile % across * TILE + left;
  float rows[EDGE][EDGE];
  if (tile >= tiles || c >= channels) return;
  S += S_at + ((long)(row / down) * channels + c) * H * W;
  V += V_at + (long)c * tiles + tile;
  UNROLL for (int s = 0; s < EDGE; s++) {
    float d[EDGE], v[EDGE];
    UNROLL for (int r = 0; r < EDGE; r++) {
      const bool inside = y + r >= 0 && y + r < H && x + s >= 0 && x + s < W;
      d[r] = inside ? LOAD(D_T, S, (long)(y + r) * W + x + s) : 0.0f;
    }
    WINOGRAD_INPUT(float, d, v);
    UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = v[r];
  }
  UNROLL for (int r = 0; r < EDGE; r++) {
    float v[EDGE];
    WINOGRAD_INPUT(float, rows[r], v);
    UNROLL for (int s = 0; s < EDGE; s++) V[(long)(r * EDGE + s) * channels * tiles] = v[s];
  }
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
    if (y + r < P)
      FINISH_BY(STOREVA, TILE, MICA_VLOAD(TILE, out, 0), (long)n, (long)k, (long)(y + r) * Q + x);
#else
    UNROLL for (int s = 0; s < TILE; s++) if (y + r < P && x + s < Q)
        FINISH(1, out[s], (long)n, (long)k, (long)(y + r) * Q + x + s);
#endif
  }
}
#endif
