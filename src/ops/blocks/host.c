#include "ops/blocks/blocks.h"

#include "base/element.h"
#include "base/error.h"
#include "cl/blocks/fields.clh"

#include <string.h>

#define LAYOUT_ROW(name, number, elements, bytes, ...) [number] = {elements, bytes, __VA_ARGS__},
static const mica__block_layout layouts[MICA_BLOCK_COUNT] = {BLOCK_LAYOUTS(LAYOUT_ROW)};

#define SAME_SIZES(name, number, elements, bytes, ...)                                                                 \
  _Static_assert((number) == MICA_BLOCK_##name && (elements) <= MICA__BLOCK_MOST, #name);
BLOCK_LAYOUTS(SAME_SIZES)

const mica__block_layout *mica__block_layout_of(mica_block type) {
  return (unsigned)type < MICA_BLOCK_COUNT && type != MICA_BLOCK_NONE ? &layouts[type] : NULL;
}

static float half_at(const uint8_t *bytes) {
  const uint16_t bits = (uint16_t)(bytes[0] | bytes[1] << 8);
  return (float)mica__element_get(MICA_F16, &bits, 0);
}

/* 2^(exponent - 128), also if it is subnormal. */
static float power_at(uint8_t exponent) {
  const uint32_t bits = exponent < 2 ? UINT32_C(0x00200000) << exponent : (uint32_t)(exponent - 1) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/* Inlined for each layout, so that the layout's numbers are constants. */
#define INLINED static inline __attribute__((always_inline))

INLINED int32_t scales_of(const mica__block_layout *l, const uint8_t *block, float *scale, float *minimum) {
  const uint8_t *s = block + l->scales_at;
  if (l->scales == BLOCK_POWERS) {
    *scale = power_at(block[l->d]);
    *minimum = 0;
    return 1;
  }
  const float d = half_at(block + l->d), m = l->minimum >= 0 ? half_at(block + l->minimum) : 0;
  if (l->scales == BLOCK_BYTES) {
    for (int i = 0; i < 16; i++) {
      scale[i] = d * (float)(int8_t)s[i];
      minimum[i] = 0;
    }
    return 16;
  }
  if (l->scales == BLOCK_SIX) {
    for (int i = 0; i < 8; i++) {
      const int first = i < 4 ? s[i] & 63 : (s[i + 4] & 15) | (s[i - 4] >> 6) << 4;
      const int second = i < 4 ? s[i + 4] & 63 : s[i + 4] >> 4 | (s[i] >> 6) << 4;
      scale[i] = d * (float)first;
      minimum[i] = -(m * (float)second);
    }
    return 8;
  }
  *scale = d;
  *minimum = m;
  return 1;
}

INLINED int high_of(const mica__block_layout *l, const uint8_t *block, int e) {
  if (l->high_bits == 0) return 0;
  const int whole = l->high_span * 8 / l->high_bits, in = e % whole;
  const int byte = block[l->high + e / whole * l->high_span + in % l->high_span];
  return byte >> l->high_bits * (in / l->high_span) & ((1 << l->high_bits) - 1);
}

const int8_t mica__block_fours[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Only types with a minimum add it, so that zeros keep their sign. */
INLINED float value_of(const mica__block_layout *l, int q, float scale, float minimum) {
  const float product = scale * (float)(q - l->less);
  return l->minimum >= 0 ? product + minimum : product;
}

INLINED void values_of(const mica__block_layout *l, const uint8_t *block, float *x) {
  float scale[MICA__BLOCK_GROUPS], minimum[MICA__BLOCK_GROUPS];
  const int group = l->elements / scales_of(l, block, scale, minimum);
  if (l->low_bits == 8) {
    for (int e = 0; e < l->elements; e++) x[e] = value_of(l, (int8_t)block[l->low + e], *scale, *minimum);
    return;
  }
  for (int chunk = 0; chunk < l->elements / 2 / l->span; chunk++)
    for (int half = 0; half < 2; half++)
      for (int j = 0; j < l->span; j++) {
        const int e = (2 * chunk + half) * l->span + j;
        const int low = block[l->low + chunk * l->span + j] >> 4 * half & 15;
        const int q = l->scales == BLOCK_POWERS ? mica__block_fours[low] : low | high_of(l, block, e) << 4;
        x[e] = value_of(l, q, scale[e / group], minimum[e / group]);
      }
}

int32_t mica__block_scales(const mica__block_layout *layout, const uint8_t *block, float scale[MICA__BLOCK_GROUPS],
                           float minimum[MICA__BLOCK_GROUPS]) {
  return scales_of(layout, block, scale, minimum);
}

void mica__block_values(mica_block type, const uint8_t *block, float *x) {
#define VALUES_CASE(name, number, ...)                                                                                 \
  case MICA_BLOCK_##name: values_of(&layouts[number], block, x); break;
  switch (type) {
    BLOCK_LAYOUTS(VALUES_CASE)
  default: break;
  }
}

void mica__block_pack(const mica__block_layout *l, const uint8_t *numbers, uint8_t *block) {
  for (int e = 0; e < l->elements; e++) {
    const int q = numbers[e];
    if (l->low_bits == 8) {
      block[l->low + e] = (uint8_t)q;
      continue;
    }
    const int chunk = e / (2 * l->span), in = e % (2 * l->span);
    block[l->low + chunk * l->span + in % l->span] |= (uint8_t)((q & 15) << 4 * (in / l->span));
    if (l->high_bits == 0) continue;
    const int whole = l->high_span * 8 / l->high_bits, at = e % whole;
    block[l->high + e / whole * l->high_span + at % l->high_span] |=
        (uint8_t)((q >> 4) << l->high_bits * (at / l->high_span));
  }
}

mica_status mica_block_dequantize(mica_block type, const void *blocks, int64_t count, float *x) {
  const mica__block_layout *layout = mica__block_layout_of(type);
  if (!layout) return mica__fail(MICA_E_INVALID, "dequantize: %d is not a block type", (int)type);
  if (count < 0 || count % layout->elements != 0)
    return mica__fail(
        MICA_E_INVALID,
        "dequantize: the number of elements (%lld) must be 0 or above, and a multiple of %d, the size of a block",
        (long long)count, layout->elements);
  if (count > 0 && (!blocks || !x)) return mica__fail(MICA_E_INVALID, "dequantize: blocks or x is NULL");
  const uint8_t *block = blocks;
  for (int64_t i = 0; i < count; i += layout->elements, block += layout->bytes) mica__block_values(type, block, x + i);
  return MICA_OK;
}

double mica__block_dot(mica_block type, const double *blocks, const double *x, int64_t k) {
  const mica__block_layout *layout = mica__block_layout_of(type);
  double sum = 0;
  for (int64_t at = 0; at < k; at += layout->elements, blocks += layout->bytes) {
    uint8_t block[MICA__BLOCK_MOST];
    float values[MICA__BLOCK_MOST];
    for (int32_t b = 0; b < layout->bytes; b++) block[b] = (uint8_t)blocks[b];
    mica__block_values(type, block, values);
    for (int32_t e = 0; e < layout->elements; e++) sum += x[at + e] * (double)values[e];
  }
  return sum;
}
