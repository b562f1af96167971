/* attention/ref/grad.cl: the gradients of attention, as defined in attention/gpu/grad.cl. One row per work-item. It
 * computes its scores again for every four columns of the result.
 *
 *   OF_KEYS 1   DX = dk (B, Tk, G, D), DV = dv (B, Tk, G, E); each may be null. A row is (b, g, j)
 *   OF_KEYS 0   DX = dq (B, Tq, H, D); a row is (b, h, i)
 *
 * One dimension of `count` rows; work-group (64, 1, 1). */
#include "attention/ref/row.clh"

#define NAIVE_GRAD_FIELDS(X) GRAD_FIELDS(X) GRAD_RESULTS(X) COUNT_FIELDS(X)
DEFINE_PACKED_FIELDS(NAIVE_GRAD_FIELDS);

RANGE_KERNEL attention_naive_grad(ATTENTION_BUFFERS, elements Q, elements K, elements V, elements DY,
                                  __global const real *L, __global const real *Delta, __global STORAGE(Q_T) * DX,
                                  __global STORAGE(Q_T) * DV, const mica_packed packed) {
  UNPACK_FIELDS(NAIVE_GRAD_FIELDS);
  DROPOUT_TIME;
  const long row = get_global_id(0);
  if (row >= count) return;
#if OF_KEYS
  const int rows = Tk, heads = G;
#else
  const int rows = Tq, heads = H;
#endif
  const long b = row / ((long)heads * rows), offset = OFFSET_OF(b);
  const int own_head = (int)(row / rows % heads), own = (int)(row % rows), keys = KEYS_OF(b);
  const long at = (b * rows + own) * heads + own_head;
#if OF_KEYS
  const int g = own_head, begin = first_seeing(own, offset, after, Tq), end = end_seeing(own, offset, before, Tq);
  for (int column = 0; column < max(D, E); column += 4) {
    real dx[4] = {0, 0, 0, 0}, dv[4] = {0, 0, 0, 0};
    for (int h = g * (H / G); h < (g + 1) * (H / G); h++)
      for (int i = begin; i < end; i++) {
        WEIGHT_OF(w, ds, chain, i, own);
        UNROLL for (int c = 0; c < 4; c++) {
          if (column + c < D) dx[c] = fma(ds * chain, (real)LOAD(Q_T, AT(Q, h, i), (column + c) * Q_c), dx[c]);
          if (column + c < E) dv[c] = fma(w, (real)LOAD(Q_T, AT(DY, h, i), (column + c) * DY_c), dv[c]);
        }
      }
    UNROLL for (int c = 0; c < 4; c++) {
      if (DX && column + c < D) STORE(Q_T, dx[c], DX, DX_at + at * D + column + c);
      if (DV && column + c < E) STORE(Q_T, dv[c], DV, DV_at + at * E + column + c);
    }
  }
#else
  const int h = own_head, g = (int)((long)h * G / H);
  const int begin = FIRST_SEEN(own), end = end_seen(own + offset, after, keys);
  for (int column = 0; column < D; column += 4) {
    real dx[4] = {0, 0, 0, 0};
    for (int j = begin; j < end; j++) {
      WEIGHT_OF(w, ds, chain, own, j);
      UNROLL for (int c = 0; c < 4; c++) if (column + c < D) dx[c] =
          fma(ds * chain, (real)LOAD(Q_T, AT(K, g, j), (column + c) * K_c), dx[c]);
    }
    UNROLL for (int c = 0; c < 4; c++) if (column + c < D) STORE(Q_T, dx[c], DX, DX_at + at * D + column + c);
  }
#endif
}
