/* Files that hold a single tensor. */
#include "base/file.h"
#include "onnx/guard.h"
#include "onnx/tensor.h"

#include <stdlib.h>
#include <string.h>

static mica_status parse(const char *path, const unsigned char *content, size_t size, mica__onnx_tensor *tensor,
                         void **own) {
  MICA_TRY(mica__onnx_guard(path, &onnx__tensor_proto__descriptor, content, size));
  Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, size, content);
  if (!proto) return mica__fail(MICA_E_FORMAT, "%s holds no tensor: protobuf-c cannot unpack it", path);
  mica__external none = {0};
  mica_status status = mica__onnx_tensor_read(&none, proto, tensor);
  if (status != MICA_OK) status = mica__fail_in(status, path);
  size_t bytes = status == MICA_OK ? (size_t)tensor->count * mica_dtype_size(tensor->dtype) : 0;
  *own = status == MICA_OK ? malloc(bytes + 1) : NULL;
  if (status == MICA_OK && !*own) status = mica__fail_nomem(path);
  if (status == MICA_OK && bytes) memcpy(*own, tensor->data, bytes);
  mica__onnx_tensor_free(&(mica__onnx_tensor){.owned = tensor->owned});
  onnx__tensor_proto__free_unpacked(proto, NULL);
  return status;
}

mica_status mica_onnx_tensor_read(const char *path, mica_dtype *dtype, mica_shape *shape, void **data) {
  if (!path || !dtype || !shape || !data)
    return mica__fail(MICA_E_INVALID, "mica_onnx_tensor_read: path, dtype, shape or data is NULL");
  unsigned char *content = NULL;
  size_t size = 0;
  mica__onnx_tensor tensor = {0};
  void *own = NULL;
  MICA_TRY(mica__file_read(path, &content, &size));
  mica_status status = parse(path, content, size, &tensor, &own);
  free(content);
  if (status != MICA_OK) return status;
  *dtype = tensor.dtype;
  *shape = tensor.shape;
  *data = own;
  return MICA_OK;
}
