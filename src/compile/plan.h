/* compile/plan.h: the plan of a session's graph for one set of input shapes. A plan has memory and an order of steps;
 * after it is recorded, it can run. */
#ifndef MICA_COMPILE_PLAN_H
#define MICA_COMPILE_PLAN_H

#include "base/name_table.h"
#include "compile/fused_batch.h"
#include "compile/memory.h"
#include "runtime/derived.h"
#include "runtime/launch.h"
#include "runtime/recording.h"

#include <mica/session.h>

/* A parameter or an input of the graph. Its tensor exists before and after a run. */
typedef struct mica__slot {
  char *name;
  mica__type type; /* as declared; an input's dimensions may be open */
  int32_t node;    /* in the session's template */
  bool needed;     /* something reads or assigns it */
  bool assigned;   /* a parameter that each run writes */
} mica__slot;

typedef struct mica__plan_input {
  int32_t node;             /* in the plan's template; 0 if nothing reads the input's elements */
  mica_buffer *placeholder; /* represents the input in the recording */
  mica_tensor *aligned;     /* copy of unaligned tensors; made when first needed */
} mica__plan_input;

typedef struct mica__plan_output {
  mica_buffer *placeholder; /* represents the output in the recording */
  mica_tensor *own;         /* the output's tensor in the plan's own memory; NULL if not made */
  const mica_tensor *at;    /* where the recording writes; NULL until it is bound */
} mica__plan_output;

/* A part of the prologue, and the memory that it fills. */
typedef struct mica__plan_part {
  mica__recorder_mark from, to;
  mica__derived *derived;
} mica__plan_part;

typedef struct mica__plan {
  struct mica__plan *next; /* the plan used before this one */
  mica_shape *shapes;      /* of the inputs, in the session's order */
  mica__template template;
  mica__partition partition;
  mica__memory memory;
  bool *deferred; /* by assignment: the value is copied to the parameter at the end of the run */
  mica__plan_input *inputs;
  int32_t *parameters; /* by id - 1 of the template: the parameter's index in the session, or -1 */
  mica__slab_buffers arena, constants, results;
  mica__plan_output *outputs;
  mica__recording *recording; /* NULL until recorded */
  /* The prologue consists of invariant steps and of launches that ops ask for (mica__exec.prologue). Both depend only
   * on constants and on parameters that no run assigns. `changes` is the sum of these parameters' change counts when
   * the prologue last ran. */
  mica__recording *prologue;
  mica__plan_part *parts;
  size_t part_count;
  uint64_t changes;
  uint64_t prologue_queue; /* id of the queue on which the prologue last ran */
  int32_t *step_of_launch; /* by launch: the step, or -1 - assignment for copies (mica__plan_copies) */
} mica__plan;

/* Lists in list[] the deferred assignments whose copies share one launch with assignment `first`, and returns their
 * number. Returns 0 if an earlier assignment's launch includes `first`. */
int32_t mica__plan_copies(const mica__plan *plan, int32_t first, int32_t list[MICA__BATCH_PARTS]);

struct mica_session {
  mica_engine *engine;
  mica_session_config config;
  mica__template template; /* shapes as declared */
  mica__slot *inputs, *parameters;
  int32_t input_count, parameter_count;
  mica__name_table input_names, parameter_names; /* indices in these lists */
  mica_tensor **tensors;                         /* of the parameters: the session's handles, whoever owns the memory */
  size_t parameter_bytes;                        /* of the memory that the session made for parameters */
  mica_tensor **bound;                           /* by output: the caller's tensor; NULL for the plan's own memory */
  mica__plan *plans, *current;                   /* plans: the most recently used first; current: of the last run */
  bool grown;                                    /* a plan was recorded since the limits of plans were last checked */
  bool in_place;                                 /* a feed may be the same tensor that an output is bound to */
  /* Scratch memory of a run, so that it allocates nothing. */
  mica_shape *shapes;
  const mica_tensor **feeds;
};

/* Gives every parameter a tensor: the caller's, another session's, or one in zeroed memory of the session's own. graph
 * is the caller's; config may be NULL. */
mica_status mica__session_make_parameters(mica_session *session, const mica_graph *graph,
                                          const mica_session_config *config);

/* Plans the session's graph for these input shapes; touches no device. */
mica_status mica__plan_create(mica_session *session, const mica_shape *shapes, mica__plan **plan);
/* Builds kernels, allocates and records. Constants are uploaded on the queue. */
mica_status mica__plan_record(mica_session *session, mica__plan *plan, mica_queue *queue);
/* Records a step that is a host op on the recorder exec->queue. The step's index is its number in the recording. */
mica_status mica__partition_record_host(const mica__partition *partition, const mica__step *step,
                                        const mica__exec *exec);
/* Queues the parts of the prologue that have never run, here or in another plan, and those whose parameters have
 * changed since they last ran. Makes the queue wait for parts that ran on another queue. */
mica_status mica__plan_run_prologue(mica_session *session, mica__plan *plan, mica_queue *queue);
/* Queues one run. */
mica_status mica__plan_run(mica_session *session, mica__plan *plan, mica_queue *queue);
/* Drops the recording. Called when parameters have moved to other memory. */
void mica__plan_forget(mica__plan *plan);
void mica__plan_destroy(mica_session *session, mica__plan *plan);

/* Finds the plan for session->shapes or makes it, records it if necessary, and moves it to the front of the list.
 * Before recording, it may drop other plans, but not `current`. */
mica_status mica__session_find_plan(mica_session *session, mica_queue *queue, mica__plan **plan);
/* Drops plans beyond the session's limits, least recently used first; never the first in the list, nor `keep`. */
void mica__session_trim(mica_session *session, const mica__plan *keep);
/* Bytes that the session's plans hold on the device; shared bytes count once. */
uint64_t mica__session_plan_bytes(const mica_session *session);
/* Bytes on the device that the prologue of `plan` fills. */
uint64_t mica__plan_derived_bytes(const mica_session *session, const mica__plan *plan);

/* MICA_E_INVALID if session->feeds overlaps a bound output, unless both are one tensor and the session works in
 * place. */
mica_status mica__session_check_feeds(const mica_session *session);
/* MICA_E_INVALID if a feed overlaps an output in the plan's own memory, or a parameter that a run assigns. The run
 * could otherwise overwrite elements of the feed before it has read them. */
mica_status mica__plan_check_feeds(const mica_session *session, const mica__plan *plan);
/* Allows a feed to be the tensor that an output is bound to. Only for a graph of pointwise ops that run as one kernel,
 * which reads every element before it writes it. */
void mica__session_allow_in_place(mica_session *session);
/* Makes the tensors of outputs in the plan's own memory, if they do not exist yet. */
mica_status mica__plan_make_results(mica_session *session, mica__plan *plan);
/* Binds the plan's recording to the tensors of its outputs; checks the bound ones. */
mica_status mica__plan_bind_outputs(mica_session *session, mica__plan *plan);
/* Copies outputs to the caller's bound tensors that are not aligned. Kernels cannot write to these directly. */
mica_status mica__plan_copy_outputs(const mica_session *session, const mica__plan *plan, mica_queue *queue);

#endif
