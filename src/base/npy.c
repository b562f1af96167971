#include "base/npy.h"

#include "base/checked.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_HEADER 65536

static const struct {
  const char *descr;
  mica_dtype dtype;
} types[] = {{"<f4", MICA_F32}, {"<f8", MICA_F64}, {"<f2", MICA_F16}, {"|u1", MICA_U8},
             {"|i1", MICA_I8},  {"<i2", MICA_I16}, {"<i4", MICA_I32}, {"<i8", MICA_I64},
             {"<u2", MICA_U16}, {"<u4", MICA_U32}, {"<u8", MICA_U64}, {"|b1", MICA_BOOL}};
#define TYPES (sizeof types / sizeof *types)

static bool dtype_of(const char *descr, mica_dtype *dtype) {
  for (size_t i = 0; i < TYPES; i++)
    if (!strcmp(types[i].descr, descr)) {
      *dtype = types[i].dtype;
      return true;
    }
  return false;
}

/* The text after 'key': in the header and after blanks; NULL if the key is absent. */
static const char *value_of(const char *header, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char *at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  return at + strspn(at, " ");
}

/* Parses "(3, 4)", "(3,)" or "()". */
static bool parse_shape(const char *at, mica_shape *shape) {
  if (!at || *at++ != '(') return false;
  for (;;) {
    at += strspn(at, " ,");
    if (*at == ')') return true;
    if (*at < '0' || *at > '9' || shape->rank == MICA_MAX_RANK) return false;
    int64_t dim = 0;
    for (; *at >= '0' && *at <= '9'; at++)
      if (!mica__mul_i64(dim, 10, &dim) || __builtin_add_overflow(dim, *at - '0', &dim)) return false;
    shape->dim[shape->rank++] = dim;
  }
}

static mica_status parse_text(const char *name, const char *header, mica__npy *npy) {
  char descr[16] = "";
  const char *type = value_of(header, "descr"), *order = value_of(header, "fortran_order");
  if (!type || sscanf(type, "'%15[^']'", descr) != 1 || !order)
    return mica__fail(MICA_E_FORMAT, "%s: its header is no npy header", name);
  if (!dtype_of(descr, &npy->dtype))
    return mica__fail(MICA_E_FORMAT, "%s holds elements of type %s, which are not read", name, descr);
  if (strncmp(order, "False", 5))
    return mica__fail(MICA_E_FORMAT, "%s is in Fortran's order; numpy.ascontiguousarray makes it C's", name);
  if (!parse_shape(value_of(header, "shape"), &npy->shape))
    return mica__fail(MICA_E_FORMAT, "%s: its header has no shape of at most %d dimensions", name, MICA_MAX_RANK);
  return MICA_OK;
}

mica_status mica__npy_parse_header(const char *name, const void *content, size_t size, mica__npy *npy) {
  const uint8_t *data = content;
  mica__npy found = {0};
  char header[MAX_HEADER + 1];
  if (size < 12 || memcmp(data, "\x93NUMPY", 6)) return mica__fail(MICA_E_FORMAT, "%s is no npy file", name);
  size_t prefix = data[6] == 1 ? 10 : 12;
  size_t length = (size_t)data[8] | (size_t)data[9] << 8;
  if (data[6] > 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
  if (length > size - prefix) return mica__fail(MICA_E_FORMAT, "%s is truncated in its header", name);
  if (length > MAX_HEADER) return mica__fail(MICA_E_FORMAT, "%s: a header of %zu bytes", name, length);
  memcpy(header, data + prefix, length);
  header[length] = '\0';
  MICA_TRY(parse_text(name, header, &found));
  size_t have = size - prefix - length;
  bool fits = true;
  found.bytes = mica_dtype_size(found.dtype);
  for (int32_t i = 0; i < found.shape.rank; i++)
    fits = fits && (uint64_t)found.shape.dim[i] <= SIZE_MAX &&
           mica__mul_size(found.bytes, (size_t)found.shape.dim[i], &found.bytes);
  if (!fits || found.bytes > have) {
    char text[MICA_SHAPE_TEXT];
    return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes of data for %s %s", name, have,
                      mica_dtype_name(found.dtype), mica_shape_format(found.shape, text));
  }
  found.offset = prefix + length;
  *npy = found;
  return MICA_OK;
}

mica_status mica__npy_format_header(mica_dtype dtype, mica_shape shape, char header[MICA__NPY_HEADER], size_t *bytes) {
  const char *descr = NULL;
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].dtype == dtype) descr = types[i].descr;
  if (!descr) return mica__fail(MICA_E_DTYPE, "npy files have no type for %s; cast it to f32", mica_dtype_name(dtype));
  char text[MICA__NPY_HEADER];
  int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int32_t i = 0; i < shape.rank; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, i == 1 || shape.rank > 1 ? "%lld%s" : "%lld,%s",
                  (long long)shape.dim[i], i + 1 < shape.rank ? ", " : "");
  n += snprintf(text + n, sizeof text - (size_t)n, "), }");
  /* Blanks and a line feed fill it up to a multiple of 64, so that the elements may be mapped. */
  size_t whole = ((size_t)n + 10 + 1 + 63) / 64 * 64, length = whole - 10;
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)(length & 255);
  header[9] = (char)(length >> 8);
  memcpy(header + 10, text, (size_t)n);
  memset(header + 10 + n, ' ', length - (size_t)n);
  header[whole - 1] = '\n';
  *bytes = whole;
  return MICA_OK;
}
