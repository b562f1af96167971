/* onnx/tensor.h: a tensor of a file as a Mica array. */
#ifndef MICA_ONNX_TENSOR_H
#define MICA_ONNX_TENSOR_H

#include "onnx/model.h"

#include <mica/shape.h>

/* Elements in C order at an address that their type may have. data is the model's unless `owned`. */
typedef struct mica__onnx_tensor {
  mica_dtype dtype;
  mica_shape shape;
  int64_t count;
  const void *data;
  void *owned;
} mica__onnx_tensor;

/* The dtype of an element type's number in ONNX; false for those that Mica has not. */
bool mica__onnx_dtype(int32_t type, mica_dtype *dtype);
/* True for uint4 and int4, whose elements are u8 and i8 in Mica, as large as 4 bits hold. */
bool mica__onnx_is_nibble(int32_t type);
/* And back; 0 for none. */
int32_t mica__onnx_type_of(mica_dtype dtype);
/* "float8e4m3fn", "?" for none. */
const char *mica__onnx_type_name(int32_t type);

/* dtype and shape alone. MICA_E_FORMAT names the tensor and what is wrong, MICA_E_UNSUPPORTED an element type or a rank
 * that Mica lacks. */
mica_status mica__onnx_tensor_type(const Onnx__TensorProto *proto, mica_dtype *dtype, mica_shape *shape);
/* Elements too, from raw bytes, typed fields or external data; to be freed. A bool that is neither 0 nor 1 is 1. */
mica_status mica__onnx_tensor_read(mica__external *external, const Onnx__TensorProto *proto, mica__onnx_tensor *tensor);
/* What mica__onnx_tensor_read says about where a tensor's external data lie, without reading them; of others, and of
 * element types that Mica lacks, MICA_OK. */
mica_status mica__onnx_tensor_check_external(mica__external *external, const Onnx__TensorProto *proto);
/* A sparse tensor as a dense one; to be freed. */
mica_status mica__onnx_sparse_read(mica__external *external, const Onnx__SparseTensorProto *proto,
                                   mica__onnx_tensor *tensor);
/* The one element of a tensor that lies in the file itself. */
mica_status mica__onnx_tensor_number(const Onnx__TensorProto *proto, mica_dtype *dtype, double *number);
/* Makes f32 of f16 and bf16; others stay what they are. */
mica_status mica__onnx_tensor_widen(mica__onnx_tensor *tensor);
static inline mica_dtype mica__onnx_widened(mica_dtype dtype) {
  return dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype;
}
void mica__onnx_tensor_free(mica__onnx_tensor *tensor);

/* Brings elements from the byte order of raw and external data, little-endian, into the host's or back. */
void mica__onnx_order(mica_dtype dtype, void *elements, size_t bytes);

#endif
