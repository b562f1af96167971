/* onnx/flow/runner.h: runs lowered models: functions, programs, stages, calls.
 *
 *   function   the model, a branch of an If or the body of a loop: nodes, and the sources of outer values
 *   program    a function for inputs of some types (and elements, if they are bound): a tree of stages
 *   stage      a session, and how it ends: with the outputs; with a value that the lowering needs on the host, whose
 *              bytes select the next stage; or with a call, whose results' types select it
 *   call       what a run does between two stages: a step on the host, a branch, a loop
 *
 * A function is lowered during its first run: at a cut, the nodes so far become a stage, which runs, and the lowering
 * continues with the value or the results. A later run on the same path only looks the stages up. A run that leaves
 * the tree lowers the function again up to that point, without running anything twice, and continues. A node of the
 * lowering's graph has the same id whenever the same path is taken; stages find each other's values by it. */
#ifndef MICA_ONNX_FLOW_RUNNER_H
#define MICA_ONNX_FLOW_RUNNER_H

#include "onnx/lowering.h"

#include <mica/session.h>

/* The source of a value on a path: input `index` of the program (stage -1), or result `index` of stage number `stage`
 * of the path. A stage's results are the outputs of its session, then the results of its call. */
typedef struct mica__flow_source {
  int32_t stage, index;
} mica__flow_source;
#define MICA__NO_SOURCE ((mica__flow_source){-2, 0})
/* The source of the runner's step, for random numbers. */
#define MICA__STEP_SOURCE ((mica__flow_source){-3, 0})

typedef enum mica__stage_end { MICA__STAGE_OUTPUTS, MICA__STAGE_VALUE, MICA__STAGE_CALL } mica__stage_end;

/* dtype and shape. All unused bytes are zero, so that types can be compared as bytes. */
typedef struct mica__flow_type {
  int64_t dtype, rank, dim[MICA_MAX_RANK];
} mica__flow_type;
mica__flow_type mica__flow_type_of(mica_dtype dtype, mica_shape shape);
mica_shape mica__flow_shape(const mica__flow_type *type);

/* An action between two stages of a run. The struct of each kind of call begins with this one. */
typedef struct mica__call {
  /* Computes `results` from the operands; the results stay valid until the call runs again. */
  mica_status (*run)(struct mica__call *call, mica_queue *queue, const mica_tensor *const *operands);
  void (*destroy)(struct mica__call *call);
  size_t result_count;
  const mica_tensor **results;
} mica__call;

typedef struct mica__stage {
  struct mica__stage *parent, *children, *next;
  bool filed; /* the stage is in its program's tree */
  void *key;  /* the parent's `now` that leads to this stage */
  size_t key_bytes;
  mica_session *session; /* NULL: nothing is computed */
  mica_feed *feeds;      /* names are owned; each run sets the tensors */
  mica__flow_source *fed;
  size_t feed_count;
  int32_t *ids; /* node ids of the session's outputs in the lowering's graph */
  size_t id_count;
  mica__stage_end end;
  mica__flow_source *sources; /* of the outputs, the value, or the call's operands */
  size_t source_count;
  mica__flow_type *types;       /* of outputs */
  mica__lower_indices *indices; /* for an end with outputs: fed inputs that nodes on its path use as indices */
  size_t index_count;
  int8_t *known; /* by output: its single element, 0 or 1; -1 if not known */
  mica__call *call;
  int32_t *result_ids; /* node ids of the call's results in the lowering's graph */
  void *now;           /* bytes of the value, or types of the results, in this run */
  size_t now_bytes;
  uint64_t used, bytes; /* time of the last use; bytes of its plans */
} mica__stage;

typedef struct mica__flow_program {
  struct mica__flow_program *next;
  struct mica__function *function;
  mica__lower_input *inputs; /* owns data: the elements of bound inputs */
  mica_tensor **uploads;     /* for inputs in host memory; NULL until first used */
  void **sent;               /* last content of small uploads; NULL if unknown */
  bool fresh; /* just made: it owns the bound elements, and the caller of mica__function_program clears this */
  mica__stage *root;
  mica__stage **path; /* of the last run */
  size_t path_count, path_capacity;
  const mica_tensor **outputs; /* of the last run */
  mica_tensor **wanted;        /* by output: the memory that run->want gave; NULL: none */
  mica_tensor **copies;        /* by output: a copy, for an output that is a tensor of the caller; NULL until needed */
  bool *written;
  uint64_t used;
} mica__flow_program;

/* The state of one run. */
typedef struct mica__run {
  mica_queue *queue;
  const mica_tensor *const *inputs; /* by input of the program; NULL for bound and absent ones */
  /* Gives the memory for output i; *tensor stays NULL if any memory will do. passes: the input that the output
   * equals, -1 for none. `want` itself may be NULL: any memory will do for all outputs. */
  mica_status (*want)(void *user, size_t i, int32_t passes, const mica__flow_type *type, mica_tensor **tensor);
  void *user;
  bool again; /* something was demanded: the function's programs are gone, and it must be called again */
} mica__run;

typedef struct mica__function {
  mica_onnx_runner *runner;
  const mica__onnx_graph *graph;
  bool is_model;             /* inputs may be bound */
  bool counts;               /* input 0 is the trip's number; the next number is the last output */
  mica__lower_input *inputs; /* as in a program, but without types; captured data is owned */
  size_t input_count, output_count;
  bool *bound, *free;              /* by input: bound, as it was demanded; not to be bound, as it has too many values */
  const Onnx__TensorProto **known; /* initial values that were demanded */
  size_t known_count;
  mica__flow_program *programs, *current;
  size_t stage_count;
} mica__function;

/* An initial value in device memory. */
typedef struct mica__weight {
  const Onnx__TensorProto *tensor;
  mica_tensor *memory;
} mica__weight;

struct mica_onnx_runner {
  mica_engine *engine;
  mica_onnx *model;
  mica__external external; /* its own maps, so that several threads may each run a runner of one model */
  mica_onnx_runner_config config;
  mica_onnx_port *ports;
  const mica_onnx_feed **feeds;
  const mica_tensor **tensors;
  mica_tensor **wanted; /* by output: bound by the caller */
  size_t input_count, output_count;
  mica__function *function;
  mica__weight *weights;
  size_t weight_count, weight_capacity;
  mica_tensor *step; /* counts sessions that drew random numbers; NULL before the first */
  int64_t steps;
  uint64_t clock, bytes; /* bytes: of the plans of all stages */
  size_t lowered, kept;  /* stages ever made; stages that still exist */
  mica_onnx_cut *cuts;   /* where and why stages end, without duplicates */
  size_t cut_count;
};

/* --- functions and programs (program.c) --- */

/* Makes a function of the runner's model, without describing its inputs; NULL if memory is short. */
mica__function *mica__function_create(mica_onnx_runner *runner, const mica__onnx_graph *graph, size_t input_count,
                                      bool counts);
void mica__function_destroy(mica__function *function);
/* Finds or makes the program for these inputs; a new one is not lowered yet. A new program takes ownership of the
 * elements of bound inputs, in (*program)->inputs. If other inputs must be bound from now on, *again becomes true and
 * *program is unchanged. */
mica_status mica__function_program(mica__function *function, const mica__lower_input *inputs, bool *again,
                                   mica__flow_program **program);
void mica__function_forget(mica__function *function);
/* Queues a run, and waits where a cut needs it. program->outputs are its outputs. */
mica_status mica__flow_program_run(mica__flow_program *program, mica__run *run);
/* Finds or makes the function's program for inputs of the types of run->inputs, and runs it; *program receives it. */
mica_status mica__function_call(mica__function *function, mica__run *run, mica__flow_program **program);

/* --- stages (stage.c) --- */

/* A lowering that runs its stages. */
typedef struct mica__trace {
  mica__lowering l;
  mica__flow_program *program;
  mica__run *run;
  size_t replayed;            /* stages of the program's path that the lowering has passed */
  mica__flow_source *sources; /* by id - 1 */
  int32_t source_capacity;
} mica__trace;

/* Makes a stage that computes these values and the live ones; the caller then sets its end. live is NULL for the last
 * stage of a path. */
mica_status mica__stage_create(mica__trace *t, const mica_value *values, size_t count, const int32_t *live,
                               size_t live_count, mica__stage **stage);
/* Returns where a value is once the path has reached its last stage. */
mica__flow_source mica__trace_source(const mica__trace *t, int32_t id);
/* Appends the stage to the path, as a child of its last stage. */
mica_status mica__trace_push(mica__trace *t, mica__stage *stage);
/* Moves past a stage that the path already has, and records where its values are. */
mica_status mica__trace_pass(mica__trace *t);
/* Runs stage number `at` of the program's path. */
mica_status mica__stage_run(mica__flow_program *program, mica__run *run, size_t at);
const mica_tensor *mica__stage_tensor(const mica__flow_program *program, const mica__run *run,
                                      mica__flow_source source);
void mica__stage_destroy(mica__function *function, mica__stage *stage);

/* Lists the ids of values that are still used later (live.c); the caller frees *ids, which is never NULL. */
mica_status mica__trace_live(mica__trace *t, int32_t **ids, size_t *count);

/* --- weights (weights.c) --- */

/* Returns the device copy of an initial value, made once for all lowerings. */
mica_status mica__runner_weight(mica_onnx_runner *runner, const Onnx__TensorProto *tensor, mica_tensor **memory);
/* Records where and why a model is cut. */
mica_status mica__runner_note_cut(mica_onnx_runner *runner, const mica__onnx_node *node, const char *why);

#endif
