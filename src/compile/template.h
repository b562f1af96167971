/* compile/template.h: a graph made ready: every shape known, only what is needed, simplified.
 *
 *   mica__template_clone        what a session keeps of the caller's graph, factors of channels moved into weights
 *   mica__template_specialise   that for the shapes of one run, simplified */
#ifndef MICA_COMPILE_TEMPLATE_H
#define MICA_COMPILE_TEMPLATE_H

#include "compile/access.h"
#include "ir/graph.h"

/* When a run ends, the parameter holds the value. */
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

/* The part of the graph that the outputs and all assignments need. Where `scale_folding`, launches multiply
 * into an operand (mica__op.scale) those factors of their results that stay as they are from run to run. */
mica_status mica__template_clone(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                 bool scale_folding, mica__template *template);

/* A copy of the node and its results in out; map is from the graph's ids to those of out, 0 for none, and gets them.
 * Names are copied, but not filed: inputs and parameters are made by their builders where they are to be found. */
mica_status mica__template_copy_node(const mica_graph *graph, int32_t id, int32_t *map, mica_graph *out);

/* invariant[id - 1]: whether the node is made of constants and parameters alone, so that it stays as it is from run to
 * run. But those with written[id - 1] are not, nor is what is made of them: each run writes outputs anew, and the
 * parameters that something is assigned to. What is made of held parameters (mica__is_held) or by transient ops is not
 * either: it would be kept. */
void mica__template_find_invariant(const mica_graph *graph, const bool *written, bool *invariant);

/* Finds the products of launches that the launch itself can give, where what it takes for that stays as it is.
 * scaled[id - 1] becomes 1 + the product's operand that is the launch, 0 for all other nodes; launches that are not
 * needed any more are taken out of `needed`. The outputs and what they need are marked. */
mica_status mica__template_find_scaled(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                       bool *needed, int32_t *scaled);
/* The launch in place of such a product, in a copy of the graph; map is from the graph's ids to the copy's. */
mica_status mica__template_put_scaled(const mica_graph *graph, int32_t id, int32_t launch_operand, const int32_t *map,
                                      mica_graph *out, int32_t *copy);

/* shapes[id - 1] is the shape of input `id` of source; other entries are not read. The result has no open dimension.
 * Every output and every assigned value is a POINTWISE, REDUCE or LAUNCH node of its own, used as one output or
 * assignment, so that it can be written where it belongs. An assigned value has the parameter's dtype and elements, but
 * maybe another shape. */
mica_status mica__template_specialise(const mica__template *source, const mica_shape *shapes, bool simplify,
                                      mica__template *template);

/* Inference in `dtype`, f16 or bf16, where that is enough: values of f32 between products are stored so; see narrow.c.
 * MICA_E_UNSUPPORTED if there are assignments. */
mica_status mica__template_narrow(mica__template *template, mica_dtype dtype);

/* Puts ops in the place of trees that are their written-out forms (mica__op.match), where nothing else needs what is
 * inside; the last step of specialising. With an engine, for whose device launches have their epilogues, ops that are
 * several such launches (mica__op.match_launches). */
mica_status mica__template_rewrite(mica__template *template, mica_engine *engine);

/* Lets launches do what pointwise users do to their results, where their ops can (mica__op.fuse_epilogue). */
mica_status mica__template_fuse_epilogues(mica__template *template);

/* The elements of a constant or full node as doubles (the caller's), NULL and MICA_OK when they cannot be known or are
 * too many; see fold.c. */
mica_status mica__template_values(const mica__node *node, double **values);
/* The elements of all results of a node computed on the host from constant inputs, types[r] being that of result r;
 * all NULL and MICA_OK when that is not possible. */
mica_status mica__template_fold(const mica_graph *graph, const mica__node *node, const mica__type *types,
                                double *values[MICA__MAX_RESULTS]);

/* The view chain from node `id` down to what is not a view, as one access over the shape of `id`. As many views as
 * compose are walked; *base is where it ends. For what is not a view: itself, row-major. */
mica__access mica__template_look(const mica_graph *graph, int32_t id, int32_t *base);

int64_t mica__node_count(const mica__node *node);
size_t mica__node_bytes(const mica__node *node);

#endif
