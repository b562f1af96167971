/* compile/template.h: copies of a caller's graph that a session makes before it plans launches and memory. They have
 * only the graph's inputs and the nodes that outputs and assignments need.
 *
 *   mica__template_clone        makes the copy that a session keeps, and moves channel factors into weights if the
 *                               caller wants it
 *   mica__template_specialise   makes from it a copy for the input shapes of one run, in which all shapes are known,
 *                               and simplifies that copy if the caller wants it */
#ifndef MICA_COMPILE_TEMPLATE_H
#define MICA_COMPILE_TEMPLATE_H

#include "compile/access.h"
#include "ir/graph.h"

/* An assignment: when a run ends, the parameter holds the value. */
typedef struct mica__assignment {
  int32_t parameter, value;
} mica__assignment;

typedef struct mica__template {
  mica_graph *graph; /* owned */
  int32_t *outputs;
  int32_t output_count;
  mica__assignment *assignments;
  int32_t assignment_count;
} mica__template;

void mica__template_free(mica__template *template);

/* Clones the part of the graph that the outputs and all assignments need, and all inputs. With `scale_folding`, a
 * factor of a launch's result moves into an operand of the launch, if the op can do this (mica__op.scale) and both stay
 * the same between runs. */
mica_status mica__template_clone(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                 bool scale_folding, mica__template *template);

/* Copies the node and its results to out, and notes the copies in map, from the graph's ids to those in out (0: none).
 * Names are copied too, but `out` does not register them for lookup by name. */
mica_status mica__template_copy_node(const mica_graph *graph, int32_t id, int32_t *map, mica_graph *out);

/* Sets invariant[id - 1] if the node is computed from constants and parameters only, so that it stays the same between
 * runs. Two kinds of values are never invariant:
 * - values with written[id - 1], such as outputs and assigned parameters, which each run writes, and everything
 *   computed from them;
 * - results of held parameters (mica__is_held) and of transient ops, because invariant values are kept in memory. */
void mica__template_find_invariant(const mica_graph *graph, const bool *written, bool *invariant);

/* Finds products of a launch's result that the launch itself can compute, from operands that stay the same between
 * runs. For such a product `id`, scaled[id - 1] becomes 1 + the index of its operand that is the launch; for other
 * nodes 0. Launches that are no longer needed are removed from `needed`, in which outputs and what they need are
 * marked. */
mica_status mica__template_find_scaled(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                       bool *needed, int32_t *scaled);
/* Adds to `out`, a copy of the graph, the launch that computes product `id` itself. *copy receives the id of that
 * launch in `out`. launch_operand is the index of the product's operand that is the launch. map[i - 1] is the id in
 * `out` of node i of the graph. */
mica_status mica__template_put_scaled(const mica_graph *graph, int32_t id, int32_t launch_operand, const int32_t *map,
                                      mica_graph *out, int32_t *copy);

/* shapes[id - 1] is the shape of input `id` of source; other entries are not read. The result has no open dimension.
 * Every output and every assigned value is a computed node of its own (no source and no view), used as one output or
 * assignment, so that it can be written directly to its destination. An assigned value has the parameter's dtype and
 * elements, but possibly another shape. */
mica_status mica__template_specialise(const mica__template *source, const mica_shape *shapes, bool simplify,
                                      mica__template *template);

/* Changes the template to inference in `dtype`, f16 or bf16. Only products, and the values between them, use that type;
 * narrow.c has the rules. Fails with MICA_E_UNSUPPORTED if there are assignments. */
mica_status mica__template_narrow(mica__template *template, mica_dtype dtype);

/* Replaces trees of nodes by single ops, if nothing else needs the values inside a tree.
 * - engine NULL: replaces written-out forms of ops (mica__op.match). This is the last step of specialising.
 * - otherwise: replaces trees of several launches by one op that suits the engine's device (mica__op.match_launches),
 *   and lets launches fuse the nodes that compute their operands (mica__op.fuse_operands). Call it after epilogues are
 *   fused. */
mica_status mica__template_rewrite(mica__template *template, mica_engine *engine);

/* Lets launches compute the pointwise users of their results, if their ops can (mica__op.fuse_epilogue). */
mica_status mica__template_fuse_epilogues(mica__template *template);

/* Lets launches read and write values with channels last (mica__op.layouts) if each of them would otherwise reorder the
 * values itself, and lets several launches share a reordered copy. Does nothing unless the device is a GPU. It is the
 * last change to the template before partitioning. */
mica_status mica__template_choose_layouts(mica__template *template, mica_engine *engine);

/* The elements of a constant or full node as doubles, which the caller frees; NULL and MICA_OK for other nodes, for too
 * many elements (fold.c), and for integers of magnitude 2^53 or more. */
mica_status mica__template_values(const mica__node *node, double **values);
/* Computes the elements of all results of a node on the host from constant inputs; types[r] is the type of result r.
 * All are NULL, with MICA_OK, if that is not possible. */
mica_status mica__template_fold(const mica_graph *graph, const mica__node *node, const mica__type *types,
                                double *values[MICA__MAX_RESULTS]);

/* The chain of views from node `id` down to the first node that is not a view, as one access over the shape of `id`.
 * Follows the views as far as they compose; *base is where it ends. If `id` is not a view: `id` itself, row-major. */
mica__access mica__template_look(const mica_graph *graph, int32_t id, int32_t *base);

int64_t mica__node_count(const mica__node *node);
size_t mica__node_bytes(const mica__node *node);

#endif
