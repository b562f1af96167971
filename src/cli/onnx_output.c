#include "cli/onnx_output.h"

#include "cli/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIRST 8        /* maximum number of elements to print per output */
#define FEW_IN_JSON 16 /* JSON has "values" of outputs with at most this number of elements */

/* --- elements --- */

static double half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                : exponent == 0 ? ldexp(fraction, -24)
                                : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

static double brain(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return (double)value;
}

/* Element i as f64; i64 and u64 beyond 2^53 are rounded. */
static double element(const cli_onnx_output *o, int64_t i) {
  switch (o->dtype) {
  case MICA_F32: return (double)((const float *)o->data)[i];
  case MICA_F64: return ((const double *)o->data)[i];
  case MICA_F16: return half(((const uint16_t *)o->data)[i]);
  case MICA_BF16: return brain(((const uint16_t *)o->data)[i]);
  case MICA_I8: return ((const int8_t *)o->data)[i];
  case MICA_U8:
  case MICA_BOOL: return ((const uint8_t *)o->data)[i];
  case MICA_I16: return ((const int16_t *)o->data)[i];
  case MICA_U16: return ((const uint16_t *)o->data)[i];
  case MICA_I32: return ((const int32_t *)o->data)[i];
  case MICA_U32: return ((const uint32_t *)o->data)[i];
  case MICA_I64: return (double)((const int64_t *)o->data)[i];
  case MICA_U64: return (double)((const uint64_t *)o->data)[i];
  default: return NAN;
  }
}

static bool is_real(mica_dtype dtype) { return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT; }

/* Formats an element: an integer with all digits, a floating-point number with six significant digits. */
static void format_element(const cli_onnx_output *o, int64_t i, char text[32]) {
  if (o->dtype == MICA_I64)
    snprintf(text, 32, "%" PRId64, ((const int64_t *)o->data)[i]);
  else if (o->dtype == MICA_U64)
    snprintf(text, 32, "%" PRIu64, ((const uint64_t *)o->data)[i]);
  else
    snprintf(text, 32, is_real(o->dtype) ? "%.6g" : "%.0f", element(o, i));
}

const char *cli_onnx_output_text(const cli_onnx_output *o, int64_t i) {
  char text[256];
  const int64_t index = ((const int64_t *)o->data)[i];
  const bool has = index >= 0 && mica_onnx_class_name(o->texts, o->index, (size_t)index, text, sizeof text);
  return cli_clean(has ? text : "?");
}

/* --- whole outputs --- */

/* Statistics of the values that are not NaN. */
typedef struct summary {
  double min, max, mean;
  int64_t count, all; /* count: without NaNs; all: with them */
} summary;

static summary summarize(const cli_onnx_output *o) {
  summary s = {0};
  double sum = 0;
  if (mica_shape_count(o->shape, &s.all) != MICA_OK) s.all = 0;
  for (int64_t i = 0; i < s.all; i++) {
    double x = element(o, i);
    if (isnan(x)) continue;
    if (!s.count || x < s.min) s.min = x;
    if (!s.count || x > s.max) s.max = x;
    sum += x;
    s.count++;
  }
  s.mean = s.count ? sum / (double)s.count : 0;
  return s;
}

static void print_texts(const cli_onnx_output *o) {
  char shape[MICA_SHAPE_TEXT];
  const int64_t count = summarize(o).all;
  printf("%-24s text %s ", o->name, mica_shape_format(o->shape, shape));
  for (int64_t i = 0; i < count && i < FIRST; i++) printf(" %s", cli_onnx_output_text(o, i));
  puts(count > FIRST ? " ..." : "");
}

void cli_onnx_output_print(const cli_onnx_output *o) {
  char shape[MICA_SHAPE_TEXT], text[32];
  if (o->texts) {
    print_texts(o);
    return;
  }
  summary s = summarize(o);
  printf("%-24s %s %s ", o->name, mica_dtype_name(o->dtype), mica_shape_format(o->shape, shape));
  for (int64_t i = 0; i < s.all && i < FIRST; i++) {
    format_element(o, i, text);
    printf(" %s", text);
  }
  if (s.all > FIRST) printf(" ...");
  if (s.all > FIRST && s.count) printf(" (from %.6g to %.6g, mean %.6g)", s.min, s.max, s.mean);
  if (s.all > s.count) printf("; %" PRId64 " of %" PRId64 " are NaN", s.all - s.count, s.all);
  putchar('\n');
}

static void add_element(cli_json *json, cJSON *values, const cli_onnx_output *o, int64_t i) {
  if (o->dtype == MICA_BOOL)
    cli_json_bool(json, values, NULL, element(o, i) != 0);
  else if (o->dtype == MICA_U64 || (!is_real(o->dtype) && element(o, i) >= 0))
    cli_json_integer(json, values, NULL,
                     o->dtype == MICA_U64   ? ((const uint64_t *)o->data)[i]
                     : o->dtype == MICA_I64 ? (uint64_t)((const int64_t *)o->data)[i]
                                            : (uint64_t)element(o, i));
  else
    cli_json_real(json, values, NULL, element(o, i));
}

void cli_onnx_output_add(cli_json *json, cJSON *list, const cli_onnx_output *o) {
  summary s = summarize(o);
  cJSON *one = cli_json_object(json, list, NULL), *shape;
  cli_json_text(json, one, "name", o->name);
  cli_json_text(json, one, "dtype", o->texts ? "text" : mica_dtype_name(o->dtype));
  shape = cli_json_array(json, one, "shape");
  for (int32_t d = 0; d < o->shape.rank; d++) cli_json_integer(json, shape, NULL, (uint64_t)o->shape.dim[d]);
  if (o->texts) {
    cJSON *texts = cli_json_array(json, one, "values");
    for (int64_t i = 0; i < s.all; i++) cli_json_text(json, texts, NULL, cli_onnx_output_text(o, i));
    return;
  }
  cli_json_real(json, one, "min", s.count ? s.min : NAN);
  cli_json_real(json, one, "max", s.count ? s.max : NAN);
  cli_json_real(json, one, "mean", s.count ? s.mean : NAN);
  cli_json_integer(json, one, "nan", (uint64_t)(s.all - s.count));
  if (s.all > FEW_IN_JSON) return;
  cJSON *values = cli_json_array(json, one, "values");
  for (int64_t i = 0; i < s.all; i++) add_element(json, values, o, i);
}
