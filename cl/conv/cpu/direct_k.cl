/* conv/cpu/direct_k.cl: direct convolution vectorised over the filters, for results of a few pixels, any phase
 * (conv/problem.clh), for the CPU class.
 *
 * Each lane of a vector computes one filter. Weights are packed in vectors (conv/cpu/pack_weights.cl, tiles of 16, in
 * one block). Each vector of weights is read once for NP pixels. A register tile is NP pixels by NV vectors of filters.
 *
 * A work-group, which has one work-item, computes NP pixels of D for VECTORS vectors of filters. The pixels of all
 * images are numbered one after another. The work-item packs the source elements that its pixels read as x[c][tap][NP],
 * with zeros outside of the source, to local memory of CG taps NP floats. NDRange: ceil(pixels / NP), ceil(ceil(KG /
 * 16) / VECTORS), groups of the convolution; work-group (1, 1, 1). */
#include "common/epilogue.clh"
#include "common/cpu/register_tile.clh"
#include "conv/problem.clh"

/* A pixel of the phase: its image n, its coordinates o0 o1 o2, and its index `at` in a channel of D. */
typedef struct pixel {
  long n, at;
  int o0, o1, o2;
} pixel;

static inline pixel pixel_at(PHASE_PARAMS, const long column) {
  PHASE_UNPACK
  const long row = column / OUT2, plane = row / OUT1;
  pixel p;
  p.o2 = (int)(column % OUT2);
  p.o1 = (int)(row % OUT1);
  p.o0 = (int)(plane % OUT0);
  p.n = plane / OUT0;
  p.at = ((long)(AT0 + p.o0 * OUT_STRIDE0) * FULL1 + AT1 + p.o1 * OUT_STRIDE1) * FULL2 + AT2 + p.o2 * OUT_STRIDE2;
  return p;
}

/* x[c][tap][i] = the element of channel c of group g that `tap` of pixel p reads; 0 outside of the source. */
static void pack_pixel(PHASE_PARAMS, const pixel p, const int g, const int i, source S, __local float *x) {
  PHASE_UNPACK
  const int taps = TAPS0 * TAPS1 * TAPS2;
  const long plane = (long)IN0 * IN1 * IN2, image = (p.n * G + g) * CG * plane;
  for (int t = 0; t < taps; t++) {
    const int i0 = p.o0 * STEP0 + FIRST0 + t / TAPS2 / TAPS1 * DELTA0;
    const int i1 = p.o1 * STEP1 + FIRST1 + t / TAPS2 % TAPS1 * DELTA1, i2 = p.o2 * STEP2 + FIRST2 + t % TAPS2 * DELTA2;
    const bool inside = i0 >= 0 && i0 < IN0 && i1 >= 0 && i1 < IN1 && i2 >= 0 && i2 < IN2;
    const long from = image + ((long)i0 * IN1 + i1) * IN2 + i2;
    for (int c = 0; c < CG; c++) x[(c * taps + t) * NP + i] = inside ? READ(1, S, from + c * plane) : 0.0f;
  }
}

/* sums[i][vector] = the sum over l < depth of w[vector][l] x[l][i], for NP pixels i. The lanes of sums and w are VW
 * filters. `vectors` is a constant. */
#define DEFINE_MULTIPLY(name, vectors)                                                                                 \
  static inline void name(__global const float *w, __local const float *x, const int depth,                            \
                          __private float sums[NP][NV * VW]) {                                                         \
    vec sum[NP][vectors];                                                                                              \
    TILE_CLEAR(sum, NP, vectors);                                                                                      \
    for (int l = 0; l < depth; l++, w += VW, x += NP) {                                                                \
      vec filters[vectors];                                                                                            \
      UNROLL for (int j = 0; j < vectors; j++) filters[j] = MICA_VLOAD(VW, w, (long)j * depth * VW);                   \
      TILE_MULTIPLY_ADD(sum, NP, vectors, x[i], filters)                                                               \
    }                                                                                                                  \
    TILE_STORE(sum, NP, vectors, &sums[0][0], NV *VW);                                                                 \
  }
DEFINE_MULTIPLY(multiply_tile, NV)
DEFINE_MULTIPLY(multiply_one, 1)

CPU_KERNEL conv_cpu_direct_k(PHASE_PARAMS, const int VECTORS, source S, const long S_at, __global const float *P,
                             const long P_at, __local float *x, EPILOGUE_PARAMS) {
  PHASE_UNPACK
  const int g = (int)get_group_id(2), vectors = (KG + VW - 1) / VW, depth = CG * TAPS0 * TAPS1 * TAPS2;
  const int begin = (int)get_group_id(1) * VECTORS, end = min(vectors, begin + VECTORS);
  const long first = (long)get_group_id(0) * NP, pixels = (long)N * OUT0 * OUT1 * OUT2;
  const int used = (int)min((long)NP, pixels - first);
  pixel p[NP];
  for (int i = 0; i < NP; i++) {
    p[i] = pixel_at(PHASE, min(first + i, pixels - 1));
    pack_pixel(PHASE, p[i], g, i, S + S_at, x);
  }
  bool row = used == NP; /* the pixels are adjacent in D */
  for (int i = 1; i < NP; i++) row = row && p[i].n == p[0].n && p[i].at == p[0].at + i;
  P += P_at + (long)g * vectors * depth * VW;
  for (int v = begin, count; v < end; v += count) {
    float sums[NP][NV * VW];
    count = v + NV <= end ? NV : 1;
    if (count == NV)
      multiply_tile(P + (long)v * depth * VW, x, depth, sums);
    else
      multiply_one(P + (long)v * depth * VW, x, depth, sums);
    for (int k = 0; k < min(count * VW, KG - v * VW); k++) {
      const long channel = (long)g * KG + v * VW + k;
      if (NP == 4 && row)
        FINISH(4, (float4)(sums[0][k], sums[1 % NP][k], sums[2 % NP][k], sums[3 % NP][k]), p[0].n, channel, p[0].at);
      else
        for (int i = 0; i < used; i++) FINISH(1, sums[i][k], p[i].n, channel, p[i].at);
    }
  }
}
