/* onnx/write/writer.h: writes a graph as an ONNX file.
 *
 * Nodes are visited from the last to the first. A function writes each node that is needed. It asks for its operands by
 * mica__write_operand, which returns their names and marks them as needed, so nothing is written that is not read. For
 * a builder's mark (ir/graph.h) it asks for the mark's operands instead of the node's own. Nodes written in one visit
 * keep their order; the order of the visits is reversed at the end.
 *
 * Errors are sticky, like those of builders: after one, functions continue with unusable names. */
#ifndef MICA_ONNX_WRITE_WRITER_H
#define MICA_ONNX_WRITE_WRITER_H

#include "base/name_table.h"
#include "ir/graph.h"
#include "onnx/tensor.h"

/* An initialiser. Its elements must live at least as long as the writer. */
typedef struct mica__write_initial {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
  size_t bytes;
} mica__write_initial;

typedef struct mica__onnx_writer {
  const mica_graph *graph;
  const mica_onnx_write_config *config;
  int64_t opset;
  bool *needed;       /* needed[id - 1]: value `id` must be written */
  const char **names; /* names[id - 1]: name of value `id`; NULL: not named yet */
  mica__name_table taken;
  Onnx__NodeProto **nodes;
  /* visits[v]: index in nodes of the first node of visit v. */
  size_t count, capacity, *visits, visit_count, visit_capacity;
  mica__write_initial *initials;
  size_t initial_count, initial_capacity;
  void **rooms;
  size_t room_count, room_capacity, serial;
  mica_status status;
} mica__onnx_writer;

/* Writes the operators that compute value `id`; `node` is the graph's node of that value. */
typedef void mica__write_fn(mica__onnx_writer *w, int32_t id, const mica__node *node);
#define MICA__WRITE(name) void mica__write_##name(mica__onnx_writer *w, int32_t id, const mica__node *node)
/* Writes the operation that the node's mark names. Returns false, with nothing written, if ONNX cannot express it; the
 * node's op is then written as it was built. */
typedef bool mica__write_mark_fn(mica__onnx_writer *w, int32_t id, const mica__node *node);
#define MICA__WRITE_MARK(name) bool mica__write_##name(mica__onnx_writer *w, int32_t id, const mica__node *node)

/* Allocates zeroed memory that lives as long as the writer; NULL, with the error recorded, on failure. */
void *mica__write_room(mica__onnx_writer *w, size_t bytes);
/* Records an error, prefixed with "conv 'NAME': " or, if the node has no name, "conv (value 7 of the graph): ". Only
 * the first error is kept. */
void mica__write_fail(mica__onnx_writer *w, int32_t id, const char *format, ...) __attribute__((format(printf, 3, 4)));
void mica__onnx_writer_free(mica__onnx_writer *w);

/* --- names --- */

/* Returns the name under which value `id` is written, and marks that value as needed. If a node only passes its operand
 * on, that is the operand's name (see mica__write_passed). */
const char *mica__write_operand(mica__onnx_writer *w, int32_t id);
/* Returns the name of value `id` itself, to write the node that computes it. Makes the name if it has none yet. */
const char *mica__write_own(mica__onnx_writer *w, int32_t id);
/* Makes a unique name: `text` if it is free, else with a number after it. */
const char *mica__write_name(mica__onnx_writer *w, const char *text);
/* Follows nodes that pass their operand on unchanged; returns the value that is written instead of this one. */
int32_t mica__write_passed(const mica_graph *graph, int32_t id);
/* Returns the type of a value. */
mica__type mica__write_type_of(const mica__onnx_writer *w, int32_t id);

/* --- nodes --- */

/* Adds a node with one result named `own` (NULL: a new name) and returns the name. A NULL input is an absent operand;
 * absent operands at the end are left out. Attributes added afterwards belong to this node. */
const char *mica__write_node(mica__onnx_writer *w, const char *op, const char *own, const char *const *inputs,
                             size_t count);
#define MICA__OPERANDS(...)                                                                                            \
  (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
/* Adds another result to the last node; NULL: absent. */
void mica__write_result(mica__onnx_writer *w, const char *name);

void mica__write_int(mica__onnx_writer *w, const char *name, int64_t value);
void mica__write_ints(mica__onnx_writer *w, const char *name, const int64_t *values, size_t count);
void mica__write_real(mica__onnx_writer *w, const char *name, double value);
void mica__write_reals(mica__onnx_writer *w, const char *name, const double *values, size_t count);
void mica__write_text(mica__onnx_writer *w, const char *name, const char *text);
void mica__write_texts(mica__onnx_writer *w, const char *name, const char *const *texts, size_t count);

/* --- initialisers --- */

/* Adds an initialiser with this name; the elements are not copied. */
void mica__write_elements(mica__onnx_writer *w, const char *name, mica_dtype dtype, mica_shape shape, const void *data);
/* Does the same as mica__write_elements, but under a new name, made from `text`. Returns the name. */
const char *mica__write_tensor(mica__onnx_writer *w, const char *text, mica_dtype dtype, mica_shape shape,
                               const void *data);
/* Returns the name of an initialiser with one element and rank 0. Equal ones are written once. */
const char *mica__write_scalar(mica__onnx_writer *w, mica_dtype dtype, double value);
/* Returns the name of an initialiser (count), i64. Equal ones are written once. */
const char *mica__write_integers(mica__onnx_writer *w, const int64_t *values, size_t count);
/* Returns the elements of a constant, a parameter, or a view or join of those; NULL if they are not known. The elements
 * are valid as long as the graph and the writer. */
const void *mica__write_known(mica__onnx_writer *w, int32_t id);

/* --- attributes of Mica's nodes --- */

int64_t mica__node_int(const mica__node *node, const char *name);
double mica__node_real(const mica__node *node, const char *name);
/* Returns the list in a SPATIAL or PER_AXIS attribute. */
const int64_t *mica__node_list(const mica__node *node, const char *name);
mica_shape mica__node_shape(const mica__node *node, const char *name);
/* Gets the axes of an AXES attribute and returns their number. */
size_t mica__node_axes(const mica__node *node, const char *name, int64_t axes[MICA_MAX_RANK]);

/* --- shapes that are computed --- */

/* Returns the name of the value's shape, (rank) i64: an initialiser if all extents are known, else the result of a
 * Shape node. */
const char *mica__write_shape_of(mica__onnx_writer *w, int32_t id);
/* Returns the name of the value's extents along the given axes, (count) i64: an initialiser or, if one of them is
 * open, the result of nodes that compute them. */
const char *mica__write_extents(mica__onnx_writer *w, int32_t id, const int64_t *axes, size_t count);
bool mica__write_is_open(mica_shape shape);

/* --- the file --- */

/* Assembles the messages and replaces the file and its second file of weights. */
mica_status mica__write_file(mica__onnx_writer *w, const char *path, const mica_value *outputs, size_t count);

#endif
