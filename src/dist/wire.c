#include "dist/wire.h"

#include "base/arith.h"
#include "base/element.h"

#include <math.h>
#include <string.h>

/* The largest f16; the number of levels of MICA_COMPRESSION_U8 on each side of 0. */
#define F16_MOST 65504.0f
#define LEVELS 127

size_t mica__wire_bytes(mica_compression compression, mica_dtype dtype, int64_t n) {
  switch (compression) {
  case MICA_COMPRESSION_F16: return 2 * (size_t)n;
  case MICA_COMPRESSION_U8: return (size_t)n + sizeof(float) * (size_t)mica__ceil_div(n, MICA__WIRE_BLOCK);
  default: return mica_dtype_size(dtype) * (size_t)n;
  }
}

/* Finite values beyond the range of f16 become the largest f16. The residual receives the difference. */
static void encode_f16(const float *x, float *residual, int64_t n, void *out) {
  for (int64_t i = 0; i < n; i++) {
    const float value = x[i] + (residual ? residual[i] : 0);
    const bool finite = isfinite(value);
    mica__element_set(MICA_F16, out, i, (double)(finite ? fminf(fmaxf(value, -F16_MOST), F16_MOST) : value));
    if (residual) residual[i] = finite ? value - (float)mica__element_get(MICA_F16, out, i) : 0;
  }
}

/* Encodes a block as a scale s and bytes b = 128 + round(x / s); s is NaN if an element is not finite. */
static void encode_block(const float *x, float *residual, int64_t n, char *out) {
  float most = 0;
  uint8_t *bytes = (uint8_t *)out + sizeof(float);
  for (int64_t i = 0; i < n; i++) {
    const float value = fabsf(x[i] + (residual ? residual[i] : 0));
    most = isfinite(value) ? fmaxf(most, value) : NAN;
    if (isnan(most)) break;
  }
  const float scale = most / LEVELS;
  memcpy(out, &scale, sizeof scale);
  for (int64_t i = 0; i < n; i++) {
    const float value = x[i] + (residual ? residual[i] : 0);
    const float level = scale > 0 ? fminf(fmaxf(rintf(value / scale), -LEVELS), LEVELS) : 0;
    bytes[i] = (uint8_t)(128 + (int)level);
    if (residual) residual[i] = isnan(scale) ? 0 : value - level * scale;
  }
}

static void decode_block(const char *in, int64_t n, float *x) {
  const uint8_t *bytes = (const uint8_t *)in + sizeof(float);
  float scale;
  memcpy(&scale, in, sizeof scale);
  for (int64_t i = 0; i < n; i++) x[i] = (float)((int)bytes[i] - 128) * scale;
}

void mica__wire_encode(mica_compression compression, const float *x, float *residual, int64_t n, void *out) {
  if (compression == MICA_COMPRESSION_F16) encode_f16(x, residual, n, out);
  if (compression != MICA_COMPRESSION_U8) return;
  for (int64_t i = 0; i < n; i += MICA__WIRE_BLOCK) {
    const int64_t block = i / MICA__WIRE_BLOCK * (int64_t)(MICA__WIRE_BLOCK + sizeof(float));
    encode_block(x + i, residual ? residual + i : NULL, mica__min(n - i, MICA__WIRE_BLOCK), (char *)out + block);
  }
}

void mica__wire_decode(mica_compression compression, const void *in, int64_t n, float *x) {
  if (compression == MICA_COMPRESSION_F16)
    for (int64_t i = 0; i < n; i++) x[i] = (float)mica__element_get(MICA_F16, in, i);
  if (compression != MICA_COMPRESSION_U8) return;
  for (int64_t i = 0; i < n; i += MICA__WIRE_BLOCK) {
    const int64_t block = i / MICA__WIRE_BLOCK * (int64_t)(MICA__WIRE_BLOCK + sizeof(float));
    decode_block((const char *)in + block, mica__min(n - i, MICA__WIRE_BLOCK), x + i);
  }
}

/* --- sums --- */

#define ADD(name, type)                                                                                                \
  static void add_##name(type *restrict x, const type *restrict y, int64_t n) {                                        \
    for (int64_t i = 0; i < n; i++) x[i] += y[i];                                                                      \
  }
ADD(f32, float)
ADD(f64, double)
ADD(u32, uint32_t)
ADD(u64, uint64_t)

static void add(mica_dtype dtype, void *x, const void *y, int64_t n) {
  switch (dtype) {
  case MICA_F32: add_f32(x, y, n); break;
  case MICA_F64: add_f64(x, y, n); break;
  case MICA_I32: add_u32(x, y, n); break;
  case MICA_I64: add_u64(x, y, n); break;
  default:
    for (int64_t i = 0; i < n; i++)
      mica__element_set(dtype, x, i, mica__element_get(dtype, x, i) + mica__element_get(dtype, y, i));
  }
}

void mica__sum_tree(mica_dtype dtype, void *const *pieces, int32_t count, int64_t n) {
  for (int64_t step = 1; step < count; step *= 2)
    for (int64_t i = 0; i + step < count; i += 2 * step) add(dtype, pieces[i], pieces[i + step], n);
}
