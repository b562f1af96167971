#include "onnx/tensor.h"

#include "base/byte_order.h"
#include "base/element.h"
#include "ir/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- element types --- */

static const struct {
  const char *name;
  int8_t dtype; /* -1: Mica lacks it */
} types[] = {{"undefined", -1},      {"float", MICA_F32},     {"uint8", MICA_U8},
             {"int8", MICA_I8},      {"uint16", MICA_U16},    {"int16", MICA_I16},
             {"int32", MICA_I32},    {"int64", MICA_I64},     {"string", -1},
             {"bool", MICA_BOOL},    {"float16", MICA_F16},   {"double", MICA_F64},
             {"uint32", MICA_U32},   {"uint64", MICA_U64},    {"complex64", -1},
             {"complex128", -1},     {"bfloat16", MICA_BF16}, {"float8e4m3fn", -1},
             {"float8e4m3fnuz", -1}, {"float8e5m2", -1},      {"float8e5m2fnuz", -1},
             {"uint4", MICA_U8},     {"int4", MICA_I8},       {"float4e2m1", -1},
             {"float8e8m0", -1},     {"uint2", -1},           {"int2", -1}};
#define TYPES ((int32_t)(sizeof types / sizeof *types))

bool mica__onnx_dtype(int32_t type, mica_dtype *dtype) {
  if (type < 0 || type >= TYPES || types[type].dtype < 0) return false;
  *dtype = (mica_dtype)types[type].dtype;
  return true;
}

bool mica__onnx_is_nibble(int32_t type) {
  enum { UINT4 = 21, INT4 = 22 };
  return type == UINT4 || type == INT4;
}

int32_t mica__onnx_type_of(mica_dtype dtype) {
  for (int32_t i = 0; i < TYPES; i++)
    if (types[i].dtype == (int8_t)dtype) return i;
  return 0;
}

const char *mica__onnx_type_name(int64_t type) { return type >= 0 && type < TYPES ? types[type].name : "unknown"; }

/* --- shapes --- */

const char *mica__onnx_tensor_title(const Onnx__TensorProto *proto) {
  const char *name = mica__onnx_text(proto->name);
  return *name ? name : "(no name)";
}

static mica_status shape_of(const char *name, const int64_t *dims, size_t rank, mica_dtype dtype, mica_shape *shape,
                            int64_t *count) {
  if (rank > MICA_MAX_RANK)
    return mica__fail(MICA_E_UNSUPPORTED, "tensor '%.80s' has %zu dimensions, but at most %d are supported", name, rank,
                      MICA_MAX_RANK);
  *shape = (mica_shape){.rank = (int32_t)rank};
  for (size_t i = 0; i < rank; i++) shape->dim[i] = dims[i];
  for (size_t i = 0; i < rank; i++)
    if (dims[i] < 0)
      return mica__fail(MICA_E_FORMAT, "tensor '%.80s': dimension %zu is %lld, but must be 0 or above", name, i,
                        (long long)dims[i]);
  char text[MICA_SHAPE_TEXT];
  if (mica__type_check((mica__type){dtype, *shape}) != MICA_OK || mica_shape_count(*shape, count) != MICA_OK)
    return mica__fail(MICA_E_FORMAT, "tensor '%.80s' is %s %s, which is too large; its bytes must be fewer than 2^63",
                      name, mica_dtype_name(dtype), mica_shape_format(*shape, text));
  return MICA_OK;
}

mica_status mica__onnx_tensor_type(const Onnx__TensorProto *proto, mica_dtype *dtype, mica_shape *shape) {
  int64_t count = 0;
  if (!mica__onnx_dtype(proto->data_type, dtype))
    return mica__fail(MICA_E_UNSUPPORTED, "tensor '%.80s' has elements of type %s (%d); this type is not supported",
                      mica__onnx_tensor_title(proto), mica__onnx_type_name(proto->data_type), (int)proto->data_type);
  return shape_of(mica__onnx_tensor_title(proto), proto->dims, proto->n_dims, *dtype, shape, &count);
}

/* --- elements --- */

static mica_status wrong_count(const Onnx__TensorProto *proto, const mica__onnx_tensor *t, const char *what,
                               size_t have, size_t want) {
  char text[MICA_SHAPE_TEXT];
  return mica__fail(MICA_E_FORMAT, "tensor '%.80s' is %s %s, but has %zu %s instead of %zu",
                    mica__onnx_tensor_title(proto), mica_dtype_name(t->dtype), mica_shape_format(t->shape, text), have,
                    what, want);
}

void mica__onnx_order(mica_dtype dtype, void *elements, size_t bytes) {
  const size_t width = mica_dtype_size(dtype);
  mica__bytes_from_file(false, elements, bytes / width, width);
}

/* The bytes of the elements in a file; two 4-bit elements share a byte. */
static size_t bytes_in_file(const Onnx__TensorProto *proto, const mica__onnx_tensor *t) {
  if (mica__onnx_is_nibble(proto->data_type)) return (size_t)(t->count / 2 + t->count % 2);
  return (size_t)t->count * mica_dtype_size(t->dtype);
}

/* Unpacks 4-bit elements to bytes; the first of two is in the low bits. */
static mica_status take_nibbles(const unsigned char *bytes, mica__onnx_tensor *t) {
  unsigned char *own = malloc((size_t)t->count + 1);
  if (!own) return mica__fail_nomem("a tensor");
  for (int64_t i = 0; i < t->count; i++) {
    const unsigned nibble = bytes[i / 2] >> (i % 2 ? 4 : 0) & 15u;
    own[i] = (unsigned char)(t->dtype == MICA_I8 && nibble > 7 ? nibble | 0xf0u : nibble);
  }
  t->data = t->owned = own;
  return MICA_OK;
}

/* Uses bytes as elements: in place if their alignment and the host's byte order allow it, else as a copy. Bools are
 * always copied, and 4-bit elements unpacked. */
static mica_status take_bytes(const Onnx__TensorProto *proto, const unsigned char *data, size_t bytes,
                              mica__onnx_tensor *t) {
  size_t size = mica_dtype_size(t->dtype), want = bytes_in_file(proto, t);
  if (bytes != want) return wrong_count(proto, t, "bytes", bytes, want);
  if (mica__onnx_is_nibble(proto->data_type)) return take_nibbles(data, t);
  t->data = data ? (const void *)data : "";
  const bool ordered = !MICA__HOST_BIG_ENDIAN || size == 1;
  if (ordered && (uintptr_t)data % size == 0 && t->dtype != MICA_BOOL) return MICA_OK;
  t->owned = malloc(want + 1);
  if (!t->owned) return mica__fail_nomem("a tensor");
  unsigned char *own = t->owned;
  if (want) memcpy(own, data, want);
  mica__onnx_order(t->dtype, own, want);
  for (size_t i = 0; t->dtype == MICA_BOOL && i < want; i++) own[i] = own[i] != 0;
  t->data = own;
  return MICA_OK;
}

/* Unpacks 4-bit elements from int32_data. Each number of that list holds two of them. */
static mica_status take_nibble_list(const Onnx__TensorProto *proto, mica__onnx_tensor *t) {
  const size_t bytes = bytes_in_file(proto, t);
  if (proto->n_int32_data != bytes) return wrong_count(proto, t, "pairs of 4-bit elements", proto->n_int32_data, bytes);
  unsigned char *packed = malloc(bytes + 1);
  if (!packed) return mica__fail_nomem("a tensor");
  for (size_t i = 0; i < bytes; i++) packed[i] = (unsigned char)proto->int32_data[i];
  const mica_status status = take_nibbles(packed, t);
  free(packed);
  return status;
}

static mica_status take_typed(const Onnx__TensorProto *proto, mica__onnx_tensor *t) {
  size_t count = (size_t)t->count, size = mica_dtype_size(t->dtype), have = 0;
  switch (t->dtype) {
  case MICA_F32: have = proto->n_float_data; break;
  case MICA_F64: have = proto->n_double_data; break;
  case MICA_I64: have = proto->n_int64_data; break;
  case MICA_U32:
  case MICA_U64: have = proto->n_uint64_data; break;
  default: have = proto->n_int32_data; break;
  }
  if (mica__onnx_is_nibble(proto->data_type)) return take_nibble_list(proto, t);
  if (have != count) return wrong_count(proto, t, "elements", have, count);
  t->owned = malloc(count * size + 1);
  if (!t->owned) return mica__fail_nomem("a tensor");
  t->data = t->owned;
  for (size_t i = 0; i < count; i++) {
    void *element = (unsigned char *)t->owned + i * size;
    switch (t->dtype) {
    case MICA_F32: memcpy(element, &proto->float_data[i], size); break;
    case MICA_F64: memcpy(element, &proto->double_data[i], size); break;
    case MICA_I64: memcpy(element, &proto->int64_data[i], size); break;
    case MICA_U64: memcpy(element, &proto->uint64_data[i], size); break;
    case MICA_U32: *(uint32_t *)element = (uint32_t)proto->uint64_data[i]; break;
    case MICA_I32: *(int32_t *)element = proto->int32_data[i]; break;
    case MICA_BOOL: *(uint8_t *)element = proto->int32_data[i] != 0; break;
    default: /* types of 8 and 16 bits: the low bits of each number; f16 and bf16 are stored there as bit patterns */
      if (size == 1)
        *(uint8_t *)element = (uint8_t)proto->int32_data[i];
      else
        *(uint16_t *)element = (uint16_t)proto->int32_data[i];
    }
  }
  return MICA_OK;
}

/* Parses a number that consists of decimal digits only. */
static bool parse_number(const char *text, uint64_t *number) {
  *number = 0;
  if (!*text) return false;
  for (; *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number))
      return false;
  return !*text;
}

/* Finds and checks a tensor's bytes in its external file. If the tensor has no elements, *bytes is 0 and the file is
 * not opened. */
static mica_status find_external(mica__external *external, const Onnx__TensorProto *proto, const mica__onnx_tensor *t,
                                 const unsigned char **data, size_t *bytes) {
  const char *location = NULL, *wrong = NULL, *word = NULL;
  uint64_t offset = 0, length = bytes_in_file(proto, t), given = length;
  for (size_t i = 0; i < proto->n_external_data; i++) {
    const char *key = mica__onnx_text(proto->external_data[i]->key);
    const char *value = mica__onnx_text(proto->external_data[i]->value);
    bool right = true;
    if (!strcmp(key, "location")) location = value;
    if (!strcmp(key, "offset")) right = parse_number(value, &offset);
    if (!strcmp(key, "length")) right = parse_number(value, &given);
    if (!right && !wrong) wrong = key, word = value;
  }
  if (!location || !*location)
    return mica__fail(MICA_E_FORMAT, "tensor '%.80s': its external data has no location",
                      mica__onnx_tensor_title(proto));
  if (wrong)
    return mica__fail(
        MICA_E_FORMAT,
        "tensor '%.80s': external data in '%.200s' has the %s '%.40s', but it must be a whole number below 2^64",
        mica__onnx_tensor_title(proto), location, wrong, word);
  char text[MICA_SHAPE_TEXT];
  if (given != length)
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%.80s' is %s %s, of %llu bytes, but has %llu bytes of external data in '%.200s'",
                      mica__onnx_tensor_title(proto), mica_dtype_name(t->dtype), mica_shape_format(t->shape, text),
                      (unsigned long long)length, (unsigned long long)given, location);
  *data = (const unsigned char *)"";
  *bytes = 0;
  return length ? mica__external_bytes(external, mica__onnx_tensor_title(proto), location, offset, length, data, bytes)
                : MICA_OK;
}

static mica_status take_external(mica__external *external, const Onnx__TensorProto *proto, mica__onnx_tensor *t) {
  const unsigned char *data = NULL;
  size_t bytes = 0;
  MICA_TRY(find_external(external, proto, t, &data, &bytes));
  return take_bytes(proto, data, bytes, t);
}

mica_status mica__onnx_tensor_check_external(mica__external *external, const Onnx__TensorProto *proto) {
  mica__onnx_tensor t = {0};
  const unsigned char *data = NULL;
  size_t bytes = 0;
  if (!proto || proto->data_location != 1 || !mica__onnx_dtype(proto->data_type, &t.dtype)) return MICA_OK;
  MICA_TRY(mica__onnx_tensor_type(proto, &t.dtype, &t.shape));
  MICA_TRY(mica_shape_count(t.shape, &t.count));
  return find_external(external, proto, &t, &data, &bytes);
}

mica_status mica__onnx_tensor_read(mica__external *external, const Onnx__TensorProto *proto, mica__onnx_tensor *out) {
  mica__onnx_tensor t = {0};
  MICA_TRY(mica__onnx_tensor_type(proto, &t.dtype, &t.shape));
  MICA_TRY(mica_shape_count(t.shape, &t.count));
  bool raw = proto->has_raw_data && (proto->raw_data.len || !t.count);
  mica_status status = proto->data_location == 1 ? take_external(external, proto, &t)
                       : raw                     ? take_bytes(proto, proto->raw_data.data, proto->raw_data.len, &t)
                                                 : take_typed(proto, &t);
  if (status == MICA_OK)
    *out = t;
  else
    free(t.owned);
  return status;
}

mica_status mica__onnx_tensor_number(const Onnx__TensorProto *proto, mica_dtype *dtype, double *number) {
  mica__external none = {0};
  mica__onnx_tensor tensor = {0};
  MICA_TRY(mica__onnx_tensor_read(&none, proto, &tensor));
  mica_status status = tensor.count == 1 ? MICA_OK : wrong_count(proto, &tensor, "elements", (size_t)tensor.count, 1);
  if (status == MICA_OK) *number = mica__element_get(tensor.dtype, tensor.data, 0);
  *dtype = tensor.dtype;
  mica__onnx_tensor_free(&tensor);
  return status;
}

mica_status mica__onnx_tensor_widen(mica__onnx_tensor *tensor) {
  if (mica__onnx_widened(tensor->dtype) == tensor->dtype) return MICA_OK;
  float *wide = malloc((size_t)tensor->count * sizeof *wide + 1);
  if (!wide) return mica__fail_nomem("a tensor");
  for (int64_t i = 0; i < tensor->count; i++) wide[i] = (float)mica__element_get(tensor->dtype, tensor->data, i);
  free(tensor->owned);
  tensor->dtype = MICA_F32;
  tensor->data = tensor->owned = wide;
  return MICA_OK;
}

void mica__onnx_tensor_free(mica__onnx_tensor *tensor) {
  free(tensor->owned);
  *tensor = (mica__onnx_tensor){0};
}

/* --- sparse tensors --- */

/* Limit on the elements of the dense tensor to which a sparse tensor is expanded. */
#define MOST_DENSE (1 << 26)

/* The dense offset of element i; -1 if an index is out of range. */
static int64_t position_of(const mica__onnx_tensor *indices, mica_shape dense, int64_t count, int64_t i) {
  const int64_t *index = indices->data;
  if (indices->shape.rank == 1) return index[i] >= 0 && index[i] < count ? index[i] : -1;
  int64_t position = 0;
  for (int32_t k = 0; k < dense.rank; k++) {
    int64_t at = index[i * dense.rank + k];
    if (at < 0 || at >= dense.dim[k]) return -1;
    position = position * dense.dim[k] + at;
  }
  return position;
}

static mica_status scatter(const Onnx__SparseTensorProto *proto, const mica__onnx_tensor *values,
                           const mica__onnx_tensor *indices, mica__onnx_tensor *t) {
  const char *name = mica__onnx_tensor_title(proto->values);
  size_t size = mica_dtype_size(values->dtype);
  int32_t rank = indices->shape.rank;
  bool fits = indices->dtype == MICA_I64 && values->shape.rank == 1 &&
              (rank == 1 || (rank == 2 && indices->shape.dim[1] == (int64_t)proto->n_dims)) &&
              indices->shape.dim[0] == values->count;
  char of_values[MICA_SHAPE_TEXT], of_indices[MICA_SHAPE_TEXT];
  if (!fits)
    return mica__fail(
        MICA_E_FORMAT,
        "sparse tensor '%.80s' has values of shape %s and indices that are %s %s; for values of shape (n), "
        "the indices must be i64 (n) or (n, %zu)",
        name, mica_shape_format(values->shape, of_values), mica_dtype_name(indices->dtype),
        mica_shape_format(indices->shape, of_indices), proto->n_dims);
  t->dtype = values->dtype;
  MICA_TRY(shape_of(name, proto->dims, proto->n_dims, t->dtype, &t->shape, &t->count));
  if (t->count > MOST_DENSE)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "sparse tensor '%.80s' stands for %lld elements, but at most %d are supported", name,
                      (long long)t->count, MOST_DENSE);
  t->owned = calloc((size_t)t->count + 1, size);
  if (!t->owned) return mica__fail_nomem("a sparse tensor");
  t->data = t->owned;
  for (int64_t i = 0; i < values->count; i++) {
    int64_t position = position_of(indices, t->shape, t->count, i);
    if (position < 0)
      return mica__fail(MICA_E_FORMAT,
                        "sparse tensor '%.80s': the index of value %lld (from 0) is outside the shape %s", name,
                        (long long)i, mica_shape_format(t->shape, of_values));
    memcpy((unsigned char *)t->owned + (size_t)position * size, (const unsigned char *)values->data + (size_t)i * size,
           size);
  }
  return MICA_OK;
}

mica_status mica__onnx_sparse_read(mica__external *external, const Onnx__SparseTensorProto *proto,
                                   mica__onnx_tensor *out) {
  mica__onnx_tensor values = {0}, indices = {0}, dense = {0};
  if (!proto->values) return mica__fail(MICA_E_FORMAT, "a sparse tensor has no values");
  if (!proto->indices)
    return mica__fail(MICA_E_FORMAT, "sparse tensor '%.80s' has no indices", mica__onnx_tensor_title(proto->values));
  mica_status status = mica__onnx_tensor_read(external, proto->values, &values);
  if (status == MICA_OK) status = mica__onnx_tensor_read(external, proto->indices, &indices);
  if (status == MICA_OK) status = scatter(proto, &values, &indices, &dense);
  mica__onnx_tensor_free(&values);
  mica__onnx_tensor_free(&indices);
  if (status == MICA_OK)
    *out = dense;
  else
    mica__onnx_tensor_free(&dense);
  return status;
}
