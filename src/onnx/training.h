/* onnx/training.h: what training asks of a model beside mica/onnx.h; without protobuf-c too. */
#ifndef MICA_ONNX_TRAINING_H
#define MICA_ONNX_TRAINING_H

#include <mica/onnx.h>

/* True if a batch norm divides or subtracts by the initial value: statistics are the model's, and not trained. */
bool mica__onnx_is_statistic(const mica_onnx *model, const char *name);
/* The value before a last softmax, which a loss has of its own; NULL where there is none. */
const char *mica__onnx_before_softmax(const mica_onnx *model);

#endif
