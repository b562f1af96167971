/* onnx/training.h: what training asks of a model beside mica/onnx.h; without protobuf-c too. */
#ifndef MICA_ONNX_TRAINING_H
#define MICA_ONNX_TRAINING_H

#include "base/shared.h"

#include <mica/onnx.h>

/* True if a batch norm divides or subtracts by the initial value: statistics are the model's, and not trained. */
MICA__SHARED bool mica__onnx_is_statistic(const mica_onnx *model, const char *name);
/* The value before a last softmax, which a loss has of its own; NULL if there is none. */
MICA__SHARED const char *mica__onnx_before_softmax(const mica_onnx *model);
/* The value before a last softmax or sigmoid, after which casts and Identity may stand; NULL if there is none. */
MICA__SHARED const char *mica__onnx_before_shares(const mica_onnx *model);
/* True if that is a softmax: shares that add up to one. */
MICA__SHARED bool mica__onnx_ends_in_softmax(const mica_onnx *model);
/* The value y of a first output y scale + shift, by constants that are these numbers in f32; NULL: it is no such. */
MICA__SHARED const char *mica__onnx_before_affine(const mica_onnx *model, double scale, double shift);
/* True if weights or values are integers between pairs of QuantizeLinear and DequantizeLinear. */
MICA__SHARED bool mica__onnx_is_quantized(const mica_onnx *model);

#endif
