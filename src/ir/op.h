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
  MICA__OP_SOURCE,    /* input, parameter, constant, full: no work */
  MICA__OP_POINTWISE, /* y[i] = f(x0[i], x1[i], ...) after broadcasting; `expression` says f */
  MICA__OP_REDUCE,    /* reduces axes; attributes are mica__reduce_attrs */
  MICA__OP_VIEW,      /* a view of input 0's elements, which `view` describes: reshape, transpose, expand, slice,
                       * flip */
  /* Its value depends only on the shapes of its inputs. When these are known, `evaluate` computes it as a constant. */
  MICA__OP_SHAPE,
  MICA__OP_LAUNCH, /* queues kernels of its own (`launch`), or computes on the host (`host`, `begin`) */
  MICA__OP_RESULT, /* a further result of its input's node: no work */
} mica__op_kind;

/* Attributes of a REDUCE op. */
#define MICA__REDUCE_ATTRS(X, S)                                                                                       \
  X(S, AXES, axes, 0, "what is reduced")                                                                               \
  X(S, BOOL, keep, false, "the reduced axes stay, with an extent of 1")
MICA__ATTR_STRUCT(reduce, MICA__REDUCE_ATTRS);

/* How a generated kernel combines the elements of a REDUCE op. max and argmax treat NaN as the largest value, min and
 * argmin as the smallest. If several elements are equal, argmax and argmin return the first one in row-major order of
 * the reduced axes. JOIN_NONE: no kernel is generated for the op; it is rewritten into other ops or has its own
 * launch. */
typedef enum mica__join {
  MICA__JOIN_NONE,
  MICA__JOIN_SUM,
  MICA__JOIN_PROD,
  MICA__JOIN_MAX,
  MICA__JOIN_MIN,
  MICA__JOIN_ARGMAX,
  MICA__JOIN_ARGMIN,
} mica__join;

/* How an op behaves when a session computes in 16 bits (compile/narrow.c). Pointwise ops and views need no entry: they
 * follow the rule of MICA__NARROWS_LATER. */
typedef enum mica__narrows {
  MICA__NARROWS_NEVER,
  /* 16-bit values begin at this op, such as a product: its operands are cast, and its result is 16-bit */
  MICA__NARROWS_FIRST,
  /* computed in 16 bits if at least one operand is computed in 16 bits already, and all its other f32 operands are
   * weights or constants */
  MICA__NARROWS_LATER,
} mica__narrows;

/* Maximum number of results of an op. */
#define MICA__MAX_RESULTS 8

/* Arguments of a gradient rule: the node's results and inputs, and the gradients of the loss with respect to the
 * results. */
typedef struct mica__grad {
  mica_value y; /* result 0 */
  /* gradient with respect to y; null if it is zero, which is possible only for an op with several results */
  mica_value dy;
  /* results[k] and dresults[k] for all results. dresults[k] is null if it is zero; at least one of them is not null. */
  const mica_value *results, *dresults;
  const mica_value *inputs;
  int32_t input_count;
  /* The rule writes the gradients of the inputs here; all are null at first. null means no gradient, as for an integer
   * input. */
  mica_value *dinputs;
} mica__grad;

/* Arguments of an evaluation on the host. All shapes are known; attributes are as `infer` left them. */
typedef struct mica__eval {
  const void *attrs;
  const double *const *inputs; /* row-major; inputs[k] is NULL if only its shape matters */
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
  /* MICA__ON_... bits of the kernel variants to use; checks set them. 0: the variant for the device. */
  unsigned classes;
  /* Used by checks, together with `classes`: launches the implementation that has a kernel variant of this name
   * (mica__exec_choose). NULL: launches the first implementation that can solve the problem. */
  const char *variant;
  /* for checks: receives the kernels and variants that the launch uses; may be NULL */
  struct mica__launch_notes *notes;
  /* Bit k: input k is a constant, or a parameter that the session does not assign. So only the caller can change it
   * between runs.
   *
   * The op may compute values that depend only on such inputs once, in the prologue. It queues that work in `prologue`,
   * and stores the values in a mica__workspace_create of `prologue`. The work runs before the first run, and again
   * after such an input has changed. prologue is NULL if `constant` is 0. */
  uint32_t constant;
  mica_queue *prologue;
  /* Bit k: input k is a held weight (mica__is_held). No copy of it may stay in memory, so values derived from it must
   * not outlive the launch. Such an input is not `constant`. */
  uint32_t held;
  /* Bit k: other launches may use the same value derived from input k, and input k does not change before the last of
   * them is recorded. So this launch may lend the value to them (runtime/loans.h). */
  uint32_t lends;
} mica__exec;

/* Arguments of an op that is computed on the host and has no kernels. Elements are row-major, as on the device. The
 * operands lie in one block of host memory, in order, each at a multiple of 64 bytes. This struct and the memory stay
 * at the same addresses between runs. */
typedef struct mica__host {
  const void *attrs;
  const struct mica__type *types; /* of the inputs */
  int32_t input_count;
  const struct mica__type *type; /* of the results, an array */
  const void *const *inputs;
  void *output; /* result 0; every element of every result must be written */
  void *const *outputs;
} mica__host;

/* When a step runs. BUILT: in an order that saves memory and otherwise follows the order of building
 * (compile/partition.h). SOON: as soon as its operands exist. An op in two halves (`begin` and `end`) uses SOON, so
 * that its first half starts right after the launch that makes its operands, and other launches run before its second
 * half. */
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
  /* other: the type of the user's second operand; NULL if it has none. access: how the user reads that operand, over
   * the user's shape. */
  const struct mica__type *other;
  mica__access access;
  /* The op fills these in: the op that computes both nodes at once, and its attributes, in a buffer of MICA__ATTRS_MOST
   * bytes. Its operands are the operands of `node`, and after them the user's second operand. */
  const struct mica__op *op;
  void *attrs;
} mica__epilogue_fusion;

/* Which values of a launch may have their channels last, that is the shape (N, S.., C) in place of (N, C, S..). For
 * inputs with channels last, the number of channels is rounded up so that the channels of a position take a multiple of
 * 16 bytes (op channels_last). */
typedef struct mica__layouts {
  /* bit k: if input k is not given with channels last, the launch makes such a copy itself */
  uint32_t copies;
  /* bit k: the launch can read input k with channels last; all inputs with a bit here must then be given in this way */
  uint32_t takes;
  /* with such inputs, the launch can also write its result with channels last, and needs no rounding up of its
   * channels */
  bool writes;
  int32_t addend; /* the input that must have the result's layout; 0: none */
} mica__layouts;

/* A graph in which an op looks for nodes that together compute the same as the op. */
typedef struct mica__match {
  const mica_graph *graph;
  /* users[id - 1] is the number of nodes, outputs and assignments that use the value `id`. NULL while the graph is
   * being built. An op need not check that the nodes it replaces have no other users: the rewriter does. An op may use
   * the numbers for stricter checks of its own. */
  const int32_t *users;
} mica__match;

/* Maximum number of operands of a match. */
#define MICA__MATCH_INPUTS 16

/* Position of an operand within the result. Element i of the operand along axis a is element start[a] + i step[a] of
 * the result. */
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
  /* The least and the largest number of inputs. For an op with optional operands: the number of required operands,
   * which come first, and the number of all operands. */
  int32_t min_inputs, max_inputs;
  int32_t results;              /* number of results; 0: 1 */
  const mica__attr_list *attrs; /* NULL: none; functions below take the struct as a void * */
  /* Dtypes of operands and results, such as "n0>b". Before '>' is one letter per operand; the last letter also applies
   * to all further operands. After '>' is one letter per result.
   *
   *   for operands: f float, i integer, n float or integer, b bool, x i32 or i64, * any, or a digit: that operand's
   *   for results: b bool, s i32, l i64, or a digit
   *
   * Without '>', `infer` sets the dtypes of results. NULL: operands may have any dtype. If the attributes begin with
   * INT `present` (mica__graph_add_present), letters and digits also count absent operands. */
  const char *dtypes;
  /* Infers the types of all results from the types of the inputs and from the attributes. Only mica__op_infer calls it,
   * after it has checked the inputs' dtypes. It need not set dtypes of results that `dtypes` declares. It may normalise
   * attributes, such as negative axes. Dynamic dimensions stay MICA_DYNAMIC. MICA_E_SHAPE: shapes do not fit; the
   * message names both. */
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
  /* POINTWISE: `scalar` computes one element in double. It is the reference in tests, and the compiler evaluates ops
   * with constant operands by it. Other ops, except views, may have `evaluate` instead, which computes whole tensors.
   * The caller converts the results: integers are truncated towards zero and wrap, and a result that is not finite
   * becomes 0. Float results stay as they are. */
  double (*scalar)(const double *inputs, const void *attrs);
  /* POINTWISE with one operand, such as a cast to a narrower type: true if a user that computes in a wider type may
   * read the operand instead of the result. Gradients of the result then also apply to the operand. NULL: never. */
  bool (*is_stream)(const void *attrs);
  mica_status (*evaluate)(const mica__eval *eval);
  /* VIEW: fills *access with how the output reads input 0, whose elements are in row-major order. Strides may be
   * negative. False if strides cannot describe that. All types and attributes of the node must be known. */
  bool (*view)(const struct mica__node *node, mica_shape input, mica__access *access);
  /* LAUNCH: true if it can also do the work of a user; see mica__epilogue_fusion. The user's shape has the result's
   * number of elements and last dimension. May be NULL. */
  bool (*fuse_epilogue)(mica__epilogue_fusion *fusion);
  /* LAUNCH: true if multiplying an operand gives the same result as multiplying the launch's result. The user is a
   * product of the result and its other operand, which then moves before the launch. *operand receives the number of
   * the launch's operand to multiply, and *shape the shape in which the user's other operand must be. Does not fill
   * `fusion`. May be NULL. */
  bool (*scale)(const mica__epilogue_fusion *fusion, int32_t *operand, mica_shape *shape);
  /* LAUNCH whose result consists of its operands, each at a position of its own, and *fill everywhere else, such as a
   * concatenation or a padding. Gives the position of operand k. A kernel can then read the operands themselves, within
   * bounds, instead of the result. NULL for other ops. */
  void (*window)(const mica_graph *graph, const struct mica__node *node, int32_t k, mica__inset *window, double *fill);
  /* True if the tree of nodes that ends in `root` computes the same as this op. Then `inputs` (room for
   * MICA__MATCH_INPUTS), *count and attrs (MICA__ATTRS_MOST bytes, defaults at first) receive the op's arguments. The
   * op's results must have the types of root's.
   *
   * Called only if root's results other than result 0 are unused; see ir/pattern.h. Ops are tried in the order of
   * ops.def and nodes from last to first, so large trees are found before smaller ones inside them. NULL: nothing is
   * replaced by this op. */
  bool (*match)(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
  /* Like `match`, for trees of launches with fused epilogues (fuse_epilogue), if the engine's device computes them
   * faster as one. */
  bool (*match_launches)(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                         void *attrs);
  /* LAUNCH: true if its kernel can also compute some nodes before it, such as a norm of an operand, on the engine's
   * device. Nothing else may read these nodes. `inputs` (room for MICA__MATCH_INPUTS), *count and attrs belong to the
   * node `root` at first. If the function returns true, it has changed them to the arguments of the fused launch. The
   * results stay the same. Called after match_launches. May be NULL. */
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
  /* LAUNCH: `layouts` fills *layouts for the engine's device. `set_last` sets attributes so that the launch reads the
   * inputs with a bit in `inputs` with channels last, and writes its result with channels last if `result` is true.
   * Both are called when epilogues are fused, and both may be NULL. */
  void (*layouts)(const struct mica__node *node, const struct mica__type *inputs, mica_engine *engine,
                  mica__layouts *layouts);
  void (*set_last)(void *attrs, uint32_t inputs, bool result);
  double (*flops)(const struct mica__node *node, const struct mica__type *inputs);
  /* Properties for the simplifier. They are exact, also for NaN, infinities and signed zeros.
   *
   *   identity     if the output has input 0's type, it equals input 0 (cast, stop_gradient)
   *   involution   applying it twice gives the operand (neg, logical_not, bitwise_not)
   *   units        bit k: if input k is `unit` everywhere, the result is the other input, broadcast (mul and div: 1;
   *                sub: 0; add: -0.0, which is 0 for integers) */
  bool identity, involution;
  /* True if the node's result is a single element: the sum of the products of inputs 0 and 1, added in the order of the
   * elements. A generated kernel may then compute it together with the ops around it. NULL: never. */
  bool (*is_dot)(const struct mica__node *node, const struct mica__type *inputs);
  /* LAUNCH with `window`: every element of the result is an element of an operand. An operand that was computed
   * directly in the result's memory is not copied again. */
  bool composes;
  /* Every run computes the op again, even if its operands stay the same, because its result needs more memory than they
   * do. */
  bool transient;
  /* not evaluated at compile time if its operands are constants, because other ops look for it (mica__op.match) */
  bool kept;
  uint32_t units;
  double unit;
  /* POINTWISE: approximate time per element in additions; 0: 1. Cheap values with several uses are recomputed, not
   * stored. */
  int32_t cost;
  uint32_t may_alias; /* bit k: the output may overwrite input k */
  /* LAUNCH: bit k: one result is a changed copy of input k, with the same number of elements. The other inputs say
   * which elements change. The lowest set bit belongs to result 0, the next one to result 1. If the result shares the
   * memory of input k (bit k of may_alias is set), the launch writes only the changes. */
  uint32_t updates;
  uint32_t takes_strides; /* LAUNCH: bit k: input k may be a view with any strides that are not negative */
  uint32_t lends;         /* LAUNCH: bit k: a value derived from input k may be lent to another launch with this bit
                           * (mica__exec.lends) */
  uint32_t takes_halves;  /* LAUNCH: bit k: input k, if f32, may be given as f16 or bf16 and is converted when read */
  uint32_t fills;         /* LAUNCH: bit k: result k is written even if it is unused, and gets memory for that */
  mica__narrows narrows;
  uint32_t shape_only; /* bit k: only the shape of input k is used, so it need not be kept or computed */
} mica__op;

#endif
