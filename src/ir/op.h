/* ir/op.h: an op as data. Higher layers learn everything about an op from its descriptor. */
#ifndef MICA_IR_OP_H
#define MICA_IR_OP_H

#include "ir/attr.h"

#include <mica/graph.h>
#include <mica/tensor.h>

struct mica__kernel_desc; /* runtime/kernel.h */
struct mica__check;       /* ops/select/check.h */
struct mica__tunable;     /* ops/select/tunable.h */
struct mica__node;        /* ir/graph.h */
struct mica__type;

/* How the compiler treats a value. */
typedef enum mica__op_kind {
  MICA__OP_SOURCE,    /* input, parameter, constant: no work */
  MICA__OP_POINTWISE, /* y[i] = f(x0[i], x1[i], ...) after broadcasting; `expression` says f */
  MICA__OP_REDUCE,    /* reduces axes; attributes are mica__reduce_attrs */
  MICA__OP_VIEW,      /* a view of input 0's elements, which `view` describes: reshape, transpose, expand, slice,
                       * flip */
  MICA__OP_SHAPE,     /* depends only on its inputs' shapes; once they are known, a constant that `evaluate` computes */
  MICA__OP_LAUNCH,    /* queues kernels of its own (`launch`), or computes on the host (`host`, `begin`) */
  MICA__OP_RESULT,    /* a further result of its input's node: no work */
} mica__op_kind;

/* Attributes of a REDUCE op. */
#define MICA__REDUCE_ATTRS(X, S)                                                                                       \
  X(S, AXES, axes, 0, "what is reduced")                                                                               \
  X(S, BOOL, keep, false, "the reduced axes stay, with an extent of 1")
MICA__ATTR_STRUCT(reduce, MICA__REDUCE_ATTRS);

/* How a generated kernel combines the elements of a REDUCE op. NaN is the largest value for max and argmax, the
 * smallest for min and argmin. argmax and argmin return the first of equals, in row-major order of the reduced axes.
 * JOIN_NONE: no generated kernel; rewritten into other ops, or launched. */
typedef enum mica__join {
  MICA__JOIN_NONE,
  MICA__JOIN_SUM,
  MICA__JOIN_PROD,
  MICA__JOIN_MAX,
  MICA__JOIN_MIN,
  MICA__JOIN_ARGMAX,
  MICA__JOIN_ARGMIN,
} mica__join;

/* Role of an op when a session computes in 16 bits (compile/narrow.c). Pointwise ops and views follow their operands.
 */
typedef enum mica__narrows {
  MICA__NARROWS_NEVER,
  MICA__NARROWS_FIRST, /* its operands and its result become 16-bit */
  MICA__NARROWS_LATER, /* its result becomes 16-bit if its operands are */
} mica__narrows;

/* Maximum number of results of an op. */
#define MICA__MAX_RESULTS 8

/* Arguments of a gradient rule: the node's results, and the gradient of the loss with respect to each. */
typedef struct mica__grad {
  mica_value y;                         /* result 0 */
  mica_value dy;                        /* null if zero, which cannot occur for ops with one result */
  const mica_value *results, *dresults; /* of all results; dresults[k] is null if zero; at least one is not */
  const mica_value *inputs;
  int32_t input_count;
  mica_value *dinputs; /* all null at first; the rule fills them. null: no gradient, as for an integer input */
} mica__grad;

/* Arguments of an evaluation on the host. All shapes are known; attributes are as `infer` left them. */
typedef struct mica__eval {
  const void *attrs;
  const double *const *inputs; /* row-major; NULL if only the shape matters */
  const struct mica__type *types;
  int32_t input_count;
  const struct mica__type *type; /* of the results, an array */
  double *output;                /* result 0 */
  double *const *outputs;        /* all results; NULL if the op has one */
} mica__eval;

/* Arguments of a launch. Tensors are contiguous, unless the op's `takes_strides` says otherwise. */
typedef struct mica__exec {
  mica_queue *queue;
  const void *attrs;
  const mica_tensor *const *inputs;
  int32_t input_count;
  mica_tensor *output;         /* result 0 */
  mica_tensor *const *outputs; /* of an op with several results: all of them; NULL for unused ones */
  unsigned classes; /* MICA__ON_... bits of the kernel variants to use; 0: the device's own. Set by checks. */
  /* For checks, with classes: the implementation that has a variant of this name is launched with it
   * (mica__exec_choose). NULL: the first that takes the problem. */
  const char *variant;
  /* for checks: receives the kernels and variants that the launch uses; may be NULL */
  struct mica__launch_notes *notes;
  /* Bit k: input k stays the same between runs (a constant, or a parameter that the session does not assign). In the
   * prologue the op may compute anything that depends only on such inputs, into a mica__workspace_create of `prologue`.
   * Work queued there runs before the first run, and again after such an input has changed. prologue is NULL if
   * constant is 0. */
  uint32_t constant;
  mica_queue *prologue;
  /* Bit k: input k is a held weight (mica__is_held). It stays the same, but no copy of it may stay in memory: values
   * derived from it must not outlive the launch. Such an input is not `constant`. */
  uint32_t held;
  /* Bit k: input k does not change before another launch that could use the same value derived from it has been
   * recorded. The launch may lend that value to the other one (runtime/loans.h). */
  uint32_t lends;
} mica__exec;

/* Arguments of an op that exists only on the host. Elements are row-major, as on the device. The operands are in one
 * block of host memory, in order, at multiples of 64 bytes. Object and memory stay the same between runs. */
typedef struct mica__host {
  const void *attrs;
  const struct mica__type *types; /* of the inputs */
  int32_t input_count;
  const struct mica__type *type; /* of the results, an array */
  const void *const *inputs;
  void *output; /* result 0; every element of every result must be written */
  void *const *outputs;
} mica__host;

/* When a step runs. BUILT: by memory and the order of building (compile/partition.h). SOON: as soon as its
 * operands exist, so that an op in two halves begins right after the launch that makes its operands, and ends late. */
typedef enum mica__order { MICA__ORDER_BUILT, MICA__ORDER_SOON } mica__order;

/* A strided access: element (i0, i1, ...) of the output is at offset + sum i_k stride_k in the input. */
typedef struct mica__access {
  int64_t offset;
  int64_t stride[MICA_MAX_RANK];
} mica__access;

/* A pointwise op that the kernels of a LAUNCH could apply when they store each element of the result. */
typedef struct mica__epilogue_fusion {
  const struct mica__node *node; /* the launch */
  const struct mica__node *user; /* the pointwise op, the only user of the result */
  /* The user's other operand; NULL if it has none. access: how the user reads it, over the user's shape. */
  const struct mica__type *other;
  mica__access access;
  /* Filled by the op: the op that does the work of both, and its attributes, in a buffer of MICA__ATTRS_MOST bytes. Its
   * operands are node's operands, then the other one. */
  const struct mica__op *op;
  void *attrs;
} mica__epilogue_fusion;

/* Which values of a launch may have their channels last: shape (N, S.., C) in place of (N, C, S..). Channels of inputs
 * are rounded up to whole pieces of 16 bytes (op channels_last). */
typedef struct mica__layouts {
  uint32_t copies; /* bit k: the launch copies input k into this layout itself, unless it is given in it */
  uint32_t takes;  /* bit k: it can read input k in this layout, if all inputs with a bit here are given in it */
  bool writes;     /* it can then also write its result in this layout, and the result's channels are whole pieces */
  int32_t addend;  /* the input that must have the result's layout; 0: none */
} mica__layouts;

/* A graph in which an op looks for its written-out form. */
typedef struct mica__match {
  const mica_graph *graph;
  /* users[id - 1]: number of uses of value id by nodes, outputs and assignments. NULL while the graph is being built.
   * The rewriter ensures that no other node needs the removed ones; an op may require more. */
  const int32_t *users;
} mica__match;

/* Maximum number of operands of a match. */
#define MICA__MATCH_INPUTS 16

/* Position of an operand in the result: its element i along axis a is the result's start[a] + i step[a]. */
typedef struct mica__inset {
  int64_t start[MICA_MAX_RANK], step[MICA_MAX_RANK];
} mica__inset;

typedef struct mica__op {
  const char *name;

  /* The device side: all kernels that the op may launch, with parameters and variants. The list ends in NULL; the
   * pointer may be NULL. The doctor, the tuner and the vendor compilers use it. */
  const struct mica__kernel_desc *const *kernels;
  /* Runs every variant of every kernel over a grid of cases, compares with the naive reference in double precision, and
   * reports each with mica__check_note. Fails only if the check itself cannot continue. */
  mica_status (*check)(struct mica__check *check);
  /* Table for the tuner; NULL if there is nothing to choose. */
  const struct mica__tunable *tunable;

  /* The graph side; absent in ops that no graph uses. */
  mica__op_kind kind;
  int32_t min_inputs, max_inputs; /* with optional operands: number of required ones, which come first; number of all */
  int32_t results;                /* number of results; 0: 1 */
  const mica__attr_list *attrs;   /* NULL: none; functions below take the struct as a void * */
  /* Accepted and produced dtypes, such as "n0>b": one letter per operand, the last one for all further operands, then
   * one per result. f float, i integer, n number (both), b bool, x i32 or i64, * any; a digit: the dtype of that
   * operand. Results: b bool, s i32, l i64, or a digit. Without '>' infer sets dtypes; NULL accepts any. Letters and
   * digits also count absent operands of ops whose attributes begin with INT `present` (mica__graph_add_present). */
  const char *dtypes;
  /* Infers the types of all results from the inputs' types, whose dtypes are as declared, and the attributes. Results'
   * dtypes need not be set if they are declared. Only mica__op_infer calls it. MICA_E_SHAPE: the message names both
   * sides. May normalise attributes (negative axes). Dynamic dimensions pass through as MICA_DYNAMIC. */
  mica_status (*infer)(const struct mica__type *inputs, int32_t input_count, void *attrs, struct mica__type *out);
  /* Adds the nodes of the gradient; NULL: no gradient. */
  mica_status (*grad)(const mica__grad *grad);
  /* POINTWISE: an OpenCL C expression of a, b, c, d (the inputs) and the attributes' names (numbers, as constants of
   * a's type). Everything is a vector COMPUTEV(type, n); the expression must have the type of the result. Wrap
   * literals; the generator's macros hide differences between scalars and vectors of OpenCL C:
   *
   *   K(x)            the constant x in a's type: K(0.5); a bare literal would have one type only
   *   TRUTH(q)        a comparison or a logical result, 0 or 1, as b8: TRUTH(a < b)
   *   PICK(q, x, y)   q ? x : y per element, in the result's type; q is a comparison, or a b8 value
   *   CONVERT(x)      x, of a's type, cast to the result's type by common/cast.clh
   *
   * Built-in vector functions may be called, and functions of common/math.clh, which are faster. */
  const char *expression;
  const char *integer_expression; /* used instead if a is an integer or a bool; NULL: the same */
  mica__join join;                /* REDUCE */
  /* POINTWISE: `scalar` computes an element in double. It is the reference, and folds constants. Other ops except
   * views have `evaluate` instead, which computes whole tensors. The caller truncates integer results towards zero,
   * wraps them, and replaces results that are not finite by 0; float results stay. */
  double (*scalar)(const double *inputs, const void *attrs);
  /* POINTWISE of one operand: true if readers in a wider type may read the operand instead of the result. Gradients of
   * the result then also apply to the operand. NULL: never. */
  bool (*is_stream)(const void *attrs);
  mica_status (*evaluate)(const mica__eval *eval);
  /* VIEW: how the output reads input 0 if that is accessed row-major; strides may be negative. node has types and
   * attributes of known shapes. */
  bool (*view)(const struct mica__node *node, mica_shape input, mica__access *access);
  /* LAUNCH: true if it can also do the work of a user; see mica__epilogue_fusion. The user's shape has the result's
   * number of elements and last dimension. May be NULL. */
  bool (*fuse_epilogue)(mica__epilogue_fusion *fusion);
  /* LAUNCH: true if the user, a product of two, can move into the launch: multiplying operand *operand of the launch by
   * the user's other operand, in the shape *shape, gives the same as multiplying the result. Fills nothing in fusion.
   * May be NULL. */
  bool (*scale)(const mica__epilogue_fusion *fusion, int32_t *operand, mica_shape *shape);
  /* LAUNCH whose result shows each operand in a window, and *fill elsewhere: gives the window of operand k. Kernels can
   * then read the operands, within bounds, instead of the result. NULL for other ops. */
  void (*window)(const mica_graph *graph, const struct mica__node *node, int32_t k, mica__inset *window, double *fill);
  /* True if the tree that ends in `root` computes this op. Then inputs (room for MICA__MATCH_INPUTS), *count and attrs
   * (MICA__ATTRS_MOST bytes, defaults at first) are the op's, and its results have the types of root's. Nothing needs
   * further results of root; see ir/pattern.h. Ops are tried in the order of ops.def, nodes from last to first, so that
   * large forms are found before the forms inside them. NULL for ops without a written-out form. */
  bool (*match)(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
  /* Like `match`, for trees of launches with fused epilogues (fuse_epilogue), if the engine's device computes them
   * faster as one. */
  bool (*match_launches)(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                         void *attrs);
  /* LAUNCH: fuses nodes that compute operands of node `root`, such as a norm, if nothing else reads them and its launch
   * can do their work on the engine's device. inputs (room for MICA__MATCH_INPUTS), *count and attrs are the node's at
   * first; the op changes them to the values of the fused launch. The results stay the same. Called after
   * match_launches. May be NULL. */
  bool (*fuse_operands)(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                        void *attrs);
  /* LAUNCH: queues the work. Workspace comes from the engine's pool. */
  mica_status (*launch)(const mica__exec *exec);
  /* LAUNCH, instead of launch: computes on the host, between the preceding and the following launches. A run waits for
   * the inputs. A failure ends the run with its status. */
  mica_status (*host)(const mica__host *host);
  /* LAUNCH, instead of launch and host: computes on the host in two halves. Between them, a run continues with launches
   * that do not read a result. The thread that runs the session calls both. `host` is the same object in both. A
   * failure of either ends the run with its status.
   *
   * begin starts the work and returns without waiting. `ready`, which is queued and flushed, is done when the inputs
   * are on the host; a thread of the op may wait for it (mica_event_wait). The step owns it; do not destroy it, and do
   * not use it after end has returned. *pending is passed to end.
   *
   * end blocks until the work is done and every element of every output is written. A run calls it once per successful
   * begin, in the order in which results are read: before the first launch or step that reads a result or reuses its
   * memory, at the latest before the run returns. It is also called if nothing reads a result, and if the run has
   * failed since. `failed` is then the run's status, else MICA_OK. After a failure, end cancels and frees what begin
   * made, and its own status is ignored. */
  mica_status (*begin)(const mica__host *host, mica_event *ready, void **pending);
  mica_status (*end)(const mica__host *host, void *pending, mica_status failed);
  mica__order order;
  /* LAUNCH: fills *layouts for the engine's device, and sets attributes so that the launch reads these inputs, and
   * writes its result, with channels last. Called when epilogues are fused. Both may be NULL. */
  void (*layouts)(const struct mica__node *node, const struct mica__type *inputs, mica_engine *engine,
                  mica__layouts *layouts);
  void (*set_last)(void *attrs, uint32_t inputs, bool result);
  double (*flops)(const struct mica__node *node, const struct mica__type *inputs);
  /* Facts for the simplifier. They are exact, also for NaN, infinities and signed zeros.
   *
   *   identity     if the output has input 0's type, it equals input 0 (cast, stop_gradient)
   *   involution   applying it twice gives the operand (neg, logical_not, bitwise_not)
   *   units        bit k: if input k is `unit` everywhere, the result is the other input, broadcast (mul and div: 1;
   *                sub: 0; add: -0.0, which is 0 for integers) */
  bool identity, involution;
  /* True if the result is a single element: the sum of products of inputs 0 and 1, element by element in order. It is
   * then computed together with surrounding ops. */
  bool (*is_dot)(const struct mica__node *node, const struct mica__type *inputs);
  /* LAUNCH with `window`: the result consists only of its operands' elements. A launch copies only operands that are
   * not already in the result's memory. */
  bool composes;
  /* recomputed by every run, even from parameters only, because it needs more memory than its operands */
  bool transient;
  bool kept; /* not folded if its operands are constants, because other ops match it (mica__op.match) */
  uint32_t units;
  double unit;
  /* POINTWISE: approximate time per element in additions; 0: 1. Cheap values with several uses are recomputed, not
   * stored. */
  int32_t cost;
  uint32_t may_alias; /* bit k: the output may overwrite input k */
  /* LAUNCH: bit k: one result is input k with changes that the other inputs make, and has the same number of
   * elements. The lowest set bit belongs to result 0, the next one to result 1. If both share memory (bit k of
   * may_alias is set), the launch writes only the changes. */
  uint32_t updates;
  uint32_t takes_strides; /* LAUNCH: bit k: input k may be a view with any strides that are not negative */
  uint32_t lends;         /* LAUNCH: bit k: values derived from input k may be shared with other such launches */
  uint32_t takes_halves;  /* LAUNCH: bit k: input k, if f32, may be given as f16 or bf16 and is converted when read */
  uint32_t fills;         /* LAUNCH: bit k: result k is written even if it is unused, and gets memory for that */
  mica__narrows narrows;
  uint32_t shape_only; /* bit k: only the shape of input k is used, so it need not be kept or computed */
} mica__op;

#endif
