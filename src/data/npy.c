/* NumPy's npy: "\x93NUMPY", two bytes of version, the header's length (two bytes in version 1, four later), and a
 * Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } as text. */
#include "base/checked.h"
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>

#define MAX_HEADER 65536

static bool dtype_of(const char *descr, mica_dtype *dtype) {
  static const struct {
    const char *descr;
    mica_dtype dtype;
  } known[] = {{"<f4", MICA_F32}, {"<f8", MICA_F64}, {"<f2", MICA_F16}, {"|u1", MICA_U8},
               {"|i1", MICA_I8},  {"<i2", MICA_I16}, {"<i4", MICA_I32}, {"<i8", MICA_I64},
               {"<u2", MICA_U16}, {"<u4", MICA_U32}, {"<u8", MICA_U64}, {"|b1", MICA_BOOL}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].descr, descr)) {
      *dtype = known[i].dtype;
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

static mica_status parse_header(const char *name, const char *header, mica__array *array) {
  char descr[16] = "";
  const char *type = value_of(header, "descr"), *order = value_of(header, "fortran_order");
  if (!type || sscanf(type, "'%15[^']'", descr) != 1 || !order)
    return mica__fail(MICA_E_FORMAT, "%s: its header is no npy header", name);
  if (!dtype_of(descr, &array->dtype))
    return mica__fail(MICA_E_FORMAT, "%s holds elements of type %s, which are not read", name, descr);
  if (strncmp(order, "False", 5))
    return mica__fail(MICA_E_FORMAT, "%s is in Fortran's order; numpy.ascontiguousarray makes it C's", name);
  if (!parse_shape(value_of(header, "shape"), &array->shape))
    return mica__fail(MICA_E_FORMAT, "%s: its header has no shape of at most %d dimensions", name, MICA_MAX_RANK);
  return MICA_OK;
}

mica_status mica__npy_parse(const char *name, uint8_t *content, size_t size, mica__array *array) {
  mica__array found = {0};
  char header[MAX_HEADER + 1];
  if (size < 12 || memcmp(content, "\x93NUMPY", 6)) return mica__fail(MICA_E_FORMAT, "%s is no npy file", name);
  size_t prefix = content[6] == 1 ? 10 : 12;
  size_t length = (size_t)content[8] | (size_t)content[9] << 8;
  if (content[6] > 1) length |= (size_t)content[10] << 16 | (size_t)content[11] << 24;
  if (length > size - prefix) return mica__fail(MICA_E_FORMAT, "%s is truncated in its header", name);
  if (length > MAX_HEADER) return mica__fail(MICA_E_FORMAT, "%s: a header of %zu bytes", name, length);
  memcpy(header, content + prefix, length);
  header[length] = '\0';
  MICA_TRY(parse_header(name, header, &found));
  size_t bytes = mica_dtype_size(found.dtype), have = size - prefix - length;
  bool fits = true;
  for (int32_t i = 0; i < found.shape.rank; i++)
    fits =
        fits && (uint64_t)found.shape.dim[i] <= SIZE_MAX && mica__mul_size(bytes, (size_t)found.shape.dim[i], &bytes);
  if (!fits || bytes > have) {
    char text[MICA_SHAPE_TEXT];
    return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes of data for %s %s", name, have,
                      mica_dtype_name(found.dtype), mica_shape_format(found.shape, text));
  }
  found.elements = mica__elements_align(content, prefix + length, bytes);
  *array = found;
  return MICA_OK;
}
