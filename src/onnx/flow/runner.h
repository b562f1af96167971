/* onnx/flow/runner.h: running what was lowered: functions, programs, stages, calls.
 *
 *   function   the model, a branch of an If, the body of a loop: nodes, and where the values around them come from
 *   program    a function for inputs of some types (and elements, where they are bound): a tree of stages
 *   stage      a session, and how it ends: with the outputs; with a value that the lowering needs on the host, whose
 *              bytes choose the next stage; with a call, whose results' types choose it
 *   call       what a run does between two stages: a step on the host, a branch, a loop
 *
 * A function is lowered while it runs first: where the lowering meets a cut, the nodes so far become a stage, which
 * runs, and the lowering continues with the value or the results. A run that takes the same way later only looks up;
 * one that leaves the tree lowers the function again up to there, without running anything twice, and goes on. A node
 * of the lowering's graph has the same id whenever the same way is taken, which is how stages find each other's
 * values. */
#ifndef MICA_ONNX_FLOW_RUNNER_H
#define MICA_ONNX_FLOW_RUNNER_H

#include "onnx/lowering.h"

#include <mica/session.h>

/* A value on a way: input `index` of the program (stage -1), else result `index` of that stage of the way: outputs of
 * its session, then results of its call. */
typedef struct mica__flow_source {
  int32_t stage, index;
} mica__flow_source;
#define MICA__NO_SOURCE ((mica__flow_source){-2, 0})
/* The runner's step, for numbers at random. */
#define MICA__STEP_SOURCE ((mica__flow_source){-3, 0})

typedef enum mica__stage_end { MICA__STAGE_OUTPUTS, MICA__STAGE_VALUE, MICA__STAGE_CALL } mica__stage_end;

/* dtype and shape, with no byte that is not zero or said, so that types can be compared as bytes. */
typedef struct mica__flow_type {
  int64_t dtype, rank, dim[MICA_MAX_RANK];
} mica__flow_type;
mica__flow_type mica__flow_type_of(mica_dtype dtype, mica_shape shape);
mica_shape mica__flow_shape(const mica__flow_type *type);

/* An action between two stages of a run. Each kind of call begins with this. */
typedef struct mica__call {
  /* Computes results, tensors that stay valid until the call runs again, from operands. */
  mica_status (*run)(struct mica__call *call, mica_queue *queue, const mica_tensor *const *operands);
  void (*destroy)(struct mica__call *call);
  size_t result_count;
  const mica_tensor **results;
} mica__call;

typedef struct mica__stage {
  struct mica__stage *parent, *children, *next;
  bool filed; /* it stands in its program's tree */
  void *key;  /* what the parent gave when this one was made: as its `now` */
  size_t key_bytes;
  mica_session *session; /* NULL: nothing is computed */
  mica_feed *feeds;      /* names are owned; tensors are set by each run */
  mica__flow_source *fed;
  size_t feed_count;
  int32_t *ids; /* of the session's outputs, in the lowering's graph */
  size_t id_count;
  mica__stage_end end;
  mica__flow_source *sources; /* outputs, or the value, or the call's operands */
  size_t source_count;
  mica__flow_type *types;       /* of outputs */
  mica__lower_indices *indices; /* of an end with outputs: fed indices that nodes on its way take */
  size_t index_count;
  int8_t *known; /* by output: what its one element is, 0 or 1; -1 if that is not known */
  mica__call *call;
  int32_t *result_ids; /* of the call's results, in the lowering's graph */
  void *now;           /* bytes of the value, or types of the results, of this run */
  size_t now_bytes;
  uint64_t used, bytes; /* when; what its plans hold */
} mica__stage;

typedef struct mica__flow_program {
  struct mica__flow_program *next;
  struct mica__function *function;
  mica__lower_input *inputs; /* data is owned: the elements of bound ones */
  mica_tensor **uploads;     /* for inputs whose elements the host has; NULL until they are used */
  void **sent;               /* what small ones of these hold; NULL if that is not known */
  bool fresh; /* just made: it has taken the bound elements over, which mica__function_program's caller notes */
  mica__stage *root;
  mica__stage **path; /* of the last run */
  size_t path_count, path_capacity;
  const mica_tensor **outputs; /* of the last run */
  mica_tensor **wanted;        /* by output, while a run ends */
  mica_tensor **copies;        /* by output: of a tensor of the caller's that it is; NULL until there is one */
  bool *written;
  uint64_t used;
} mica__flow_program;

/* The state of one run. */
typedef struct mica__run {
  mica_queue *queue;
  const mica_tensor *const *inputs; /* by input of the program; NULL for bound and absent ones */
  /* The memory where output i is to be written; *tensor stays NULL if that is all the same. passes: the input that
   * the output is, -1 for none. May be NULL. */
  mica_status (*want)(void *user, size_t i, int32_t passes, const mica__flow_type *type, mica_tensor **tensor);
  void *user;
  bool again; /* something has been demanded: the programs of the function are gone, and it is to be called anew */
} mica__run;

typedef struct mica__function {
  mica_onnx_runner *runner;
  const mica__onnx_graph *graph;
  bool is_model;             /* inputs may be bound */
  bool counts;               /* input 0 is a trip's number; its successor is the last output */
  mica__lower_input *inputs; /* as a program's; types are the program's, what is captured is owned */
  size_t input_count, output_count;
  bool *bound, *free;              /* by input: has been demanded; must not be, for it has too many values */
  const Onnx__TensorProto **known; /* initial values that have been demanded */
  size_t known_count;
  mica__flow_program *programs, *current;
  size_t stage_count;
} mica__function;

/* An initial value on the device. */
typedef struct mica__weight {
  const Onnx__TensorProto *tensor;
  mica_tensor *memory;
} mica__weight;

struct mica_onnx_runner {
  mica_engine *engine;
  mica_onnx *model;
  mica__external external; /* the runner's own maps, so that runners of one model may be used by several threads */
  mica_onnx_runner_config config;
  mica_onnx_port *ports;
  const mica_onnx_feed **feeds;
  const mica_tensor **tensors;
  mica_tensor **wanted; /* by output: bound by the caller */
  size_t input_count, output_count;
  mica__function *function;
  mica__weight *weights;
  size_t weight_count, weight_capacity;
  mica_tensor *step; /* how many sessions have drawn at random; NULL until one does */
  int64_t steps;
  uint64_t clock, bytes; /* bytes: that all stages' plans hold */
  size_t lowered, kept;  /* stages that were ever made, and that there are */
  mica_onnx_cut *cuts;   /* where they end, each once */
  size_t cut_count;
};

/* --- functions and programs (program.c) --- */

/* A function of the runner's model without inputs; NULL if memory is short. */
mica__function *mica__function_create(mica_onnx_runner *runner, const mica__onnx_graph *graph, size_t input_count,
                                      bool counts);
void mica__function_destroy(mica__function *function);
/* The program for these inputs, an old one or one that is not lowered yet. Takes the elements of bound ones over where
 * it makes one: then (*program)->inputs holds them. *again becomes true, and *program stays, where other inputs are to
 * be bound from now on. */
mica_status mica__function_program(mica__function *function, const mica__lower_input *inputs, bool *again,
                                   mica__flow_program **program);
void mica__function_forget(mica__function *function);
/* Queues a run: program->outputs are its outputs. Waits where a cut needs it. */
mica_status mica__flow_program_run(mica__flow_program *program, mica__run *run);
/* A program's inputs: the function's, with the types of these tensors. */
mica_status mica__function_call(mica__function *function, mica__run *run, mica__flow_program **program);

/* --- stages (stage.c) --- */

/* A lowering that runs what it lowers. */
typedef struct mica__trace {
  mica__lowering l;
  mica__flow_program *program;
  mica__run *run;
  size_t replayed;            /* stages of the program's way that the lowering has passed */
  mica__flow_source *sources; /* by id - 1 */
  int32_t source_capacity;
} mica__trace;

/* Makes a stage that gives these values and those that live on; its end is still to be said. live is NULL for the last
 * stage of a way. */
mica_status mica__stage_create(mica__trace *t, const mica_value *values, size_t count, const int32_t *live,
                               size_t live_count, mica__stage **stage);
/* Where a value is when the way has come to the last stage. */
mica__flow_source mica__trace_source(const mica__trace *t, int32_t id);
/* Puts it at the end of the way, below the stage that is there. */
mica_status mica__trace_push(mica__trace *t, mica__stage *stage);
/* The lowering passes a stage: its values are where it put them. */
mica_status mica__trace_pass(mica__trace *t);
/* Runs stage number `at` of the program's way. */
mica_status mica__stage_run(mica__flow_program *program, mica__run *run, size_t at);
const mica_tensor *mica__stage_tensor(const mica__flow_program *program, const mica__run *run,
                                      mica__flow_source source);
void mica__stage_destroy(mica__function *function, mica__stage *stage);

/* ids of values that are named and used later (live.c); *ids, never NULL, is the caller's. */
mica_status mica__trace_live(mica__trace *t, int32_t **ids, size_t *count);

/* --- weights (weights.c) --- */

/* The device's copy of an initial value, made once for all lowerings. */
mica_status mica__runner_weight(mica_onnx_runner *runner, const Onnx__TensorProto *tensor, mica_tensor **memory);
/* Notes where and why a model is cut. */
mica_status mica__runner_note_cut(mica_onnx_runner *runner, const mica__onnx_node *node, const char *why);

#endif
