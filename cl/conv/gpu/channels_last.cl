/* conv/gpu/channels_last.cl: a tensor [N][G][C][pixels] as L [G][N][pixels][C rounded up to whole pieces of 16 bytes],
 * zero beyond C: what kernels on tensor cores copy piece by piece (conv/gpu/mma.cl). GPU class.
 *
 * A work-group carries 64 pixels of the channels of 8 pieces through local memory. A row of it has an odd number of
 * elements, so that the pieces a warp gathers across rows lie in different banks. The bits are copied as they are.
 * NDRange: THREADS * tiles of pixels * tiles of channels * N * G; work-group (THREADS). */
#ifndef SIZE /* bytes of an element: 2 or 4 */
#define SIZE 2
#endif

#if SIZE == 2
typedef ushort bits_t;
#else
typedef uint bits_t;
#endif

#define THREADS 256
#define PIECE (16 / SIZE) /* elements of 16 bytes */
#define PIECES 8
#define PIXELS 64
#define PITCH (PIXELS + 1)

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void conv_gpu_channels_last(
    const int N, const int G, const int C, const int pixels, __global const bits_t *restrict X, const long X_at,
    __global uint4 *restrict L, const long L_at) {
  __local bits_t tile[PIECES * PIECE * PITCH];
  const int item = (int)get_local_id(0), tiles = (pixels + PIXELS - 1) / PIXELS, all = (C + PIECE - 1) / PIECE;
  const int parts = (all + PIECES - 1) / PIECES, group = (int)get_group_id(0), plane = group / tiles / parts;
  const int pixel0 = group % tiles * PIXELS, piece0 = group / tiles % parts * PIECES, n = plane % N, own = plane / N;
  const int pieces = min(PIECES, all - piece0);
  __global const bits_t *from = X + X_at + ((long)(n * G + own) * C + piece0 * PIECE) * pixels + pixel0;

  for (int i = item; i < pieces * PIECE * PIXELS; i += THREADS) {
    const int c = i / PIXELS, pixel = i % PIXELS;
    const bool inside = piece0 * PIECE + c < C && pixel0 + pixel < pixels;
    tile[c * PITCH + pixel] = inside ? from[(long)c * pixels + pixel] : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < pieces * PIXELS; i += THREADS) {
    const int piece = i % pieces, pixel = i / pieces;
    uint words[4];
    if (pixel0 + pixel >= pixels) break;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      __local const bits_t *at = tile + (piece * PIECE + j * PIECE / 4) * PITCH + pixel;
      words[j] = SIZE == 2 ? (uint)at[0] | (uint)at[(SIZE == 2) * PITCH] << 16 : (uint)at[0];
    }
    L[L_at + ((long)plane * pixels + pixel0 + pixel) * all + piece0 + piece] = vload4(0, words);
  }
}
