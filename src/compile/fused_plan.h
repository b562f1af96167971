/* compile/fused_plan.h: how a fused kernel walks its index space. The kernel's text and its launch both follow this
 * plan.
 *
 * Dimensions [0, inner) are outer ones. Dimensions [inner, rank) are inner ones: loops inside a work-item or group walk
 * them. In a reduction the inner dimensions are the row. In a pointwise kernel they are the last dimension, which is
 * cut into chunks, and with a `tile` also the one before it. The lanes of a vector run along dimension `lane`, which is
 * one of these:
 * - the last dimension: neighbouring lanes are elements of one row;
 * - the last outer dimension: neighbouring lanes belong to different rows, as in sums of columns. The dimension is then
 *   cut into blocks of `width`.
 *
 * A unit of work is one choice of the outer indices, which includes the block of lanes, the chunk and the tile. Units
 * are numbered. Either a work-item computes `per` units one after the other, or a group of `group` work-items shares
 * one unit. Such a group walks one row together. If lanes belong to different rows, it walks `abreast` blocks of lanes
 * instead: each block has group / abreast work-items, which divide the steps of dimension `striped` of the row among
 * them.
 *
 * The row is walked once for each level of reductions: an instruction has level k if it needs reductions of k earlier
 * walks. Values that depend on no inner dimension are computed between the walks. STOREs of elements happen in the last
 * walk, and STOREs of one value per row after it. So a STORE may overwrite the memory that the same element was loaded
 * from. */
#ifndef MICA_COMPILE_FUSED_PLAN_H
#define MICA_COMPILE_FUSED_PLAN_H

#include "compile/fused.h"

/* One argument of the kernel: its index in this list is its index in the parameter list. */
typedef enum mica__fused_arg_kind {
  MICA__FUSED_ARG_UNITS,   /* the number of units */
  MICA__FUSED_ARG_PER,     /* the number of units per work-item */
  MICA__FUSED_ARG_CHUNK,   /* steps in a chunk */
  MICA__FUSED_ARG_CHUNKS,  /* the number of chunks of the dimension that is cut */
  MICA__FUSED_ARG_EXTENT,  /* the extent of dimension `index` */
  MICA__FUSED_ARG_POINTER, /* the buffer of LOAD or STORE `instr` and its first element: two arguments */
  MICA__FUSED_ARG_STRIDE,  /* the stride of LOAD or STORE `instr` along dimension `index` */
  MICA__FUSED_ARG_LOW,     /* bounds of LOAD `instr` along dimension `index` */
  MICA__FUSED_ARG_HIGH,
  MICA__FUSED_ARG_VALUE, /* the constant of VALUE or bounded LOAD `instr` */
  MICA__FUSED_ARG_ATTR,  /* attribute `index` of OP `instr` */
  MICA__FUSED_ARG_CACHE, /* local memory that keeps a row of the values of `instr` */
} mica__fused_arg_kind;

typedef struct mica__fused_arg {
  mica__fused_arg_kind kind;
  int32_t instr, index;
} mica__fused_arg;

/* The properties of the device that a plan depends on. */
typedef struct mica__fused_target {
  unsigned device_class; /* MICA__ON_CPU or MICA__ON_GPU */
  size_t max_group;      /* work-items of the largest group */
  uint64_t local_bytes;
} mica__fused_target;

typedef struct mica__fused_plan {
  mica__fused_target target;
  int32_t inner;   /* first inner dimension: the loops of a unit walk the dimensions from here on */
  int32_t lane;    /* dimension of the lanes; -1 if rank is 0 */
  int32_t width;   /* lanes */
  int32_t group;   /* number of work-items that share a unit; 1: each takes its own */
  int32_t local;   /* work-items of a work-group */
  int32_t abreast; /* if > 0, a group walks this many blocks of lanes side by side; a power of two */
  int32_t striped; /* if abreast > 0: dimension of the row that a group's work-items divide among them */
  int32_t tile;    /* if > 0, the last but one dimension is walked in steps of this size, inside the loop over lanes */
  int32_t panel;   /* if > 0, lanes belong to different rows; this many blocks of lanes are walked side by side */
  int32_t cut;     /* dimension that is walked in chunks; -1: none */
  bool wide;       /* indices need 64 bits */
  bool flat;       /* a group walks both dimensions of its row as one, vector by vector */
  int32_t walks;   /* number of walks over the inner dimensions */
  uint32_t row;    /* the inner dimensions as bits */
  int64_t chunk, chunks, units, per;
  uint32_t depends[MICA__FUSED_INSTRS]; /* bit d: the value varies along dimension d; for a STORE: it stores along d */
  int32_t level[MICA__FUSED_INSTRS];
  int32_t cached[MICA__FUSED_INSTRS]; /* the walk that puts the value into local memory for later ones; -1: none */
  bool aligned[MICA__FUSED_INSTRS];   /* of LOAD and STORE: vectors begin at multiples of their length */
  bool alone[MICA__FUSED_INSTRS];     /* LOAD and STORE: `restrict` holds for its pointer */
  int32_t arg_count;
  mica__fused_arg args[MICA__MAX_ARGS];
} mica__fused_plan;

/* If groups walk the rows on a GPU, rows are split into pieces only if there are fewer work-items than this without
 * pieces. The first bound is for groups that walk one row each. The second is for groups that walk blocks of lanes
 * (`abreast`); it is lower because pieces cost two more launches there. */
#define MICA__FUSED_GPU_ENOUGH (64 << 10)
#define MICA__FUSED_GPU_COLUMNS (32 << 10)
#define MICA__FUSED_GPU_STEPS 4 /* the fewest steps along the row per work-item of a group with `abreast` */

/* Chooses how `fused`, which must be simplified, walks its index space. Fails with MICA_E_UNSUPPORTED and the reason if
 * one kernel cannot compute all its instructions. */
mica_status mica__fused_plan_make(const mica__fused *fused, const mica__fused_target *target, mica__fused_plan *plan);

/* Sets `aligned` and `alone` from the operands' memory, for GPUs only. Operands from number `own` on are the arrays
 * that connect the passes of a split (see fused_split.h). Each of them is aligned and has memory of its own, so
 * operands[] is not read for them. */
void mica__fused_see_memory(const mica__fused *fused, int32_t own, const mica_tensor *const *operands,
                            mica__fused_plan *plan);

/* Marks the instructions that walk w computes or fetches from a cache at every step. */
void mica__fused_needed(const mica__fused *fused, const mica__fused_plan *plan, int32_t w,
                        bool needed[MICA__FUSED_INSTRS]);

/* is_inner: instruction k belongs to the loops over the row. is_vector: its value differs between lanes. */
static inline bool mica__fused_is_inner(const mica__fused_plan *plan, int32_t k) {
  return (plan->depends[k] & plan->row) != 0;
}
static inline bool mica__fused_is_vector(const mica__fused_plan *plan, int32_t k) {
  return plan->lane >= 0 && (plan->depends[k] >> plan->lane & 1u) != 0;
}

/* The number of rows in a unit, if lanes belong to different rows. */
static inline int32_t mica__fused_block(const mica__fused_plan *plan) {
  return plan->width * (plan->panel ? plan->panel : plan->abreast ? plan->abreast : 1);
}

/* The number of instr->args in use. */
static inline int32_t mica__fused_arg_count(const mica__fused_instr *instr) {
  if (instr->kind == MICA__FUSED_OP || instr->kind == MICA__FUSED_LOAD) return instr->arg_count;
  return instr->kind == MICA__FUSED_REDUCE || instr->kind == MICA__FUSED_STORE;
}

/* True if the instruction is computed at every step of the loops over the row. This holds if its value varies along the
 * row. In a panel, it also holds if the value varies between lanes and needs no reduction. */
static inline bool mica__fused_in_loop(const mica__fused_plan *plan, int32_t k) {
  return mica__fused_is_inner(plan, k) || (plan->panel && plan->level[k] == 0 && mica__fused_is_vector(plan, k));
}

/* The dimensions along which a LOAD is bounded, as bits. */
uint32_t mica__fused_bounds(const mica__fused *fused, const mica__fused_instr *instr);

/* True if LOAD k is read in blocks of 16 x 16 elements that are transposed in registers. This holds in a tiled plan of
 * 16 lanes, for unbounded f32 reads that have stride 1 along the tile and a stride other than 0 and 1 along the
 * lanes. */
bool mica__fused_is_transposed(const mica__fused *fused, const mica__fused_plan *plan, int32_t k);

/* True for multiples of 1/4 from -16 to 16. Such constants are common, so they are written into the text, where the
 * compiler can use them. Other constants are arguments, so that a new value (the 1/n of a new shape) needs no new
 * kernel. */
bool mica__fused_is_literal(double value);

/* The expression of an OP, for the dtype of its first argument. */
const char *mica__fused_expression(const mica__fused *fused, const mica__fused_instr *instr);
/* True if the expression contains a name as a whole word. */
bool mica__fused_uses(const char *expression, const char *name);

/* The name of the kernel function. */
#define MICA__FUSED_NAME 64
void mica__fused_name(const mica__fused *fused, char name[MICA__FUSED_NAME]);

/* Writes the text of the kernel that a plan describes. */
mica_status mica__fused_write(const mica__fused *fused, const mica__fused_plan *plan, mica__text *source);

/* Adds an argument of the plan to the launch. */
void mica__fused_push_arg(mica__launch *launch, const mica__fused *fused, const mica__fused_plan *plan,
                          const mica__fused_arg *arg, const mica_tensor *const *operands);

/* mica__fused_launch with the plan of the given class of device, whatever the queue's device is. For tests. */
mica_status mica__fused_launch_as(mica_queue *queue, unsigned device_class, const mica__fused *fused,
                                  const mica_tensor *const *operands);

#endif
