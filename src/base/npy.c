#include "base/npy.h"

#include "base/byte_order.h"
#include "base/checked.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_HEADER (MICA__NPY_BEGIN - 12)

static const struct {
  const char *name; /* after the byte order: <, >, or | for single bytes */
  mica_dtype dtype;
} types[] = {{"f4", MICA_F32}, {"f8", MICA_F64}, {"f2", MICA_F16}, {"u1", MICA_U8},
             {"i1", MICA_I8},  {"i2", MICA_I16}, {"i4", MICA_I32}, {"i8", MICA_I64},
             {"u2", MICA_U16}, {"u4", MICA_U32}, {"u8", MICA_U64}, {"b1", MICA_BOOL}};
#define TYPES (sizeof types / sizeof *types)

static bool take_type(const char *descr, mica__npy *npy) {
  for (size_t i = 0; i < TYPES; i++) {
    if (!*descr || strcmp(types[i].name, descr + 1) != 0) continue;
    npy->dtype = types[i].dtype;
    npy->big_endian = *descr == '>';
    return *descr == '|' ? mica_dtype_size(npy->dtype) == 1 : *descr == '<' || *descr == '>';
  }
  return false;
}

/* --- the dictionary: its keys in any order; strings, truth values and tuples of integers as Python writes them --- */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Copies a quoted string without escapes, shorter than `room`, into out; returns the text after it, or NULL. */
static const char *parse_string(const char *at, char *out, size_t room) {
  const char quote = *at++;
  const char *end = quote == '\'' || quote == '"' ? strchr(at, quote) : NULL;
  if (!end || (size_t)(end - at) >= room || memchr(at, '\\', (size_t)(end - at))) return NULL;
  memcpy(out, at, (size_t)(end - at));
  out[end - at] = '\0';
  return end + 1;
}

/* Parses "(3, 4)", "(3,)" or "()", also Python 2's "(3L, 4L)"; returns the text after it, or NULL. */
static const char *parse_shape(const char *at, mica_shape *shape) {
  if (*at++ != '(') return NULL;
  for (at = skip_blanks(at); *at != ')'; at = skip_blanks(at)) {
    int64_t dim = 0;
    if (*at < '0' || *at > '9' || shape->rank == MICA_MAX_RANK) return NULL;
    for (; *at >= '0' && *at <= '9'; at++)
      if (!mica__mul_i64(dim, 10, &dim) || __builtin_add_overflow(dim, *at - '0', &dim)) return NULL;
    shape->dim[shape->rank++] = dim;
    at = skip_blanks(at + (*at == 'L'));
    if (*at == ',')
      at++;
    else if (*at != ')' || shape->rank == 1) /* (3) is not a tuple */
      return NULL;
  }
  return at + 1;
}

enum { DESCR, ORDER, SHAPE, KEYS };
static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};

/* Parses the value of a key and advances *at past it. */
static mica_status parse_value(const char *name, int key, const char **at, mica__npy *npy) {
  char descr[16] = "";
  if (key == SHAPE) {
    *at = parse_shape(*at, &npy->shape);
    if (!*at)
      return mica__fail(MICA_E_FORMAT, "%s: the header has no valid shape (at most %d dimensions)", name,
                        MICA_MAX_RANK);
  } else if (key == ORDER) {
    if (!strncmp(*at, "True", 4))
      return mica__fail(MICA_E_FORMAT, "%s is in Fortran order; save numpy.ascontiguousarray(x) instead", name);
    *at = strncmp(*at, "False", 5) ? NULL : *at + 5;
    if (!*at) return mica__fail(MICA_E_FORMAT, "%s: fortran_order in its header must be True or False", name);
  } else {
    const char *end = parse_string(*at, descr, sizeof descr);
    if (!end)
      return mica__fail(MICA_E_FORMAT,
                        "%s: 'descr' in its header is not the name of a type such as '<f4'; save each field of a "
                        "structured array in its own file",
                        name);
    if (!take_type(descr, npy))
      return mica__fail(MICA_E_FORMAT,
                        "%s has elements of type %.*s, which Mica does not read; convert them, as with x.astype('<f4')",
                        name, (int)(end - *at), *at);
    *at = end;
  }
  return MICA_OK;
}

/* Parses one "'key': value" and its comma. */
static mica_status parse_item(const char *name, const char **at, bool seen[KEYS], mica__npy *npy) {
  char text[32] = "";
  int key = 0;
  const char *end = parse_string(*at, text, sizeof text);
  end = end ? skip_blanks(end) : "";
  if (*end != ':') return mica__fail(MICA_E_FORMAT, "%s: its header is not an npy header", name);
  while (key < KEYS && strcmp(keys[key], text) != 0) key++;
  if (key == KEYS || seen[key])
    return mica__fail(MICA_E_FORMAT, "%s: its header has %s '%s'", name,
                      key == KEYS ? "the unknown key" : "two values of", text);
  seen[key] = true;
  *at = skip_blanks(end + 1);
  MICA_TRY(parse_value(name, key, at, npy));
  *at = skip_blanks(*at);
  if (**at == ',')
    *at = skip_blanks(*at + 1);
  else if (**at != '}')
    return mica__fail(MICA_E_FORMAT, "%s: its header has neither a comma nor '}' after the value of '%s'", name, text);
  return MICA_OK;
}

static mica_status parse_text(const char *name, const char *header, size_t length, mica__npy *npy) {
  bool seen[KEYS] = {false};
  const char *at = skip_blanks(header);
  if (*at != '{' || strlen(header) != length)
    return mica__fail(MICA_E_FORMAT, "%s: its header is not an npy header", name);
  for (at = skip_blanks(at + 1); *at != '}';) MICA_TRY(parse_item(name, &at, seen, npy));
  for (int key = 0; key < KEYS; key++)
    if (!seen[key]) return mica__fail(MICA_E_FORMAT, "%s: its header has no '%s'", name, keys[key]);
  if (*skip_blanks(at + 1)) return mica__fail(MICA_E_FORMAT, "%s: its header goes on after its dictionary", name);
  return MICA_OK;
}

/* --- the file --- */

/* Computes npy->bytes and checks it against the bytes of the file after the header. */
static mica_status check_bytes(const char *name, uint64_t rest, mica__npy *npy) {
  char text[MICA_SHAPE_TEXT];
  bool fits = true;
  npy->bytes = mica_dtype_size(npy->dtype);
  /* Check for zeros first: (2^40, 2^40, 0) has no elements, so its product must not count as an overflow. */
  for (int32_t i = 0; i < npy->shape.rank; i++)
    if (npy->shape.dim[i] == 0) npy->bytes = 0;
  for (int32_t i = 0; i < npy->shape.rank; i++)
    fits = fits && (uint64_t)npy->shape.dim[i] <= SIZE_MAX &&
           mica__mul_size(npy->bytes, (uint64_t)npy->shape.dim[i], &npy->bytes);
  if (!fits || npy->bytes > rest)
    return mica__fail(MICA_E_FORMAT, "%s is truncated: it has %" PRIu64 " bytes of data, too few for %s %s", name, rest,
                      mica_dtype_name(npy->dtype), mica_shape_format(npy->shape, text));
  if (npy->bytes < rest)
    return mica__fail(MICA_E_FORMAT, "%s has %" PRIu64 " bytes more than its %s %s needs", name, rest - npy->bytes,
                      mica_dtype_name(npy->dtype), mica_shape_format(npy->shape, text));
  return MICA_OK;
}

static mica_status check_bools(const char *name, const uint8_t *data, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (data[i] > 1)
      return mica__fail(MICA_E_FORMAT, "%s: element %zu is %d, but a bool must be 0 or 1", name, i, data[i]);
  return MICA_OK;
}

mica_status mica__npy_parse_begin(const char *name, const void *begin, size_t have, uint64_t size, mica__npy *npy) {
  const uint8_t *data = begin;
  mica__npy found = {0};
  char header[MAX_HEADER + 1];
  if (have > size) have = (size_t)size;
  if (have < 12 || memcmp(data, "\x93NUMPY", 6)) return mica__fail(MICA_E_FORMAT, "%s is not an npy file", name);
  if (data[6] < 1 || data[6] > 3 || data[7] != 0)
    return mica__fail(MICA_E_FORMAT, "%s has version %d.%d of the npy format, but Mica reads only 1.0, 2.0 and 3.0",
                      name, data[6], data[7]);
  size_t prefix = data[6] == 1 ? 10 : 12;
  size_t length = (size_t)data[8] | (size_t)data[9] << 8;
  if (data[6] > 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
  if (length > size - prefix) return mica__fail(MICA_E_FORMAT, "%s is truncated in its header", name);
  if (length > MAX_HEADER)
    return mica__fail(MICA_E_FORMAT, "%s: its header has %zu bytes, but may have at most %d", name, length,
                      (int)MAX_HEADER);
  if (length > have - prefix)
    return mica__fail(MICA_E_STATE, "%s: %zu bytes are too few to parse an npy header", name, have);
  memcpy(header, data + prefix, length);
  header[length] = '\0';
  MICA_TRY(parse_text(name, header, length, &found));
  found.offset = prefix + length;
  MICA_TRY(check_bytes(name, size - found.offset, &found));
  const size_t rest = have - found.offset, there = found.bytes < rest ? found.bytes : rest;
  if (found.dtype == MICA_BOOL) MICA_TRY(check_bools(name, data + found.offset, there));
  *npy = found;
  return MICA_OK;
}

mica_status mica__npy_format_header(mica_dtype dtype, mica_shape shape, char header[MICA__NPY_HEADER], size_t *bytes) {
  const char order = mica_dtype_size(dtype) == 1 ? '|' : MICA__HOST_BIG_ENDIAN ? '>' : '<', *type = NULL;
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].dtype == dtype) type = types[i].name;
  if (!type) return mica__fail(MICA_E_DTYPE, "npy files have no type for %s; cast it to f32", mica_dtype_name(dtype));
  char text[MICA__NPY_HEADER];
  int n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, type);
  for (int32_t i = 0; i < shape.rank; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, i == 1 || shape.rank > 1 ? "%lld%s" : "%lld,%s",
                  (long long)shape.dim[i], i + 1 < shape.rank ? ", " : "");
  n += snprintf(text + n, sizeof text - (size_t)n, "), }");
  /* Blanks and a line feed pad the header to a multiple of 64 bytes, so that the elements are aligned when the file is
   * mapped. */
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
