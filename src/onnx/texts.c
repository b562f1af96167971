#include "onnx/texts.h"

#include "base/utf8.h"
#include "onnx/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TensorProto.data_type of texts. */
#define STRING 8

const ProtobufCBinaryData *mica__onnx_text_at(const mica__onnx_texts *texts, size_t i) {
  if (i < texts->count) return texts->texts ? &texts->texts[i] : NULL;
  return i == texts->count ? texts->more : NULL;
}

/* --- lists --- */

bool mica__onnx_texts_in(const Onnx__TensorProto *tensor, mica__onnx_texts *out) {
  if (!tensor || tensor->data_type != STRING) return false;
  *out = (mica__onnx_texts){.texts = tensor->string_data, .count = tensor->n_string_data};
  return true;
}

static bool take_texts(const mica__onnx_node *node, const char *name, mica__onnx_texts *out) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  if (!attr || !attr->n_strings) return false;
  *out = (mica__onnx_texts){.texts = attr->strings, .count = attr->n_strings};
  return true;
}

static bool take_numbers(const mica__onnx_node *node, const char *name, mica__onnx_texts *out) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, name);
  if (!attr || !attr->n_ints) return false;
  *out = (mica__onnx_texts){.numbers = attr->ints, .count = attr->n_ints};
  return true;
}

/* The text that an encoder gives for unknown keys. */
static const ProtobufCBinaryData *default_text(const mica__onnx_node *node) {
  static const ProtobufCBinaryData unused = {7, (uint8_t *)"_Unused"};
  const Onnx__AttributeProto *text = mica__onnx_attr(node, "default_string");
  const Onnx__AttributeProto *tensor = mica__onnx_attr(node, "default_tensor");
  if (tensor && tensor->t && tensor->t->n_string_data) return &tensor->t->string_data[0];
  return text && text->has_s ? &text->s : &unused;
}

bool mica__onnx_encoder_texts(const mica__onnx_node *node, mica__onnx_texts *out) {
  const Onnx__AttributeProto *tensor = mica__onnx_attr(node, "values_tensor");
  if (!take_texts(node, "values_strings", out) && !take_texts(node, "cats_strings", out) &&
      !take_texts(node, "classes_strings", out) && !(tensor && mica__onnx_texts_in(tensor->t, out)))
    return false;
  out->more = default_text(node);
  return true;
}

static bool take_constant(const mica__onnx_node *node, mica__onnx_texts *out) {
  const Onnx__AttributeProto *value = mica__onnx_attr(node, "value");
  return take_texts(node, "value_strings", out) || (value && mica__onnx_texts_in(value->t, out));
}

/* --- following values back --- */

static const mica__onnx_node *maker_of(const mica__onnx_graph *graph, const char *name, int32_t *result) {
  for (int32_t i = 0; i < graph->count; i++)
    for (int32_t k = 0; k < graph->nodes[i].output_count; k++)
      if (!strcmp(graph->nodes[i].outputs[k], name)) {
        *result = k;
        return &graph->nodes[i];
      }
  return NULL;
}

static bool is_one_of(const mica__onnx_node *node, const char *const *list) {
  for (; *list; list++)
    if (!strcmp(node->op, *list)) return node->input_count > 0;
  return false;
}

/* Without `columns`: true if the operator only moves elements of its operand, as Reshape and Gather do. With `columns`:
 * true if each column of the result belongs to the same class as that column of the operand, as for Softmax. */
static bool passes(const mica__onnx_node *node, bool columns) {
  static const char *const elements[] = {"Identity", "Reshape", "Cast",   "Squeeze",   "Unsqueeze",
                                         "Flatten",  "Gather",  "Concat", "Transpose", "ArrayFeatureExtractor",
                                         NULL};
  static const char *const normal[] = {"Identity", "Cast", "Normalizer", "Softmax", "Sigmoid", NULL};
  return is_one_of(node, columns ? normal : elements) && (strcmp(node->op, "Concat") || node->input_count == 1);
}

bool mica__onnx_takes_texts(const mica__onnx_node *node, int32_t k, bool *moves) {
  static const char *const know[] = {"LabelEncoder", "CategoryMapper", "OneHotEncoder", NULL};
  *moves = k == 0 && passes(node, false);
  return *moves || (k == 0 && is_one_of(node, know));
}

static bool is_encoder(const mica__onnx_node *node, mica__onnx_texts *out) {
  static const char *const encoders[] = {"LabelEncoder", "CategoryMapper", NULL};
  return is_one_of(node, encoders) && mica__onnx_encoder_texts(node, out);
}

static bool find(const mica__onnx_graph *graph, const char *name, bool columns, mica__onnx_texts *out) {
  *out = (mica__onnx_texts){0};
  for (int32_t steps = 0; steps <= graph->count; steps++) {
    int32_t result = 0;
    const mica__onnx_node *node = maker_of(graph, name, &result);
    for (size_t i = 0; !node && !columns && graph->proto && i < graph->proto->n_initializer; i++)
      if (!strcmp(mica__onnx_text(graph->proto->initializer[i]->name), name))
        return mica__onnx_texts_in(graph->proto->initializer[i], out);
    if (!node) return false;
    if (columns && (!strcmp(node->op, "ZipMap") || result == 1))
      return take_texts(node, "classlabels_strings", out) || take_numbers(node, "classlabels_int64s", out) ||
             take_numbers(node, "classlabels_ints", out);
    if (!passes(node, columns))
      return !columns && result == 0 && strcmp(node->op, "ZipMap") != 0 &&
             (take_texts(node, "classlabels_strings", out) || is_encoder(node, out) || take_constant(node, out));
    name = node->inputs[0];
  }
  return false;
}

bool mica__onnx_texts_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out) {
  return find(graph, name, false, out);
}

bool mica__onnx_columns_of(const mica__onnx_graph *graph, const char *name, mica__onnx_texts *out) {
  return find(graph, name, true, out);
}

/* --- classes that only the metadata name --- */

/* Decodes one character of a JSON string at c, and writes its UTF-8 bytes to bytes[4] and their number to *to. Returns
 * the length of the character in the JSON text, or 0 if the text is not valid JSON. A surrogate becomes U+FFFD. */
static size_t next_character(const char *c, char bytes[4], size_t *to) {
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  const char *letter = *c == '\\' && c[1] ? strchr(letters, c[1]) : NULL;
  unsigned code = 0;
  bytes[0] = letter ? meanings[letter - letters] : *c;
  *to = 1;
  if (*c != '\\') return 1;
  if (letter) return 2;
  if (c[1] != 'u' || strspn(c + 2, "0123456789abcdefABCDEF") < 4 || sscanf(c + 2, "%4x", &code) != 1) return 0;
  *to = mica__utf8_encode(code >= 0xd800 && code < 0xe000 ? 0xfffd : code, bytes);
  return 6;
}

/* Reads a string of a JSON list at *at, and moves *at past the string and the comma after it. Copies the string to
 * text[size], cut off if it is too long; a size of 0 copies nothing. Returns false if there is no such string. */
static bool next_string(const char **at, char *text, size_t size) {
  const char *c = *at + strspn(*at, " \t\r\n");
  char bytes[4];
  size_t length = 0, to = 0;
  bool fits = size > 0;
  if (*c++ != '"') return false;
  while (*c && *c != '"') {
    const size_t from = next_character(c, bytes, &to);
    if (!from) return false;
    fits = fits && length + to < size;
    if (fits) memcpy(text + length, bytes, to), length += to;
    c += from;
  }
  if (*c++ != '"') return false;
  if (size) text[length] = '\0';
  c += strspn(c, " \t\r\n");
  *at = c + (*c == ',');
  return *c == ',' || *c == ']';
}

/* Counts the strings in a JSON list. Returns 0 if the text is anything else than a list of strings. `names`, unless it
 * is NULL, receives where each string begins in the text. */
static size_t list_names(const char *json, const char **names) {
  const char *at = json + strspn(json, " \t\r\n"), *begin = at;
  size_t count = 0;
  if (*at++ != '[') return 0;
  while (begin = at, next_string(&at, NULL, 0)) {
    if (names) names[count] = begin;
    count++;
    if (*at == ']' && at[-1] != ',') return count;
  }
  return 0;
}

mica_status mica__onnx_texts_open(mica_onnx *model) {
  const char *json = mica_onnx_metadata(model, "classes");
  const size_t count = json ? list_names(json, NULL) : 0;
  model->asked = calloc(1, sizeof *model->asked);
  if (!model->asked) return mica__fail_nomem(model->name);
  if (pthread_mutex_init(&model->asked->lock, NULL)) {
    free(model->asked);
    model->asked = NULL;
    return mica__fail_nomem(model->name);
  }
  if (!count) return MICA_OK;
  model->class_names = malloc(count * sizeof *model->class_names);
  if (!model->class_names) return mica__fail_nomem(model->name);
  model->class_name_count = list_names(json, model->class_names);
  return MICA_OK;
}

void mica__onnx_texts_close(mica_onnx *model) {
  if (model->asked) pthread_mutex_destroy(&model->asked->lock);
  free(model->asked);
  free(model->class_names);
}

/* Returns the number of classes for the output "shares" of a model that mica export wrote. In such a model the metadata
 * hold the names of the classes, and "shares" has one column per class. Returns 0 for other outputs and models. */
static size_t exported_classes(const mica_onnx *model, size_t output) {
  if (!model->class_name_count || output >= model->proto->graph->n_output) return 0;
  const mica_onnx_port port = mica_onnx_output_port(model, output);
  if (strcmp(port.name, "shares") != 0 || !port.has_shape || port.shape.rank < 2) return 0;
  return port.shape.dim[1] == (int64_t)model->class_name_count ? model->class_name_count : 0;
}

/* --- for callers of the library --- */

/* Returns false if the file declares a type other than string for the output. The type is needed if a CategoryMapper
 * makes the output: it has texts and integers and converts either to the other. */
static bool may_be_text(const Onnx__GraphProto *graph, size_t output) {
  const Onnx__TypeProto *type = graph->output[output]->type;
  const bool declared = type && type->tensor_type && type->tensor_type->elem_type;
  return !declared || type->tensor_type->elem_type == STRING;
}

static bool find_classes(const mica_onnx *model, size_t output, mica__onnx_texts *out) {
  const Onnx__GraphProto *graph = model->proto->graph;
  const char *name = mica__onnx_text(graph->output[output]->name);
  return mica__onnx_columns_of(&model->graph, name, out) ||
         (may_be_text(graph, output) && mica__onnx_texts_of(&model->graph, name, out));
}

static bool classes_of(const mica_onnx *model, size_t output, mica__onnx_texts *out) {
  mica__onnx_asked *asked = model->asked;
  if (output >= model->proto->graph->n_output) return false;
  pthread_mutex_lock(&asked->lock);
  if (asked->output != output + 1) {
    asked->has_classes = find_classes(model, output, &asked->classes);
    asked->output = output + 1;
  }
  *out = asked->classes;
  const bool has = asked->has_classes;
  pthread_mutex_unlock(&asked->lock);
  return has;
}

bool mica_onnx_is_text(const mica_onnx *model, size_t output) {
  mica__onnx_texts texts;
  if (!model || output >= model->proto->graph->n_output || !may_be_text(model->proto->graph, output)) return false;
  return mica__onnx_texts_of(&model->graph, mica__onnx_text(model->proto->graph->output[output]->name), &texts);
}

size_t mica_onnx_class_count(const mica_onnx *model, size_t output) {
  mica__onnx_texts texts;
  if (!model) return 0;
  if (classes_of(model, output, &texts)) return texts.count + (texts.more != NULL);
  return exported_classes(model, output);
}

bool mica_onnx_class_name(const mica_onnx *model, size_t output, size_t index, char *text, size_t size) {
  mica__onnx_texts texts;
  if (!model || !text || !size) return false;
  if (!classes_of(model, output, &texts)) {
    const char *at = index < exported_classes(model, output) ? model->class_names[index] : NULL;
    return at && next_string(&at, text, size);
  }
  if (texts.numbers && index < texts.count) {
    snprintf(text, size, "%lld", (long long)texts.numbers[index]);
    return true;
  }
  const ProtobufCBinaryData *found = mica__onnx_text_at(&texts, index);
  if (!found) return false;
  snprintf(text, size, "%.*s", found->len < size ? (int)found->len : (int)size, (const char *)found->data);
  return true;
}
