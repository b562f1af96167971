#include "base/element.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static float float_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint32_t bits_of_float(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static double half_to_double(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  double magnitude = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                     : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                    : ldexp(fraction, -24);
  return h & 0x8000 ? -magnitude : magnitude;
}

/* Rounds to a multiple of the spacing of f16 numbers at value's magnitude. nearbyint rounds ties to even. */
static uint16_t half_from_double(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  double magnitude = fabs(value);
  if (isnan(value)) return sign | 0x7e00;
  int exponent = magnitude > 0 ? ilogb(magnitude) : -14;
  if (exponent < -14) exponent = -14;
  if (exponent > 15) return sign | 0x7c00;
  /* 11 significant bits; the addition carries into the exponent, and past the largest exponent it gives infinity. */
  uint32_t units = (uint32_t)nearbyint(ldexp(magnitude, 10 - exponent));
  return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + units));
}

static uint16_t bf16_from_double(double value) {
  uint32_t bits = bits_of_float((float)value);
  if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
  /* Rounding twice, to f32 and then to bf16, can give a wrong result if the first step lands on a tie of the second.
   * The first step therefore rounds to odd. */
  float f = float_of_bits(bits);
  if ((double)f != value && !isinf(f)) {
    if (fabs((double)f) > fabs(value)) bits--;
    bits |= 1;
  }
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double saturate(double value, double low, double high) {
  return isnan(value) ? 0 : value < low ? low : value > high ? high : trunc(value);
}

double mica__element_get(mica_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
  case MICA_F32: return ((const float *)data)[i];
  case MICA_F16: return half_to_double(((const uint16_t *)data)[i]);
  case MICA_BF16: return float_of_bits((uint32_t)((const uint16_t *)data)[i] << 16);
  case MICA_F64: return ((const double *)data)[i];
  case MICA_I8: return ((const int8_t *)data)[i];
  case MICA_U8:
  case MICA_BOOL: return ((const uint8_t *)data)[i];
  case MICA_I16: return ((const int16_t *)data)[i];
  case MICA_I32: return ((const int32_t *)data)[i];
  case MICA_I64: return (double)((const int64_t *)data)[i];
  case MICA_U16: return ((const uint16_t *)data)[i];
  case MICA_U32: return ((const uint32_t *)data)[i];
  case MICA_U64: return (double)((const uint64_t *)data)[i];
  case MICA_DTYPE_COUNT: break;
  }
  return 0;
}

static float half_to_float(uint16_t h) {
  const uint32_t exponent = h >> 10 & 31;
  if (exponent == 0) return (float)half_to_double(h);
  return float_of_bits((uint32_t)(h & 0x8000) << 16 | (exponent == 31 ? 255 : exponent + 112) << 23 |
                       (uint32_t)(h & 1023) << 13);
}

void mica__elements_to_floats(mica_dtype dtype, const void *data, size_t count, float *floats) {
  const unsigned char *bytes = data;
  if (dtype == MICA_F32 && count) memcpy(floats, data, count * sizeof *floats);
  for (size_t i = 0; i < count && (dtype == MICA_F16 || dtype == MICA_BF16); i++) {
    uint16_t half;
    memcpy(&half, bytes + i * sizeof half, sizeof half);
    floats[i] = dtype == MICA_F16 ? half_to_float(half) : float_of_bits((uint32_t)half << 16);
  }
  for (size_t i = 0; i < count && dtype == MICA_F64; i++) {
    double value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    floats[i] = (float)value;
  }
}

bool mica__element_is_exact(mica_dtype dtype, double value) {
  return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT || fabs(value) < 0x1p53;
}

void mica__element_set(mica_dtype dtype, void *data, int64_t i, double value) {
  switch (dtype) {
  case MICA_F32: ((float *)data)[i] = (float)value; break;
  case MICA_F16: ((uint16_t *)data)[i] = half_from_double(value); break;
  case MICA_BF16: ((uint16_t *)data)[i] = bf16_from_double(value); break;
  case MICA_F64: ((double *)data)[i] = value; break;
  case MICA_I8: ((int8_t *)data)[i] = (int8_t)saturate(value, INT8_MIN, INT8_MAX); break;
  case MICA_U8: ((uint8_t *)data)[i] = (uint8_t)saturate(value, 0, UINT8_MAX); break;
  case MICA_BOOL: ((uint8_t *)data)[i] = value != 0; break;
  case MICA_I16: ((int16_t *)data)[i] = (int16_t)saturate(value, INT16_MIN, INT16_MAX); break;
  case MICA_I32: ((int32_t *)data)[i] = (int32_t)saturate(value, INT32_MIN, INT32_MAX); break;
  case MICA_I64:
    /* INT64_MAX is not a double, so values from 2^63 on saturate separately; the same goes for UINT64_MAX. */
    ((int64_t *)data)[i] = value >= 0x1p63 ? INT64_MAX : (int64_t)saturate(value, -0x1p63, 0x1p63);
    break;
  case MICA_U16: ((uint16_t *)data)[i] = (uint16_t)saturate(value, 0, UINT16_MAX); break;
  case MICA_U32: ((uint32_t *)data)[i] = (uint32_t)saturate(value, 0, UINT32_MAX); break;
  case MICA_U64: ((uint64_t *)data)[i] = value >= 0x1p64 ? UINT64_MAX : (uint64_t)saturate(value, 0, 0x1p64); break;
  case MICA_DTYPE_COUNT: break;
  }
}

void mica__element_wrap(mica_dtype dtype, void *data, int64_t i, double value) {
  mica_dtype_kind kind = mica_dtype_kind_of(dtype);
  if (kind != MICA_DTYPE_KIND_SIGNED && kind != MICA_DTYPE_KIND_UNSIGNED) {
    mica__element_set(dtype, data, i, value);
    return;
  }
  double rest = isfinite(value) ? fmod(value, 0x1p64) : 0;
  uint64_t bits = rest < 0 ? -(uint64_t)-rest : (uint64_t)rest;
  switch (mica_dtype_size(dtype)) {
  case 1: ((uint8_t *)data)[i] = (uint8_t)bits; break;
  case 2: ((uint16_t *)data)[i] = (uint16_t)bits; break;
  case 4: ((uint32_t *)data)[i] = (uint32_t)bits; break;
  default: ((uint64_t *)data)[i] = bits; break;
  }
}

double mica__element_roundoff(mica_dtype dtype) {
  switch (dtype) {
  case MICA_F64: return 0x1p-53;
  case MICA_F32: return 0x1p-24;
  case MICA_F16: return 0x1p-11;
  case MICA_BF16: return 0x1p-8;
  default: return 0;
  }
}

bool mica__bools_are(const void *data, size_t count) {
  unsigned char all = 0;
  for (size_t i = 0; i < count; i++) all |= ((const unsigned char *)data)[i];
  return all <= 1;
}

void mica__bools_from(void *data, size_t count) {
  unsigned char *bytes = data;
  for (size_t i = 0; i < count; i++) bytes[i] = bytes[i] != 0;
}
