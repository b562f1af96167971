/* onnx/texts.h: string tensors ("texts") in models. A string tensor becomes an i64 tensor of indices into a list of
 * strings in the file. The list is found by following the value back to the attribute or tensor that holds it. */
#ifndef MICA_ONNX_TEXTS_H
#define MICA_ONNX_TEXTS_H

#include "onnx/model.h"

/* Finds the list into which the value's elements are indices. Returns false if the value holds numbers, not texts. */
bool mica__onnx_texts_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out);
/* Finds the classes of the value's columns; false if there are none. */
bool mica__onnx_columns_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out);
/* Gets the texts that an encoder produces: its values, then its default. False if it produces numbers. */
bool mica__onnx_encoder_texts(const mica__onnx_node *node, mica__onnx_texts *out);
/* True if a tensor of the file holds texts. */
bool mica__onnx_texts_in(const Onnx__TensorProto *tensor, mica__onnx_texts *out);
/* True if operand k may hold texts. *moves: the operator only moves elements from operand 0 to result 0. */
bool mica__onnx_takes_texts(const mica__onnx_node *node, int32_t k, bool *moves);
/* Finds the names of classes in the metadata of a model, and makes the cache of class labels. It is called when the
 * model is opened; mica_onnx_close frees both. */
mica_status mica__onnx_texts_open(mica_onnx *model);
void mica__onnx_texts_close(mica_onnx *model);
/* Returns text i; NULL for numbers and past the end. */
const ProtobufCBinaryData *mica__onnx_text_at(const mica__onnx_texts *texts, size_t i);

#endif
