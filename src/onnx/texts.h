/* onnx/texts.h: texts of a model. A tensor of texts is a tensor of i64: the indices of its elements in a list of the
 * file, which is found by following the value back to the attribute or the tensor that holds the list. */
#ifndef MICA_ONNX_TEXTS_H
#define MICA_ONNX_TEXTS_H

#include "onnx/model.h"

/* Texts of the file, and one more after them if `more` is not NULL. Numbers instead of texts for classes that are
 * integers. */
typedef struct mica__onnx_texts {
  const ProtobufCBinaryData *texts;
  const int64_t *numbers;
  size_t count;
  const ProtobufCBinaryData *more;
} mica__onnx_texts;

/* The list in which elements of the value are indices; false for numbers. */
bool mica__onnx_texts_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out);
/* The classes to which the columns of the value belong; false if it has none. */
bool mica__onnx_columns_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out);
/* The texts that an encoder gives: its values, and its default after them. False if it gives numbers. */
bool mica__onnx_encoder_texts(const mica__onnx_node *node, mica__onnx_texts *out);
/* True if a tensor of the file holds texts. */
bool mica__onnx_texts_in(const Onnx__TensorProto *tensor, mica__onnx_texts *out);
/* True if operand k may hold texts. *moves: the operator moves the elements of operand 0 to result 0. */
bool mica__onnx_takes_texts(const mica__onnx_node *node, int32_t k, bool *moves);
/* Text i; NULL for numbers and after the last. */
const ProtobufCBinaryData *mica__onnx_text_at(const mica__onnx_texts *texts, size_t i);

#endif
