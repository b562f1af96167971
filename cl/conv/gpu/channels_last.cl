/* conv/gpu/channels_last.cl: copies a tensor [N][G][C][pixels] to L [G][N][pixels][C rounded up to whole pieces of 16
 * bytes], with zeros beyond C. Kernels on tensor cores need this layout to copy whole pieces (conv/mma/forward.cl). GPU
 * class.
 *
 * A work-group transposes 64 pixels of the channels of 8 pieces in local memory. Rows there have an odd number of
 * elements, so that the elements that a warp reads from different rows are in different banks. The bits are not
 * changed. NDRange: THREADS * tiles of pixels * tiles of channels * N * G; work-group (THREADS).
 *
 * SIZE: bytes per element, 2 or 4. */

#if SIZE == 2
typedef ushort bits_t;
#else
typedef uint bits_t;
#endif

#define THREADS 256
#define PIECE (16 / SIZE) /* elements in 16 bytes */
#define PIECES 8
#define PIXELS 64
#define PITCH (PIXELS + 1)
#define FETCHES (PIECES * PIECE * PIXELS / THREADS)
#define UNROLL _Pragma("unroll")

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void conv_gpu_channels_last(
    const int N, const int G, const int C, const int pixels, __global const bits_t *restrict X, const long X_at,
    __global uint4 *restrict L, const long L_at) {
  __local bits_t tile[PIECES * PIECE * PITCH];
  const int item = (int)get_local_id(0), tiles = (pixels + PIXELS - 1) / PIXELS, all = (C + PIECE - 1) / PIECE;
  const int parts = (all + PIECES - 1) / PIECES, group = (int)get_group_id(0), plane = group / tiles / parts;
  const int pixel0 = group % tiles * PIXELS, piece0 = group / tiles % parts * PIECES, n = plane % N, own = plane / N;
  __global const bits_t *from = X + X_at + ((long)(n * G + own) * C + piece0 * PIECE) * pixels + pixel0;

  /* All loads of a work-item begin before it waits for the first one. */
  const int pixel = item % PIXELS, channels = pixel0 + pixel < pixels ? C - piece0 * PIECE : 0;
  bits_t share[FETCHES];
  UNROLL for (int f = 0; f < FETCHES; f++) {
    const int c = item / PIXELS + f * (THREADS / PIXELS);
    share[f] = c < channels ? from[(long)c * pixels + pixel] : 0;
  }
  UNROLL for (int f = 0; f < FETCHES; f++) tile[(item / PIXELS + f * (THREADS / PIXELS)) * PITCH + pixel] = share[f];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int piece = item % PIECES;
  UNROLL for (int f = 0; f < PIXELS * PIECES / THREADS; f++) {
    const int own_pixel = item / PIECES + f * (THREADS / PIECES);
    uint words[4];
    UNROLL for (int j = 0; j < 4; j++) {
      __local const bits_t *at = tile + (piece * PIECE + j * PIECE / 4) * PITCH + own_pixel;
      words[j] = SIZE == 2 ? (uint)at[0] | (uint)at[(SIZE == 2) * PITCH] << 16 : (uint)at[0];
    }
    if (piece0 + piece < all && pixel0 + own_pixel < pixels)
      L[L_at + ((long)plane * pixels + pixel0 + own_pixel) * all + piece0 + piece] = vload4(0, words);
  }
}
