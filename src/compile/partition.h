/* compile/partition.h: decides which nodes form which launches, and in which order these run. */
#ifndef MICA_COMPILE_PARTITION_H
#define MICA_COMPILE_PARTITION_H

#include "compile/composite.h"
#include "compile/emit.h"

/* Maximum number of results of an op that may be updates (mica__op.updates). */
#define MICA__UPDATES 2

/* One launch of a run: a fused kernel of several nodes, or an op's own launch. */
typedef struct mica__step {
  int32_t *members; /* ascending ids; for an op's launch, its results */
  int32_t count;
  int32_t *reads; /* nodes whose memory it reads, each once */
  int32_t read_count;
  mica__fused *fused; /* NULL for an op's launch */
  int32_t operands[MICA__FUSED_OPERANDS];
  uint32_t stores;  /* bit k: a kernel writes operand k, an op's launch writes result k */
  bool invariant;   /* what it stores is not an output and stays the same between runs */
  int32_t together; /* number of steps in its launch, from this step on (fused_batch.h); 0: the launch is its own */
  /* by result: the parameter that the launch updates in place, writing only the changes; 0: none */
  int32_t updated[MICA__UPDATES];
} mica__step;

typedef struct mica__partition {
  const mica_graph *graph;
  const mica__composites *composites; /* NULL if there are none */
  mica__step *steps;                  /* in running order, once scheduled */
  int32_t count;
  int32_t *step_of; /* by id - 1: the step that stores the node, or -1 */
} mica__partition;

/* Groups the nodes that outputs and assignments need into steps, in no particular order. Without fusion every node
 * except sources and views becomes a step of its own. A view that a step reads from memory gets a step too. A
 * concatenation listed in `composites` (may be NULL) is still a step, but its launch copies nothing, because its
 * operands are computed directly in the memory of its result. */
mica_status mica__partition_make(const mica__template *template, bool fusion, const mica__composites *composites,
                                 mica__partition *partition);
void mica__partition_free(mica__partition *partition);

/* Sets step_of for the nodes that the step stores. */
void mica__step_note_stores(mica__partition *partition, int32_t at);

/* Orders the steps. A step runs after the steps that store the values it reads. A step that writes a parameter runs
 * after all steps that read the old value. If several steps are ready, they run in this order:
 * - pointwise kernels that read only parameters, inputs and constants, if several steps read each result (openings, see
 *   schedule.c),
 * - steps with MICA__ORDER_SOON,
 * - steps that free at least as much memory as they take,
 * - other steps, in the order in which their nodes were built,
 * - steps that read a result of a host step in two halves.
 *
 * Kernels that only compute new values of parameters wait until only steps of the last kind are ready, or until their
 * operands hold much memory. Such kernels, and those that run first, share launches if they are alike (`together`).
 *
 * `updated` is set for a launch that updates a parameter in place, and for each launch of a chain of such updates. The
 * result must be assigned to the parameter, and nothing may read the old value afterwards.
 *
 * deferred[i] is set if assignment i cannot overwrite the old value, because a step that depends on the new value still
 * reads the old one. The new value then has memory of its own and is copied after all steps have run. */
mica_status mica__partition_schedule(const mica__template *template, mica__partition *partition, bool *deferred);

/* How an op's launch reads its operand k: *base is the node whose memory is read, at the returned access (over the
 * shape of the operand). Looks through views if the op takes strides, or if the elements are in order. */
mica__access mica__partition_operand(const mica_graph *graph, const mica__node *node, int32_t k, int32_t *base);

/* The value that a launch updates to produce value `id`, a result of its node (mica__op.updates). The launch must read
 * all of it, in order, through no other operand. 0: none. */
int32_t mica__partition_updated(const mica_graph *graph, int32_t id);

/* True if the node runs as a launch of its op, not as part of a generated kernel. */
bool mica__node_is_launched(const mica__node *node);

/* True if `from` and `to` may share memory. The step's kernel must read each element of `from` only to compute the same
 * element of `to`, and before it stores that element. */
bool mica__step_meets(const mica__step *step, int32_t from, int32_t to);

/* The number of steps, from this one on, that form one launch. */
static inline int32_t mica__step_share(const mica__step *step) { return step->together > 1 ? step->together : 1; }

/* The op of the step's first node; for an op's launch, that op. */
static inline const mica__op *mica__step_op(const mica__partition *partition, int32_t step) {
  return mica__graph_node(partition->graph, partition->steps[step].members[0])->op;
}

#endif
