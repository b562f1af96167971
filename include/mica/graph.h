/* mica/graph.h: computations as graphs of values, and their gradients.
 *
 * A graph is in static single assignment form. Each value is made once: by an input, a parameter, a constant, or an op
 * on earlier values. Shapes and dtypes are inferred at once. Building needs no device.
 *
 * Builders are sticky. A builder that fails records the first error in the graph and returns the null value. Builders
 * that receive a null value return it. One call of mica_graph_status at the end is enough:
 *
 *   mica_value h = mica_relu(mica_add(mica_matmul(x, w), b));
 *   mica_value loss = mica_cross_entropy(h, labels, NULL);
 *   if (mica_graph_status(graph) != MICA_OK) puts(mica_graph_message(graph));
 *
 * Binary ops broadcast like NumPy. Their operands must have equal dtypes; mica_cast converts. mica/nodes.h has the
 * builders of all ops.
 *
 * Threads: use a graph and its values from one thread at a time. Several graphs may be built at once. */
#ifndef MICA_GRAPH_H
#define MICA_GRAPH_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

typedef struct mica_graph mica_graph;

/* A value of a graph. Plain data; {0} is the null value. */
typedef struct mica_value {
  mica_graph *graph;
  int32_t id; /* from 1 */
} mica_value;

/* Dynamic dimension: each run of a session may have another extent. */
#define MICA_DYNAMIC (-1)

/* Creates an empty graph. */
MICA_API MICA_CHECKED mica_status mica_graph_create(mica_graph **graph);
/* Destroys a graph. Sessions made from it keep what they need. NULL is a no-op. */
MICA_API void mica_graph_destroy(mica_graph *graph);

/* Return the first error of a builder, or MICA_OK, and the message of this error, "" for MICA_OK. The message of an op
 * has its name, shapes, and the names of values that have one. */
MICA_API MICA_CHECKED mica_status mica_graph_status(const mica_graph *graph);
MICA_API const char *mica_graph_message(const mica_graph *graph);
/* Records an error in a graph as builders do. Call it in your own functions that build parts of graphs: layers, steps,
 * hooks. If the graph already has an error, that one stays. Returns the null value. sentence NULL: the name of the
 * status. A status MICA_OK is recorded as MICA_E_INVALID. */
MICA_API mica_value mica_graph_fail(mica_graph *graph, mica_status status, const char *sentence);

/* A tensor that the caller feeds at each run. Dimensions may be MICA_DYNAMIC. Names must be unique among inputs and
 * parameters. */
MICA_API mica_value mica_input(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
/* A tensor that the session keeps between runs: weights, statistics, optimiser state. Dimensions must not be dynamic.
 */
MICA_API mica_value mica_parameter(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
/* A constant. Copies data. A bool is true if its byte is not 0. */
MICA_API mica_value mica_constant(mica_graph *graph, mica_dtype dtype, mica_shape shape, const void *data);
/* A constant of rank 0. */
MICA_API mica_value mica_scalar(mica_graph *graph, mica_dtype dtype, double value);
/* A constant with the same value everywhere; needs no memory. The value is rounded to the dtype as by mica_cast. */
MICA_API mica_value mica_full(mica_graph *graph, mica_dtype dtype, mica_shape shape, double value);
/* A constant with the same value everywhere, in the shape and dtype of another value. Dimensions may be dynamic. */
MICA_API mica_value mica_full_like(mica_value like, double value);

/* Assigns a value to a parameter in each run, after everything in the run has read the old one. Shapes and dtypes must
 * be equal. A parameter can be assigned once. */
MICA_API void mica_assign(mica_value parameter, mica_value value);

/* True for the null value. */
MICA_API bool mica_value_is_null(mica_value value);
/* Shape and dtype; MICA_SCALAR and MICA_F32 for a null value. */
MICA_API mica_shape mica_value_shape(mica_value value);
MICA_API mica_dtype mica_value_dtype(mica_value value);
/* Names a value for messages, dumps and checkpoints. Returns it. Inputs and parameters keep their names. */
MICA_API mica_value mica_named(mica_value value, const char *name);
/* Name of a value; "" if it has none. */
MICA_API const char *mica_value_name(mica_value value);

/* Adds the gradients grads[i] = d loss / d wrt[i] as new values of the graph, with wrt[i]'s shape and dtype. loss must
 * have one element. The gradient is zero if loss does not depend on wrt[i]. Gradients can be differentiated again.
 * MICA_E_UNSUPPORTED: an op between wrt[i] and loss has no gradient; the message names it. MICA_E_SHAPE: loss does not
 * have exactly one element. MICA_E_DTYPE: loss is not a float. After a failure grads are null values, and the error is
 * also recorded in the graph. */
MICA_API MICA_CHECKED mica_status mica_gradients(mica_value loss, const mica_value *wrt, size_t count,
                                                 mica_value *grads);

/* Gradient checkpointing (Chen et al. 2016): this value is kept for the backward pass. The values between checkpoints
 * are not kept, but computed again. Returns the value. */
MICA_API mica_value mica_checkpoint(mica_value value);

/* Returns the value; no gradient flows through it. */
MICA_API mica_value mica_stop_gradient(mica_value value);

typedef enum mica_dump_format { MICA_DUMP_FORMAT_TEXT, MICA_DUMP_FORMAT_GRAPHVIZ } mica_dump_format;
/* Writes the graph as text, one line per node with all its results, or as Graphviz. The caller frees *text with
 * mica_free. */
MICA_API MICA_CHECKED mica_status mica_graph_dump(const mica_graph *graph, mica_dump_format format, char **text);

MICA_END_DECLS

#endif
