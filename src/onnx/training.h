/* onnx/training.h: what training needs to know of a model beyond mica/onnx.h; also in builds without protobuf-c. */
#ifndef MICA_ONNX_TRAINING_H
#define MICA_ONNX_TRAINING_H

#include "base/shared.h"

#include <mica/onnx.h>

/* True if the initial value is a mean or a variance of a batch norm: it belongs to the model and is not trained. */
MICA__SHARED bool mica__onnx_is_statistic(const mica_onnx *model, const char *name);
/* Returns the operand of a final softmax, which a loss computes by itself; NULL: none. */
MICA__SHARED const char *mica__onnx_before_softmax(const mica_onnx *model);
/* Returns the operand of a final softmax or sigmoid, which casts and Identity may follow; NULL: none. */
MICA__SHARED const char *mica__onnx_before_shares(const mica_onnx *model);
/* True if the final operator is a softmax: probabilities that add up to one. */
MICA__SHARED bool mica__onnx_ends_in_softmax(const mica_onnx *model);
/* Returns y if the first output is y scale + shift with constants that equal these numbers in f32; else NULL. */
MICA__SHARED const char *mica__onnx_before_affine(const mica_onnx *model, double scale, double shift);
/* True if the model has QuantizeLinear, DynamicQuantizeLinear or DequantizeLinear nodes. */
MICA__SHARED bool mica__onnx_is_quantized(const mica_onnx *model);

#endif
