/* compile/fused_plan.h: how a fused kernel walks its index space, decided once for its text and its launch.
 *
 * Dimensions [0, inner) are outer ones; [inner, rank) are walked by loops inside a work-item or group. In a reduction
 * the inner ones are the row; in a pointwise kernel they are the last dimension, in chunks. Lanes of a vector run along
 * `lane`: the last dimension (neighbours are elements of a row), or the last outer one (neighbours belong to different
 * rows, as in sums of columns), which is then cut into blocks of `width`.
 *
 * A unit of work is one choice of outer indices (of the lane's block, of the chunk). Units are numbered. A work-item
 * takes `per` of them in turn, or a group of `group` work-items shares one. Such a group walks one row together, or, if
 * lanes are columns, `abreast` blocks of them: each block has group / abreast work-items, which divide the steps of
 * dimension `striped` of the row among them.
 *
 * The row is walked once for each level of reductions: an instruction has level k if it needs reductions of k earlier
 * walks. What depends on no inner dimension is computed between the walks. All STOREs of elements happen in the last
 * walk and those of rows after it, so a STORE may overwrite what the same element was loaded from. */
#ifndef MICA_COMPILE_FUSED_PLAN_H
#define MICA_COMPILE_FUSED_PLAN_H

#include "compile/fused.h"

/* One argument of the kernel: its index in this list is its index in the parameter list. */
typedef enum mica__fused_arg_kind {
  MICA__FUSED_ARG_UNITS,   /* the number of units */
  MICA__FUSED_ARG_PER,     /* the number of units per work-item */
  MICA__FUSED_ARG_CHUNK,   /* steps in a chunk */
  MICA__FUSED_ARG_CHUNKS,  /* the number of chunks of the dimension that is cut */
  MICA__FUSED_ARG_EXTENT,  /* of dimension `index` */
  MICA__FUSED_ARG_POINTER, /* pointer of LOAD or STORE `instr`: two arguments */
  MICA__FUSED_ARG_STRIDE,  /* its stride along dimension `index` */
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
  int32_t inner;   /* first dimension of the loops */
  int32_t lane;    /* dimension of the lanes; -1 if rank is 0 */
  int32_t width;   /* lanes */
  int32_t group;   /* number of work-items that share a unit; 1: each takes its own */
  int32_t local;   /* work-items of a work-group */
  int32_t abreast; /* if > 0, a group walks this many blocks of lanes side by side; a power of two */
  int32_t striped; /* if abreast > 0: dimension of the row that a group's work-items divide among them */
  int32_t tile;    /* if > 0, the last but one dimension is walked in steps of this size, inside the loop over lanes */
  int32_t panel;   /* if > 0, lanes are rows, and this many blocks of them are walked side by side, in memory order */
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

/* Work-items from which rows of a GPU are not walked in pieces: in groups that share a row, and in groups that share
 * columns, where pieces cost two launches more. */
#define MICA__FUSED_GPU_ENOUGH (64 << 10)
#define MICA__FUSED_GPU_COLUMNS (32 << 10)
#define MICA__FUSED_GPU_STEPS 4 /* the fewest steps along the row worth a work-item of a group that shares columns */

/* Chooses how `fused`, which must be simplified, walks its index space. MICA_E_UNSUPPORTED with the reason if the
 * list cannot be one kernel. */
mica_status mica__fused_plan_make(const mica__fused *fused, const mica__fused_target *target, mica__fused_plan *plan);

/* Sets `aligned` and `alone`, for GPUs, from the operands' memory. Operands from number `own` on are arrays between
 * passes, each aligned and in its own memory; operands[] is not read for them. */
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

/* The number of columns in a unit, if lanes are columns. */
static inline int32_t mica__fused_block(const mica__fused_plan *plan) {
  return plan->width * (plan->panel ? plan->panel : plan->abreast ? plan->abreast : 1);
}

/* The number of instr->args in use. */
static inline int32_t mica__fused_arg_count(const mica__fused_instr *instr) {
  if (instr->kind == MICA__FUSED_OP || instr->kind == MICA__FUSED_LOAD) return instr->arg_count;
  return instr->kind == MICA__FUSED_REDUCE || instr->kind == MICA__FUSED_STORE;
}

/* True if the instruction is computed at every step of the loops: it varies along the row, or, in a panel, between
 * lanes and is not reduced yet. */
static inline bool mica__fused_in_loop(const mica__fused_plan *plan, int32_t k) {
  return mica__fused_is_inner(plan, k) || (plan->panel && plan->level[k] == 0 && mica__fused_is_vector(plan, k));
}

/* The dimensions along which a LOAD is bounded, as bits. */
uint32_t mica__fused_bounds(const mica__fused *fused, const mica__fused_instr *instr);

/* True if LOAD k reads across the lanes in blocks of 16 x 16 that are transposed in registers: in tiles, for floats
 * that are neighbours along the tile. */
bool mica__fused_is_transposed(const mica__fused *fused, const mica__fused_plan *plan, int32_t k);

/* True for constants that are common and exact. They are written into the text, where the compiler can use them; others
 * are arguments, so that a new one (the 1/n of a new shape) needs no new kernel. */
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

/* mica__fused_launch with the plan of the given class of device, whatever the queue's device is (for the checks). */
mica_status mica__fused_launch_as(mica_queue *queue, unsigned device_class, const mica__fused *fused,
                                  const mica_tensor *const *operands);

#endif
