/* Initial values of parameters. They are made on the host and depend only on the configuration, the shape, the seed and
 * the element. */
#include "nn/init.h"

#include "base/checked.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI 6.283185307179586

const char *mica_init_name(mica_init kind) {
  static const char *const names[] = {
#define INIT_NAME(name, text) text,
      MICA_INIT_LIST(INIT_NAME)};
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* A stream of random numbers: Philox of the seed; `at` is the next block. */
typedef struct stream {
  uint64_t seed, at;
  uint32_t words[4];
  int used;
} stream;

static uint32_t next_word(stream *s) {
  if (s->used == 0) {
    s->words[0] = (uint32_t)s->at;
    s->words[1] = (uint32_t)(s->at >> 32);
    s->words[2] = s->words[3] = 0;
    mica__philox(s->words, (uint32_t)s->seed, (uint32_t)(s->seed >> 32));
    s->at++;
  }
  uint32_t word = s->words[s->used];
  s->used = (s->used + 1) % 4;
  return word;
}

/* Uniform in [0, 1). */
static double uniform(stream *s) { return (double)next_word(s) * 0x1p-32; }

/* Standard normal, by Box and Muller. */
static double normal(stream *s) {
  double radius = sqrt(-2 * log(uniform(s) + 0x1p-33));
  return radius * cos(TWO_PI * uniform(s));
}

static double truncated_normal(stream *s) {
  double z = normal(s);
  while (fabs(z) > 2) z = normal(s);
  return z;
}

/* Makes the rows of a (n elements each, rows <= n) orthonormal by the Gram-Schmidt method. Each row is orthogonalised
 * twice, because one pass leaves rounding errors, which are larger the more parallel the rows are. */
static void orthogonalise(double *a, size_t rows, size_t n) {
  for (size_t i = 0; i < rows; i++) {
    double *row = a + i * n, square = 0;
    for (int again = 0; again < 2; again++)
      for (size_t j = 0; j < i; j++) {
        double dot = 0;
        for (size_t k = 0; k < n; k++) dot += row[k] * a[j * n + k];
        for (size_t k = 0; k < n; k++) row[k] -= dot * a[j * n + k];
      }
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of a is filled. */
    for (size_t k = 0; k < n; k++) square += row[k] * row[k];
    for (size_t k = 0; k < n; k++) row[k] /= sqrt(square);
  }
}

static mica_status fill_orthogonal(double gain, mica_shape shape, stream *s, float *data, size_t count) {
  size_t rows = shape.rank > 0 ? (size_t)shape.dim[0] : 1, columns = rows ? count / rows : 0, bytes = 0;
  bool wide = rows <= columns;
  size_t few = wide ? rows : columns, many = wide ? columns : rows;
  if (!mica__mul_size(count, sizeof(double), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "an orthogonal matrix of %zu x %zu elements is too large", rows, columns);
  double *a = malloc(bytes ? bytes : 1);
  if (!a) return mica__fail_nomem("an orthogonal matrix");
  for (size_t i = 0; i < count; i++) a[i] = normal(s);
  orthogonalise(a, few, many);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < columns; k++)
      data[i * columns + k] = (float)(gain * (wide ? a[i * many + k] : a[k * many + i]));
  free(a);
  return MICA_OK;
}

/* fan-out is dim[0], and fan-in is dim[1], each times the product of all further dimensions; a missing dimension counts
 * as 1. init->fan_in, if set, replaces this fan-in. */
static void fans(const mica_init_config *init, mica_shape shape, double *in, double *out) {
  double window = 1;
  for (int32_t i = 2; i < shape.rank; i++) window *= (double)shape.dim[i];
  *in = init->fan_in ? (double)init->fan_in : shape.rank > 1 ? (double)shape.dim[1] * window : 1;
  *out = shape.rank > 0 ? (double)shape.dim[0] * window : 1;
}

static double deviation_of(const mica_init_config *init, mica_shape shape) {
  double in, out, gain = init->value == 0 ? 1 : init->value;
  fans(init, shape, &in, &out);
  switch (init->kind) {
  case MICA_INIT_KAIMING_UNIFORM:
  case MICA_INIT_KAIMING_NORMAL: return gain / sqrt(init->fan_out ? out : in);
  case MICA_INIT_XAVIER_UNIFORM:
  case MICA_INIT_XAVIER_NORMAL: return gain * sqrt(2 / (in + out));
  case MICA_INIT_UNIFORM: return init->value / sqrt(3);
  default: return init->value;
  }
}

mica_status mica__init_fill(const mica_init_config *init, mica_shape shape, uint64_t seed, float *data, size_t count) {
  stream s = {.seed = seed};
  double deviation = deviation_of(init, shape);
  switch (init->kind) {
  case MICA_INIT_DEFAULT:
  case MICA_INIT_CONSTANT:
    for (size_t i = 0; i < count; i++) data[i] = (float)init->value;
    return MICA_OK;
  case MICA_INIT_UNIFORM:
  case MICA_INIT_KAIMING_UNIFORM:
  case MICA_INIT_XAVIER_UNIFORM:
    for (size_t i = 0; i < count; i++) data[i] = (float)(sqrt(3) * deviation * (2 * uniform(&s) - 1));
    return MICA_OK;
  case MICA_INIT_NORMAL:
  case MICA_INIT_KAIMING_NORMAL:
  case MICA_INIT_XAVIER_NORMAL:
    for (size_t i = 0; i < count; i++) data[i] = (float)(deviation * normal(&s));
    return MICA_OK;
  case MICA_INIT_TRUNCATED_NORMAL:
    for (size_t i = 0; i < count; i++) data[i] = (float)(deviation * truncated_normal(&s));
    return MICA_OK;
  case MICA_INIT_ORTHOGONAL: return fill_orthogonal(init->value == 0 ? 1 : init->value, shape, &s, data, count);
  }
  return mica__fail(MICA_E_INVALID, "%d is not an initialiser", (int)init->kind);
}
