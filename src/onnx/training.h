/* onnx/training.h: what training needs to know of a model beyond mica/onnx.h; also in builds without protobuf-c. */
#ifndef MICA_ONNX_TRAINING_H
#define MICA_ONNX_TRAINING_H

#include "base/shared.h"

#include <mica/onnx.h>

/* True if the initialiser is a mean or a variance of a batch norm: it belongs to the model and is not trained. */
MICA__SHARED bool mica__onnx_is_statistic(const mica_onnx *model, const char *name);
/* Returns the operand of a final Softmax or LogSoftmax, for losses that compute the softmax themselves; NULL: none. */
MICA__SHARED const char *mica__onnx_before_softmax(const mica_onnx *model);
/* Returns the operand of a final Softmax, LogSoftmax or Sigmoid, which Cast and Identity may follow; NULL: none. */
MICA__SHARED const char *mica__onnx_before_shares(const mica_onnx *model);
/* True if the final operator is a Softmax or LogSoftmax, which Cast and Identity may follow: the probabilities of the
 * classes add up to one. */
MICA__SHARED bool mica__onnx_ends_in_softmax(const mica_onnx *model);
/* Returns y if the model's last nodes compute its first output as y scale + shift, with constants that equal these
 * numbers in f32; else NULL. A Mul by 1 or an Add of 0 may be missing, but not both. */
MICA__SHARED const char *mica__onnx_before_affine(const mica_onnx *model, double scale, double shift);
/* True if the model has QuantizeLinear, DynamicQuantizeLinear or DequantizeLinear nodes. */
MICA__SHARED bool mica__onnx_is_quantized(const mica_onnx *model);

#endif
