/* onnx/write/writer.h: a graph on its way to a file of ONNX.
 *
 * Nodes are visited from the last to the first. One that is needed is written by a function, which asks for its
 * operands by mica__write_operand: that gives their names and makes them needed. So nothing is written that nobody
 * reads, and a builder's mark (ir/graph.h) is taken by asking for the mark's operands in the place of the node's own.
 * What one visit writes stays in its order; the visits are reversed at the end.
 *
 * Errors are sticky, as those of builders: functions go on with names that are of no use. */
#ifndef MICA_ONNX_WRITE_WRITER_H
#define MICA_ONNX_WRITE_WRITER_H

#include "base/name_table.h"
#include "ir/graph.h"
#include "onnx/tensor.h"

/* An initial value: elements that live at least as long as the writer. */
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
  bool *needed;       /* by id - 1 */
  const char **names; /* by id - 1; NULL: none yet */
  mica__name_table taken;
  Onnx__NodeProto **nodes;
  size_t count, capacity, *visits, visit_count, visit_capacity; /* visits: where each begins in nodes */
  mica__write_initial *initials;
  size_t initial_count, initial_capacity;
  void **rooms;
  size_t room_count, room_capacity, serial;
  mica_status status;
} mica__onnx_writer;

/* Writes node `id`, result 0 or a mark on it. */
typedef void mica__write_fn(mica__onnx_writer *w, int32_t id, const mica__node *node);
#define MICA__WRITE(name) void mica__write_##name(mica__onnx_writer *w, int32_t id, const mica__node *node)
/* Writes what is marked; false, and nothing is written, if the node keeps the form that it was built in. */
typedef bool mica__write_mark_fn(mica__onnx_writer *w, int32_t id, const mica__node *node);
#define MICA__WRITE_MARK(name) bool mica__write_##name(mica__onnx_writer *w, int32_t id, const mica__node *node)

/* Memory that lives as long as the writer, zeroed; NULL with the error recorded. */
void *mica__write_room(mica__onnx_writer *w, size_t bytes);
/* Records "%7 conv: " and the sentence, of the first error alone. */
void mica__write_fail(mica__onnx_writer *w, int32_t id, const char *format, ...) __attribute__((format(printf, 3, 4)));
void mica__onnx_writer_free(mica__onnx_writer *w);

/* --- names --- */

/* The value's name, which is needed from now on. */
const char *mica__write_operand(mica__onnx_writer *w, int32_t id);
/* The name of a result that is being written. */
const char *mica__write_own(mica__onnx_writer *w, int32_t id);
/* A name of its own that nothing else has: `text` if that is free, else with a number after it. */
const char *mica__write_name(mica__onnx_writer *w, const char *text);
/* The value that is written for this one: what only passes a value on is left out. */
int32_t mica__write_passed(const mica_graph *graph, int32_t id);
/* The type of a value. */
mica__type mica__write_type_of(const mica__onnx_writer *w, int32_t id);

/* --- nodes --- */

/* Adds a node with one result, of the name `own` (NULL: a new one), which is returned. A NULL among the inputs is an
 * absent operand; those at the end are left out. Attributes that follow belong to it. */
const char *mica__write_node(mica__onnx_writer *w, const char *op, const char *own, const char *const *inputs,
                             size_t count);
#define MICA__OPERANDS(...)                                                                                            \
  (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
/* One more result of the last node; NULL: absent. */
void mica__write_result(mica__onnx_writer *w, const char *name);

void mica__write_int(mica__onnx_writer *w, const char *name, int64_t value);
void mica__write_ints(mica__onnx_writer *w, const char *name, const int64_t *values, size_t count);
void mica__write_real(mica__onnx_writer *w, const char *name, double value);
void mica__write_reals(mica__onnx_writer *w, const char *name, const double *values, size_t count);
void mica__write_text(mica__onnx_writer *w, const char *name, const char *text);
void mica__write_texts(mica__onnx_writer *w, const char *name, const char *const *texts, size_t count);

/* --- initial values --- */

/* Files elements, which are not copied, under a name that is theirs. */
void mica__write_elements(mica__onnx_writer *w, const char *name, mica_dtype dtype, mica_shape shape, const void *data);
/* Does so under a new name, like `text`; returns it. */
const char *mica__write_tensor(mica__onnx_writer *w, const char *text, mica_dtype dtype, mica_shape shape,
                               const void *data);
/* One element, of rank 0. */
const char *mica__write_scalar(mica__onnx_writer *w, mica_dtype dtype, double value);
/* (count) i64. */
const char *mica__write_integers(mica__onnx_writer *w, const int64_t *values, size_t count);
/* The elements of a constant, of a parameter, or of what only shows and joins those; valid as long as the writer. NULL
 * where they are not known. */
const void *mica__write_known(mica__onnx_writer *w, int32_t id);

/* --- attributes of Mica's nodes --- */

int64_t mica__node_int(const mica__node *node, const char *name);
double mica__node_real(const mica__node *node, const char *name);
/* A list: of SPATIAL and PER_AXIS attributes. */
const int64_t *mica__node_list(const mica__node *node, const char *name);
mica_shape mica__node_shape(const mica__node *node, const char *name);
/* The axes of an AXES attribute; returns how many. */
size_t mica__node_axes(const mica__node *node, const char *name, int64_t axes[MICA_MAX_RANK]);

/* --- shapes that are computed --- */

/* Shape(x): (rank) i64. */
const char *mica__write_shape_of(mica__onnx_writer *w, int32_t id);
/* The extents along some axes, (count) i64. */
const char *mica__write_extents(mica__onnx_writer *w, int32_t id, const int64_t *axes, size_t count);
bool mica__write_is_open(mica_shape shape);

/* --- the file --- */

/* Puts messages together and replaces the file, and what lies beside it. */
mica_status mica__write_file(mica__onnx_writer *w, const char *path, const mica_value *outputs, size_t count);

#endif
