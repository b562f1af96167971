/* onnx/tensor.h: reads a file's tensor as a Mica array. */
#ifndef MICA_ONNX_TENSOR_H
#define MICA_ONNX_TENSOR_H

#include "onnx/model.h"

#include <mica/shape.h>

/* A tensor's elements in C order, aligned for their type. If the elements were copied, `owned` is the copy. If `owned`
 * is NULL, `data` points into the model or into an external file that mica__external keeps open. */
typedef struct mica__onnx_tensor {
  mica_dtype dtype;
  mica_shape shape;
  int64_t count;
  const void *data;
  void *owned;
} mica__onnx_tensor;

/* Converts an ONNX element type (TensorProto.DataType) to a dtype; false for types that Mica lacks. */
bool mica__onnx_dtype(int32_t type, mica_dtype *dtype);
/* True for uint4 and int4. Their elements are u8 and i8 in Mica, with values that fit 4 bits. */
bool mica__onnx_is_nibble(int32_t type);
/* Converts a dtype to the ONNX element type (TensorProto.DataType); 0 if ONNX has no such type. */
int32_t mica__onnx_type_of(mica_dtype dtype);
/* Returns the name of a type, such as "float8e4m3fn"; "unknown" for other numbers. */
const char *mica__onnx_type_name(int64_t type);

/* Returns the tensor's name for messages; "(no name)" if it has none. */
const char *mica__onnx_tensor_title(const Onnx__TensorProto *proto);

/* Reads only dtype and shape. MICA_E_FORMAT names the tensor and the fault; MICA_E_UNSUPPORTED: Mica lacks the element
 * type or the rank. */
mica_status mica__onnx_tensor_type(const Onnx__TensorProto *proto, mica_dtype *dtype, mica_shape *shape);
/* Reads dtype, shape and elements, from raw bytes, typed fields or external data. Any bool that is not 0 becomes 1. The
 * caller frees the result with mica__onnx_tensor_free. */
mica_status mica__onnx_tensor_read(mica__external *external, const Onnx__TensorProto *proto, mica__onnx_tensor *tensor);
/* Returns the status that mica__onnx_tensor_read would return for the location of external data, without reading them;
 * MICA_OK for other tensors and for element types that Mica lacks. */
mica_status mica__onnx_tensor_check_external(mica__external *external, const Onnx__TensorProto *proto);
/* Reads a sparse tensor as a dense one, which the caller frees with mica__onnx_tensor_free. */
mica_status mica__onnx_sparse_read(mica__external *external, const Onnx__SparseTensorProto *proto,
                                   mica__onnx_tensor *tensor);
/* Reads the single element of a tensor without external data. */
mica_status mica__onnx_tensor_number(const Onnx__TensorProto *proto, mica_dtype *dtype, double *number);
/* Converts f16 and bf16 to f32; other types stay. */
mica_status mica__onnx_tensor_widen(mica__onnx_tensor *tensor);
static inline mica_dtype mica__onnx_widened(mica_dtype dtype) {
  return dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype;
}
void mica__onnx_tensor_free(mica__onnx_tensor *tensor);

/* Converts elements, in place, between little-endian (the byte order of raw and external data) and the host's byte
 * order. */
void mica__onnx_order(mica_dtype dtype, void *elements, size_t bytes);

#endif
