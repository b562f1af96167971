/* ir/op.h: an op as data. Everything the layers above know about an op, they know through its descriptor. */
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

/* The treatment of a value by the compiler. */
typedef enum mica__op_kind {
  MICA__OP_SOURCE,    /* input, parameter, constant: no work */
  MICA__OP_POINTWISE, /* y[i] = f(x0[i], x1[i], ...) after broadcasting; `expression` says f */
  MICA__OP_REDUCE,    /* reduces axes; attributes are mica__reduce_attrs */
  MICA__OP_VIEW,      /* another look at the elements of input 0: reshape, transpose, expand, slice, flip; `view` */
  MICA__OP_SHAPE,     /* a function of its inputs' shapes alone: a constant as soon as these are known; `evaluate` */
  MICA__OP_LAUNCH,    /* kernels of its own: `launch` */
  MICA__OP_RESULT,    /* a further result of its input's node: no work of its own */
} mica__op_kind;

/* The attributes of a REDUCE op. */
#define MICA__REDUCE_ATTRS(X, S)                                                                                       \
  X(S, AXES, axes, 0, "what is reduced")                                                                               \
  X(S, BOOL, keep, false, "the reduced axes stay, with an extent of 1")
MICA__ATTR_STRUCT(reduce, MICA__REDUCE_ATTRS);

/* How a generated kernel joins the elements of a REDUCE op. Of max and argmax a NaN is the largest value, of min and
 * argmin the smallest; argmax and argmin give the first of equals, counted through the reduced axes in row-major order.
 * JOIN_NONE: not by a generated kernel alone, but rewritten into other ops or launched. */
typedef enum mica__join {
  MICA__JOIN_NONE,
  MICA__JOIN_SUM,
  MICA__JOIN_PROD,
  MICA__JOIN_MAX,
  MICA__JOIN_MIN,
  MICA__JOIN_ARGMAX,
  MICA__JOIN_ARGMIN,
} mica__join;

/* How an op takes part where a session computes in 16 bits (compile/narrow.c). Pointwise ops and views follow. */
typedef enum mica__narrows {
  MICA__NARROWS_NEVER,
  MICA__NARROWS_FIRST, /* its operands become narrow, and so does its result */
  MICA__NARROWS_LATER, /* where its operands are */
} mica__narrows;

/* The most results that an op may have. */
#define MICA__MAX_RESULTS 8

/* The arguments of a gradient rule: the node's results, and the gradient of the loss with respect to each. */
typedef struct mica__grad {
  mica_value y;                         /* result 0 */
  mica_value dy;                        /* null where it is zero, which of an op with one result it never is */
  const mica_value *results, *dresults; /* all of them; dresults[k] is null where it is zero, but not all are */
  const mica_value *inputs;
  int32_t input_count;
  mica_value *dinputs; /* all null at first, to be filled; null means no gradient (integers, or none by mathematics) */
} mica__grad;

/* The arguments of an evaluation on the host; all shapes are known, attributes are as `infer` left them. */
typedef struct mica__eval {
  const void *attrs;
  const double *const *inputs; /* row-major; NULL where only the shape matters */
  const struct mica__type *types;
  int32_t input_count;
  const struct mica__type *type; /* of the results, an array */
  double *output;                /* result 0 */
  double *const *outputs;        /* all results; NULL where the op has but one */
} mica__eval;

/* The arguments of a launch. Tensors are contiguous unless the op's `takes_strides` says otherwise. */
typedef struct mica__exec {
  mica_queue *queue;
  const void *attrs;
  const mica_tensor *const *inputs;
  int32_t input_count;
  mica_tensor *output;         /* result 0 */
  mica_tensor *const *outputs; /* of an op with several: all, NULL where nobody wants the result */
  unsigned classes; /* MICA__ON_... whose kernel variants to take; 0 for the device's own. The checks set it. */
  struct mica__launch_notes *notes; /* of the checks: gets the kernels and variants that the launch takes; or NULL */
  /* bit k: input k stays as it is from run to run (a constant, or a parameter that the session does not assign). What
   * an op computes from such inputs alone it may compute in the prologue, into a mica__workspace_create of `prologue`:
   * what is queued there runs before the first run, and again when an input has changed. NULL where constant is 0. */
  uint32_t constant;
  mica_queue *prologue;
  /* bit k: input k is a held weight (mica__is_held). It stays as it is, but no copy of it may be kept: what is made of
   * it belongs to the launch. Such an input is not `constant`. */
  uint32_t held;
  /* bit k: input k stays as it is until a launch after this one, of an op that could use the same of it, is recorded:
   * what is made of it may be lent (runtime/loans.h). */
  uint32_t lends;
} mica__exec;

/* The arguments of an op that exists on the host alone: elements in row-major order, as they lie on the device. The
 * operands lie in one block of host memory, in their order, at multiples of 64 bytes; object and memory stay the same
 * from run to run. */
typedef struct mica__host {
  const void *attrs;
  const struct mica__type *types; /* of the inputs */
  int32_t input_count;
  const struct mica__type *type; /* of the results, an array */
  const void *const *inputs;
  void *output; /* result 0; every element of every result is to be written */
  void *const *outputs;
} mica__host;

/* When a step runs among those that could run: as memory and the order of building have it, or as soon as its operands
 * are there, so that an op in two halves begins right behind the launch that made them and ends late. */
typedef enum mica__order { MICA__ORDER_BUILT, MICA__ORDER_SOON } mica__order;

/* A strided access: element (i0, i1, ...) of the output's index space stands at offset + sum i_k stride_k of the
 * input. */
typedef struct mica__access {
  int64_t offset;
  int64_t stride[MICA_MAX_RANK];
} mica__access;

/* A pointwise op that the kernels of a LAUNCH could do to each element of their result as they store it. */
typedef struct mica__epilogue_fusion {
  const struct mica__node *node; /* the launch */
  const struct mica__node *user; /* the pointwise op, which alone uses the result */
  /* The user's other operand; NULL where there is none. access is how the user reads it, over the user's shape. */
  const struct mica__type *other;
  mica__access access;
  /* To be filled: the op that does both, and its attributes, for which there are MICA__ATTRS_MOST bytes. Its operands
   * are those of node, then the other one. */
  const struct mica__op *op;
  void *attrs;
} mica__epilogue_fusion;

/* A graph in which an op looks for its written-out form. */
typedef struct mica__match {
  const mica_graph *graph;
  /* users[id - 1]: how often nodes, outputs and assignments name value id. NULL in a graph that is still being built.
   * Whoever rewrites sees to it that nobody else needs what vanishes; an op may ask for more. */
  const int32_t *users;
} mica__match;

/* The most operands that a match may give. */
#define MICA__MATCH_INPUTS 16

/* The position of an operand in the result: its element i along axis a is the result's start[a] + i step[a]. */
typedef struct mica__inset {
  int64_t start[MICA_MAX_RANK], step[MICA_MAX_RANK];
} mica__inset;

typedef struct mica__op {
  const char *name;

  /* The device side. Every kernel it may launch, with its parameters and shipped variants; ends in NULL (the pointer
   * may be NULL). The doctor, the tuner and the vendor compilers work through this list. */
  const struct mica__kernel_desc *const *kernels;
  /* Runs every variant of every kernel on the device over a grid of cases and compares with the naive reference in
   * double precision; reports each through mica__check_note. Fails only when the checking itself cannot go on. */
  mica_status (*check)(struct mica__check *check);
  /* The tuner's table; NULL where there is nothing to choose. */
  const struct mica__tunable *tunable;

  /* The graph side; absent in ops that no graph uses. */
  mica__op_kind kind;
  int32_t min_inputs, max_inputs; /* with absent operands: those that must be there, which come first; all of them */
  int32_t results;                /* how many; 0 stands for 1 */
  const mica__attr_list *attrs;   /* NULL where there are none; the struct itself is a void * below */
  /* What dtypes it takes and gives, "n0>b": a letter an operand, the last one for all further operands, then one a
   * result. f floating, i integer, n number (both), b bool, x i32 or i64, * any; a digit: that of the operand with that
   * number. Results: b bool, s i32, l i64, or a digit. Without '>' infer says; NULL takes any. Letters and digits
   * count absent operands too, of an op whose attributes begin with INT `present` (mica__graph_add_present). */
  const char *dtypes;
  /* The types of all results from the inputs' types, whose dtypes are as declared, and the attributes; results' dtypes
   * need not be set where they are declared. Called by mica__op_infer alone. MICA_E_SHAPE names both sides. May
   * normalise attributes (negative axes). Open dimensions pass through as MICA_DYNAMIC. */
  mica_status (*infer)(const struct mica__type *inputs, int32_t input_count, void *attrs, struct mica__type *out);
  /* Adds the nodes of the gradient; NULL where there is none. */
  mica_status (*grad)(const mica__grad *grad);
  /* POINTWISE: an OpenCL C expression of a, b, c, d (the inputs) and the attributes' names (numbers, as constants of
   * a's type). Everything is a vector COMPUTEV(type, n); the expression must have the type of the result. Literals are
   * wrapped, and what differs between scalars and vectors of OpenCL C is hidden by macros of the generator:
   *
   *   K(x)            the constant x in a's type: K(0.5); a bare literal would be of one type only
   *   TRUTH(q)        a comparison or a logical result, 0 or 1, as b8: TRUTH(a < b)
   *   PICK(q, x, y)   q ? x : y element by element, in the result's type; q a comparison, or a b8 value
   *   CONVERT(x)      x, of a's type, cast to the result's type by common/cast.clh
   *
   * Built-in functions that take vectors may be called, and those of common/math.clh, which are faster. */
  const char *expression;
  const char *integer_expression; /* in its place where a is an integer or a bool; NULL: the same */
  mica__join join;                /* REDUCE */
  /* POINTWISE: the reference in double, which also folds constants. Others but views: evaluate whole tensors.
   * The caller cuts integer results towards zero, wraps them and takes 0 for what is not finite; floating ones stay. */
  double (*scalar)(const double *inputs, const void *attrs);
  /* POINTWISE of one operand: whether that stands for the result where it is read wider, so that gradients with
   * respect to the result are also those that arrive at the operand from elsewhere. NULL: it does not. */
  bool (*is_stream)(const void *attrs);
  mica_status (*evaluate)(const mica__eval *eval);
  /* VIEW: how the output reads input 0 when that is accessed row-major; strides may be negative. node has the types and
   * attributes of known shapes. */
  bool (*view)(const struct mica__node *node, mica_shape input, mica__access *access);
  /* LAUNCH: whether it can do what a user does; see mica__epilogue_fusion. The user's shape has as many elements as
   * the result and the same last dimension. May be NULL. */
  bool (*fuse_epilogue)(mica__epilogue_fusion *fusion);
  /* LAUNCH: whether its result times the user's other operand is the same launch on its own operand *operand times that
   * factor in *shape; the user must be a product of two. Of fusion nothing is filled. May be NULL. */
  bool (*scale)(const mica__epilogue_fusion *fusion, int32_t *operand, mica_shape *shape);
  /* LAUNCH of a result that shows each of its operands in a window and *fill everywhere else: the window of
   * operand k. What a kernel needs of the result it can then read from the operands, within bounds. NULL for others. */
  void (*window)(const mica_graph *graph, const struct mica__node *node, int32_t k, mica__inset *window, double *fill);
  /* True if the tree that ends in `root` computes what this op does: then inputs (with room for MICA__MATCH_INPUTS),
   * *count and attrs (MICA__ATTRS_MOST bytes, the defaults before) are the op's, and its result 0 has root's type. For
   * ops with one result; see ir/pattern.h. Ops are tried in the order of ops.def, the nodes last to first, so that a
   * large form is found before those inside of it. NULL for ops that nobody writes out. */
  bool (*match)(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
  /* Likewise of launches that have taken in what their users did (fuse_epilogue), where the engine's device computes
   * them faster as one. */
  bool (*match_launches)(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                         void *attrs);
  /* LAUNCH: queues the work. Workspace comes from the engine's pool. */
  mica_status (*launch)(const mica__exec *exec);
  /* LAUNCH, in its place: computes on the host, between the launches before and those after it, for which a run waits
   * until the inputs are there. When it fails the run ends with its status. */
  mica_status (*host)(const mica__host *host);
  /* LAUNCH, in their place: the same in two halves, between which a run goes on with launches that read no result of
   * it. begin starts the work and returns, without a wait; `ready`, queued and flushed, is done when the inputs lie on
   * the host, and a thread of the op's may wait for it (mica_event_wait): it is the step's own, made once, never
   * destroyed by the op, and not touched any more once end has returned. *pending is handed to end. end blocks until
   * the work is done and every element of every output is written. A run calls end once for every begin that returned
   * MICA_OK: before the first launch or step that reads a result or whose memory a result takes, at the latest before
   * the run returns, also for a result that nobody reads, and when the run has failed since. Then `failed` is its
   * status, else MICA_OK: end gives up and frees what begin made, and what it returns does not matter. A begin or end
   * that fails ends the run with its status. Both are called by the thread that runs the session, ends in the order in
   * which results are read, not in that of the begins. `host` is the same object in both. */
  mica_status (*begin)(const mica__host *host, mica_event *ready, void **pending);
  mica_status (*end)(const mica__host *host, void *pending, mica_status failed);
  mica__order order;
  double (*flops)(const struct mica__node *node, const struct mica__type *inputs);
  /* Facts for the simplifier; all of them exact, also for NaN, infinities and signed zeros.
   * identity: wherever the output has input 0's type, it is input 0 (cast, stop_gradient).
   * involution: applied twice it gives back its operand (neg, logical_not, bitwise_not).
   * units: bit k: where input k is `unit` everywhere, the result is the other input, broadcast (mul and div: 1; sub: 0;
   * add: -0.0, which for integers is 0). */
  bool identity, involution;
  /* True where the result is a single element, the sum of the products of inputs 0 and 1, element by element in their
   * order: it is computed so, with what stands around it. */
  bool (*is_dot)(const struct mica__node *node, const struct mica__type *inputs);
  /* LAUNCH with `window`: the result has its operands' elements and no others. A launch copies those operands alone
   * that do not lie there already. */
  bool composes;
  bool transient; /* made again by every run, even of parameters alone: it takes more memory than its operands */
  bool kept;      /* not folded where its operands are constants: other ops look for it (mica__op.match) */
  uint32_t units;
  double unit;
  /* POINTWISE: rough time an element in additions; 0 stands for 1. A value of several uses is computed again instead of
   * stored where that costs little. */
  int32_t cost;
  uint32_t may_alias;     /* bit k: the output may overwrite input k */
  uint32_t updates;       /* LAUNCH: bit k: the result is input k but for what the others change, of as many elements:
                             where both are one memory (then bit k of may_alias is set) only the changes are written */
  uint32_t takes_strides; /* LAUNCH: bit k: input k may be a view with any strides that are not negative */
  uint32_t lends;         /* LAUNCH: bit k: what it makes of input k may be what other such launches make of it */
  uint32_t takes_halves;  /* LAUNCH: bit k: input k, if f32, may come as f16 or bf16, widened as it is read */
  uint32_t fills;         /* LAUNCH: bit k: result k is written even where nobody wants it, and gets memory for that */
  mica__narrows narrows;
  uint32_t shape_only; /* bit k: of input k only the shape is used, so that it need not be kept or computed */
} mica__op;

#endif
