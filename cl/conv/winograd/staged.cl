/* conv/winograd/staged.cl: Winograd's convolution (conv/winograd/winograd.clh) in three launches, for GPUs. The first
 * launch computes both operands of one matrix product per point. The second computes the products with the kernels of
 * cl/matmul. The third transforms the products.
 *
 *   forward, backward data   M[point] = U[point] V[point]         backward filter   M[part][point] = V U'
 *
 *   STAGE 0  winograd_operands         V, and U[point][k][c] = G g G', g[r][s] = W[k w_k + c w_c + 3 r + s]; FLIP: g
 *                                      rotated by 180 degrees
 *   STAGE 1  winograd_wgrad_operands   V, and U[point][k][tile] = A x A' of the tile's TILE x TILE pixels of X
 *   STAGE 2  winograd_outputs          D[n][k][y][x] = A' M A, with the epilogue
 *   STAGE 3  winograd_wgrad_sums       dW[c][k][3][3] = G' (sum over parts of M[part][point][c][k]) G, rotated
 *
 * with V[point][c][tile] = B' d B of the tile's EDGE x EDGE pixels of S; pixels outside S are zero. For the gradient of
 * filters, V is computed from dY (which is S here, as in the backward pass to the data) and U from x. The gradient is
 * the sum over q of x[q] dY[q + pad - r], so its taps are in descending order and stage 3 rotates the result.
 *
 * U, V and M are float. Tiles of TILE x TILE pixels of the results, or of X, are numbered row by row and image by
 * image. Rows of V and U have PITCH tiles and are zero beyond the last tile.
 *
 *   TOP, LEFT   the first row and column of tile 0 in S
 *   V_GROUPS    the number of work-groups that compute V; the work-groups after them compute U
 *
 * In stages 0 and 1 a work-item computes all points of one tile of one channel, or of one filter and channel, in stage
 * 2 all pixels of one tile of one channel. In stage 3 it adds the parts into which the depth of the products was
 * divided: work-item (i, s) of a group of LANES x EDGE adds column s of the points of filter i.
 *
 *   NDRange of stage 0   one dimension: ceil(PITCH / 64) work-groups per c, then ceil(CG / 64) work-groups per k
 *   NDRange of stage 1   one dimension: ceil(PITCH / 64) work-groups per c, then ceil(PITCH / 64) work-groups per k
 *   NDRange of stage 2   tiles, KG
 *   NDRange of stage 3   LANES ceil(CG KG / LANES), EDGE
 * Work-groups are (64, 1, 1) in stages 0 to 2.
 *
 * WHOLE 1: the width of D and the index of its first element are multiples of TILE (stage 2). */
#include "common/epilogue.clh"
#include "common/group.clh"
#include "conv/winograd/winograd.clh"

#ifndef FLIP /* 1: filters rotated by 180 degrees (backward data) */
#define FLIP 0
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#define UNROLL _Pragma("unroll")
#define GROUP 64
#define LANES 32

#if STAGE == 0 || STAGE == 1
/* A tile: its image, first row and first column. If the tile does not exist, n is N. */
typedef struct position {
  int n, y, x;
} position;

static position tile_at(const int tile, const int8 size) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  const int down = (OUT1 + TILE - 1) / TILE, across = (OUT2 + TILE - 1) / TILE, row = tile / across;
  const position at = {min(row / down, N), row % down * TILE, tile % across * TILE};
  return at;
}

static void transform_pixels(const int8 size, const int8 cut, const int c, const int tile,
                             __global const STORAGE(D_T) * S, __global float *V) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  UNPACK_INTS(WINOGRAD_CUT, cut)
  const position at = tile_at(tile, size);
  const int y = at.y + TOP, x = at.x + LEFT;
  float rows[EDGE][EDGE];
  if (tile >= PITCH) return;
  S += ((long)min(at.n, N - 1) * CG + c) * IN1 * IN2;
  V += (long)c * PITCH + tile;
  UNROLL for (int s = 0; s < EDGE; s++) {
    float d[EDGE], v[EDGE];
    UNROLL for (int r = 0; r < EDGE; r++) {
      const bool inside = at.n < N && y + r >= 0 && y + r < IN1 && x + s >= 0 && x + s < IN2;
      d[r] = inside ? LOAD(D_T, S, (long)(y + r) * IN2 + x + s) : 0.0f;
    }
    WINOGRAD_INPUT(float, d, v);
    UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = v[r];
  }
  UNROLL for (int r = 0; r < EDGE; r++) {
    float v[EDGE];
    WINOGRAD_INPUT(float, rows[r], v);
    UNROLL for (int s = 0; s < EDGE; s++) V[(long)(r * EDGE + s) * CG * PITCH] = v[s];
  }
}
#endif

#if STAGE == 0
static void transform_filter(const int8 size, const int k, const int c, __global const STORAGE(D_T) * W,
                             __global float *U) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  float columns[EDGE][3];
  if (c >= CG) return;
  U += (long)k * CG + c;
  UNROLL for (int s = 0; s < 3; s++) {
    float g[3], u[EDGE];
    UNROLL for (int r = 0; r < 3; r++) g[r] = LOAD(D_T, W, FLIP ? 8 - r * 3 - s : r * 3 + s);
    WINOGRAD_FILTER(float, g, u);
    UNROLL for (int i = 0; i < EDGE; i++) columns[i][s] = u[i];
  }
  UNROLL for (int i = 0; i < EDGE; i++) {
    float u[EDGE];
    WINOGRAD_FILTER(float, columns[i], u);
    UNROLL for (int j = 0; j < EDGE; j++) U[(long)(i * EDGE + j) * KG * CG] = u[j];
  }
}

RANGE_KERNEL winograd_operands(const int8 size, const int8 cut, __global const STORAGE(D_T) * S, const long S_at,
                               __global float *restrict V, const long V_at, __global const STORAGE(D_T) * W,
                               const long W_at, __global float *restrict U, const long U_at, const long w_k,
                               const long w_c) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  UNPACK_INTS(WINOGRAD_CUT, cut)
  const int item = (int)get_local_id(0), group = (int)get_group_id(0), own = group - V_GROUPS;
  if (own < 0) {
    const int across = (PITCH + GROUP - 1) / GROUP, c = group / across;
    transform_pixels(size, cut, c, (group - c * across) * GROUP + item, S + S_at, V + V_at);
  } else {
    const int across = (CG + GROUP - 1) / GROUP, k = own / across, c = (own - k * across) * GROUP + item;
    transform_filter(size, k, c, W + W_at + k * w_k + c * w_c, U + U_at);
  }
}
#endif

#if STAGE == 1
static void transform_tiles(const int8 size, const int8 cut, const int k, const int tile,
                            __global const STORAGE(D_T) * X, __global float *U) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  UNPACK_INTS(WINOGRAD_CUT, cut)
  const position at = tile_at(tile, size);
  float rows[EDGE][TILE];
  if (tile >= PITCH) return;
  X += ((long)min(at.n, N - 1) * KG + k) * OUT1 * OUT2;
  U += (long)k * PITCH + tile;
  UNROLL for (int s = 0; s < TILE; s++) {
    float d[TILE], m[EDGE];
    UNROLL for (int r = 0; r < TILE; r++) {
      const bool inside = at.n < N && at.y + r < OUT1 && at.x + s < OUT2;
      d[r] = inside ? LOAD(D_T, X, (long)(at.y + r) * OUT2 + at.x + s) : 0.0f;
    }
    WINOGRAD_OUTPUT_BACK(float, d, m);
    UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = m[r];
  }
  UNROLL for (int r = 0; r < EDGE; r++) {
    float m[EDGE];
    WINOGRAD_OUTPUT_BACK(float, rows[r], m);
    UNROLL for (int s = 0; s < EDGE; s++) U[(long)(r * EDGE + s) * KG * PITCH] = m[s];
  }
}

RANGE_KERNEL winograd_wgrad_operands(const int8 size, const int8 cut, __global const STORAGE(D_T) * S, const long S_at,
                                     __global float *restrict V, const long V_at, __global const STORAGE(D_T) * X,
                                     const long X_at, __global float *restrict U, const long U_at) {
  UNPACK_INTS(WINOGRAD_CUT, cut)
  const int item = (int)get_local_id(0), group = (int)get_group_id(0), own = group - V_GROUPS;
  const int across = (PITCH + GROUP - 1) / GROUP, row = (own < 0 ? group : own) / across;
  const int tile = ((own < 0 ? group : own) - row * across) * GROUP + item;
  if (own < 0)
    transform_pixels(size, cut, row, tile, S + S_at, V + V_at);
  else
    transform_tiles(size, cut, row, tile, X + X_at, U + U_at);
}
#endif

#if STAGE == 2
RANGE_KERNEL winograd_outputs(const int8 size, const int PITCH, __global const float *M, const long M_at,
                              EPILOGUE_PARAMS) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  const int down = (OUT1 + TILE - 1) / TILE, across = (OUT2 + TILE - 1) / TILE, tiles = N * down * across;
  const int tile = (int)get_global_id(0), k = (int)get_global_id(1), row = tile / across;
  const int y = row % down * TILE, x = tile % across * TILE, n = row / down;
  float columns[TILE][EDGE];
  if (tile >= tiles || k >= KG) return;
  M += M_at + (long)k * PITCH + tile;
  UNROLL for (int s = 0; s < EDGE; s++) {
    float m[EDGE], out[TILE];
    UNROLL for (int r = 0; r < EDGE; r++) m[r] = M[(long)(r * EDGE + s) * KG * PITCH];
    WINOGRAD_OUTPUT(float, m, out);
    UNROLL for (int r = 0; r < TILE; r++) columns[r][s] = out[r];
  }
  UNROLL for (int r = 0; r < TILE; r++) {
    float out[TILE];
    WINOGRAD_OUTPUT(float, columns[r], out);
#if WHOLE
    if (y + r < OUT1) FINISH_BY(STOREVA, TILE, MICA_VLOAD(TILE, out, 0), (long)n, (long)k, (long)(y + r) * OUT2 + x);
#else
    UNROLL for (int s = 0; s < TILE; s++) if (y + r < OUT1 && x + s < OUT2)
        FINISH(1, out[s], (long)n, (long)k, (long)(y + r) * OUT2 + x + s);
#endif
  }
}
#endif

#if STAGE == 3
__kernel __attribute__((reqd_work_group_size(LANES, EDGE, 1))) void
winograd_wgrad_sums(const int8 size, const int parts, __global const float *restrict M, const long M_at,
                    __global STORAGE(D_T) *restrict D, const long D_at) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  __local float columns[3][EDGE][LANES];
  const int lane = (int)get_local_id(0), s = (int)get_local_id(1);
  const long filters = (long)CG * KG, filter = (long)get_group_id(0) * LANES + lane;
  if (filter < filters) {
    float u[EDGE], g[3];
    M += M_at + s * filters + filter;
    UNROLL for (int r = 0; r < EDGE; r++) u[r] = M[r * EDGE * filters];
    for (int part = 1; part < parts; part++)
      UNROLL for (int r = 0; r < EDGE; r++) u[r] += M[((long)part * POINTS + r * EDGE) * filters];
    WINOGRAD_FILTER_BACK(float, u, g);
    UNROLL for (int r = 0; r < 3; r++) columns[r][s][lane] = g[r];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (s < 3 && filter < filters) {
    float u[EDGE], g[3];
    UNROLL for (int i = 0; i < EDGE; i++) u[i] = columns[s][i][lane];
    WINOGRAD_FILTER_BACK(float, u, g);
    UNROLL for (int i = 0; i < 3; i++) STORE(D_T, g[i], D, D_at + filter * 9 + 8 - s * 3 - i);
  }
}
#endif
