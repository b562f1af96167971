/* compile/partition.h: which nodes become which launches, and in which order these run. */
#ifndef MICA_COMPILE_PARTITION_H
#define MICA_COMPILE_PARTITION_H

#include "compile/composite.h"
#include "compile/emit.h"

/* The most results of an op that may be updates (mica__op.updates). */
#define MICA__UPDATES 2

/* One launch of a run: a fused kernel of several nodes, or the launch of an op. */
typedef struct mica__step {
  int32_t *members; /* ascending ids; of the launch of an op those of its results */
  int32_t count;
  int32_t *reads; /* nodes whose memory it reads, each once */
  int32_t read_count;
  mica__fused *fused; /* NULL for the launch of an op */
  int32_t operands[MICA__FUSED_OPERANDS];
  uint32_t stores;  /* bit k: a kernel writes operand k, the launch of an op result k */
  bool invariant;   /* what it stores is not an output and stays as it is from run to run */
  int32_t together; /* how many steps share its launch, itself and those after it (fused_batch.h); 0: it has its own */
  /* by result: the parameter in whose memory its launch writes only what changes; 0 for others */
  int32_t updated[MICA__UPDATES];
} mica__step;

typedef struct mica__partition {
  const mica_graph *graph;
  const mica__composites *composites; /* NULL if there are none */
  mica__step *steps;                  /* in the order of running, once scheduled */
  int32_t count;
  int32_t *step_of; /* by id - 1: the step that stores the node, or -1 */
} mica__partition;

/* Groups the nodes that outputs and assignments need. Without fusion every node is a step, and only views are read
 * through. Steps come in no useful order. A concatenation whose operands lie in it, by `composites` (or NULL), is a
 * launch of its op, which then has nothing to do. */
mica_status mica__partition_make(const mica__template *template, bool fusion, const mica__composites *composites,
                                 mica__partition *partition);
void mica__partition_free(mica__partition *partition);

/* Sets step_of of what the step stores. */
void mica__step_note_stores(mica__partition *partition, int32_t at);

/* Orders the steps: what a step reads is stored before, a parameter is written after all that read it. A step that
 * frees at least the memory it takes runs as soon as it can, others in the order in which they were built; before both
 * what is MICA__ORDER_SOON, after both what reads a result of a host step in two halves. A launch
 * that updates a parameter which is assigned its result, or each of a chain of them, gets `updated` where nothing
 * reads the old value afterwards. Kernels that only give parameters their new values run when all else is done, or
 * when their operands hold much memory, equal ones `together`. deferred[i] is set where assignment i cannot be written
 * over the old value, since something that depends on the new one still reads the old: then its value has memory of its
 * own, to be copied when everything has run. */
mica_status mica__partition_schedule(const mica__template *template, mica__partition *partition, bool *deferred);

/* How the launch of an op reads its operand k: *base is the node whose memory it is, at *access (over the shape of the
 * operand). Looks through views where the op takes strides, or where the elements stand in order. */
mica__access mica__partition_operand(const mica_graph *graph, const mica__node *node, int32_t k, int32_t *base);

/* The value that a launch updates to make value `id`, a result of its node (mica__op.updates): all of it, in order, and
 * read by no other operand. 0: none. */
int32_t mica__partition_updated(const mica_graph *graph, int32_t id);

/* True if the node is launched by its op. */
bool mica__node_is_launched(const mica__node *node);

/* True if the step's kernel reads `from` only before it stores `to`, at every point the same element, so that both may
 * have one memory. */
bool mica__step_meets(const mica__step *step, int32_t from, int32_t to);

/* The number of steps, from this one on, that are one launch. */
static inline int32_t mica__step_share(const mica__step *step) { return step->together > 1 ? step->together : 1; }

/* The op of the step's first node: of a launch its own. */
static inline const mica__op *mica__step_op(const mica__partition *partition, int32_t step) {
  return mica__graph_node(partition->graph, partition->steps[step].members[0])->op;
}

#endif
