/* mica/graph.h: computations as graphs of values, and their gradients.
 *
 * A graph is in static single assignment: every value is made once, by an input, a parameter, a constant or an op
 * on earlier values. Shapes and dtypes are inferred as values are made. Building needs no device.
 *
 * Threads: a graph and its values are used by one thread at a time; several graphs may be built at once.
 *
 * Builders are sticky: one that fails records the first error in the graph and returns the null value, builders that
 * get a null value pass it on, and one look at mica_graph_status at the end tells:
 *
 *   mica_value h = mica_relu(mica_add(mica_matmul(x, w), b));
 *   mica_value loss = mica_cross_entropy(h, labels, NULL);
 *   if (mica_graph_status(graph) != MICA_OK) puts(mica_graph_message(graph));
 *
 * Binary ops broadcast as NumPy's do. Operands of one op must agree in dtype (mica_cast converts). The builders of all
 * ops stand in mica/nodes.h. */
#ifndef MICA_GRAPH_H
#define MICA_GRAPH_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

typedef struct mica_graph mica_graph;

/* A value of a graph; a plain value itself. {0} is the null value. */
typedef struct mica_value {
  mica_graph *graph;
  int32_t id; /* from 1 */
} mica_value;

/* A dimension that is fixed when a session first runs. */
#define MICA_DYNAMIC (-1)

/* An empty graph. */
MICA_API MICA_CHECKED mica_status mica_graph_create(mica_graph **graph);
/* Sessions made from the graph keep what they need of it. NULL is a no-op. */
MICA_API void mica_graph_destroy(mica_graph *graph);

/* The first error a builder met, MICA_OK when there was none; and its sentence, which names the op, the shapes and,
 * where values were named, their names. "" for MICA_OK. */
MICA_API MICA_CHECKED mica_status mica_graph_status(const mica_graph *graph);
MICA_API const char *mica_graph_message(const mica_graph *graph);
/* Records an error as a builder does, for functions of one's own that build: layers, steps, hooks. The first one
 * stands. Returns the null value. A NULL sentence is the status's name, and MICA_OK is no error: MICA_E_INVALID. */
MICA_API mica_value mica_graph_fail(mica_graph *graph, mica_status status, const char *sentence);

/* A tensor that the caller feeds at each run. Dimensions may be MICA_DYNAMIC. Names are unique among inputs and
 * parameters. */
MICA_API mica_value mica_input(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
/* A tensor that lives in the session from run to run: weights, statistics, optimiser state. No open dimensions. */
MICA_API mica_value mica_parameter(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
/* Copies data. A bool is true if its byte is not 0. */
MICA_API mica_value mica_constant(mica_graph *graph, mica_dtype dtype, mica_shape shape, const void *data);
/* A constant of rank 0. */
MICA_API mica_value mica_scalar(mica_graph *graph, mica_dtype dtype, double value);
/* A constant of one value everywhere, which takes no memory. The value is rounded to the dtype as casts round. */
MICA_API mica_value mica_full(mica_graph *graph, mica_dtype dtype, mica_shape shape, double value);
/* A constant of one value in the shape and dtype of another value, which may be open. */
MICA_API mica_value mica_full_like(mica_value like, double value);

/* When a session runs, parameter takes this value after everything of the run has read the old one. The shapes and
 * dtypes must agree; a parameter is assigned at most once. */
MICA_API void mica_assign(mica_value parameter, mica_value value);

/* True for the value that a failed builder returns, and for a zero structure. */
MICA_API bool mica_value_is_null(mica_value value);
/* Shape and dtype; MICA_SCALAR and MICA_F32 for a null value. */
MICA_API mica_shape mica_value_shape(mica_value value);
MICA_API mica_dtype mica_value_dtype(mica_value value);
/* Gives the value a name for messages, dumps and checkpoints; returns it. Inputs and parameters keep the name they
 * have. */
MICA_API mica_value mica_named(mica_value value, const char *name);
MICA_API const char *mica_value_name(mica_value value);

/* grads[i] = d loss / d wrt[i], as new values of the graph (symbol to symbol), of wrt[i]'s shape and dtype. loss has
 * one element. A wrt that loss does not depend on gets zeros. Gradients may be differentiated again.
 * MICA_E_UNSUPPORTED names an op on the way that has no gradient. */
MICA_API MICA_CHECKED mica_status mica_gradients(mica_value loss, const mica_value *wrt, size_t count,
                                                 mica_value *grads);

/* Marks a value whose intermediates are computed again in the backward pass instead of kept (gradient checkpointing,
 * Chen et al. 2016); returns it. Between two checkpoints only the checkpoints stay in memory. */
MICA_API mica_value mica_checkpoint(mica_value value);

/* The value passed on, with no gradient through it. */
MICA_API mica_value mica_stop_gradient(mica_value value);

typedef enum mica_dump_format { MICA_DUMP_FORMAT_TEXT, MICA_DUMP_FORMAT_GRAPHVIZ } mica_dump_format;
/* The graph as text, a line a value, or as Graphviz; *text is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_graph_dump(const mica_graph *graph, mica_dump_format format, char **text);

MICA_END_DECLS

#endif
