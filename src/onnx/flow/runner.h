/* onnx/flow/runner.h: runs lowered models. A model is cut where its lowering needs a computed value on the host, or a
 * call.
 *
 *   function   the model, a branch of an If or the body of a loop, with the sources of the values from outside
 *   program    a function lowered for inputs of certain types, and for certain elements of the bound inputs (those
 *              that are constants of the graph); it is a tree of stages
 *   stage      a session, and what happens after it. The last stage of a path gives the outputs. Any other stage
 *              ends with a value that the lowering reads on the host, or with a call. The bytes of the value, or the
 *              types of the call's results, select the next stage.
 *   call       an action between two stages: a step on the host, a branch, a loop
 *
 * A function is lowered during its first run. At a cut, the nodes so far become a stage, which runs; the lowering
 * continues with the value or the call's results. A later run on the same path only looks up the stages. If a run needs
 * a stage that the tree lacks, the function is lowered again from the beginning; stages that already exist do not run
 * again. On the same path, a node of the lowering's graph always has the same id; stages find each other's values by
 * this id. */
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
/* The source of the runner's step. The runner counts the steps, and random numbers depend on the step. */
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
  void *key;  /* the stage follows its parent if the parent's `now` equals this */
  size_t key_bytes;
  mica_session *session; /* NULL: nothing is computed */
  mica_feed *feeds;      /* names are owned; each run sets the tensors from the sources in `fed` */
  mica__flow_source *fed;
  size_t feed_count;
  int32_t *ids; /* node ids of the session's outputs in the lowering's graph */
  size_t id_count;
  mica__stage_end end;
  mica__flow_source *sources; /* of the outputs, the value, or the call's operands */
  size_t source_count;
  mica__flow_type *types; /* of outputs */
  /* Fed inputs that nodes on the path use as indices. Only the last stage of a path, which gives the outputs, has
   * them. */
  mica__lower_indices *indices;
  size_t index_count;
  /* known[i]: 0 or 1 if output i has a single element and the lowering knows whether it is true; else -1. */
  int8_t *known;
  mica__call *call;
  int32_t *result_ids; /* node ids of the call's results in the lowering's graph */
  void *now;           /* bytes of the value, or types of the results, in this run */
  size_t now_bytes;
  uint64_t used, bytes; /* value of the runner's clock at the last use; bytes of the session's plans */
} mica__stage;

typedef struct mica__flow_program {
  struct mica__flow_program *next;
  struct mica__function *function;
  mica__lower_input *inputs; /* owns data: the elements of bound inputs */
  mica_tensor **uploads;     /* for inputs in host memory; NULL until first used */
  /* sent[i]: the last upload of input i if it was small, so that the same content is not uploaded again; NULL if
   * unknown. */
  void **sent;
  /* The program was just made and now owns the elements of bound inputs, which the caller allocated. The caller must
   * then not free them, and clears this flag. */
  bool fresh;
  mica__stage *root;
  mica__stage **path; /* the stages of the last run */
  size_t path_count, path_capacity;
  const mica_tensor **outputs; /* of the last run */
  mica_tensor **wanted;        /* by output: the memory that run->want gave; NULL: none */
  /* By output: a copy, made if the output would be a tensor of the caller; NULL until needed. */
  mica_tensor **copies;
  bool *written;
  uint64_t used;
} mica__flow_program;

/* The state of one run. */
typedef struct mica__run {
  mica_queue *queue;
  const mica_tensor *const *inputs; /* by input of the program; NULL for bound and absent ones */
  /* Sets *tensor to the memory for output i, of type *type, or leaves it NULL if any memory will do. passes: the index
   * of the input that the output equals; -1 if it equals no input. `want` may itself be NULL; then any memory will do
   * for all outputs. */
  mica_status (*want)(void *user, size_t i, int32_t passes, const mica__flow_type *type, mica_tensor **tensor);
  void *user;
  /* Lowering demanded a value. The function's programs are destroyed, and the function must be called again. */
  bool again;
} mica__run;

typedef struct mica__function {
  mica_onnx_runner *runner;
  const mica__onnx_graph *graph;
  bool is_model; /* the function is the whole model, and its inputs may be bound */
  bool counts;   /* for bodies of loops: input 0 is the trip's number, and the last output is the next trip's number */
  /* Like a program's inputs, but without types. Owns the elements of values captured from outside. */
  mica__lower_input *inputs;
  size_t input_count, output_count;
  /* By input. bound: its elements were demanded. free: it must not be bound again, because its elements differed too
   * often between runs. */
  bool *bound, *free;
  const Onnx__TensorProto **known; /* initialisers that were demanded */
  size_t known_count;
  mica__flow_program *programs, *current;
  size_t stage_count;
} mica__function;

/* An initialiser in device memory. */
typedef struct mica__weight {
  const Onnx__TensorProto *tensor;
  mica_tensor *memory;
} mica__weight;

struct mica_onnx_runner {
  mica_engine *engine;
  mica_onnx *model;
  /* Its own mappings of the files, so that several threads may each use a runner of the same model. */
  mica__external external;
  mica_onnx_runner_config config;
  mica_onnx_port *ports;
  const mica_onnx_feed **feeds;
  const mica_tensor **tensors;
  mica_tensor **wanted; /* by output: bound by the caller */
  size_t input_count, output_count;
  mica__function *function;
  mica__weight *weights;
  size_t weight_count, weight_capacity;
  mica_tensor *step; /* the current step in device memory; NULL before the first */
  int64_t steps;
  uint64_t clock, bytes; /* clock: counts runs of programs and stages; bytes: of the plans of all stages */
  size_t lowered, kept;  /* stages ever made; stages that still exist */
  mica_onnx_cut *cuts;   /* where and why stages end, without duplicates */
  size_t cut_count;
};

/* --- functions and programs (program.c) --- */

/* Makes a function for a graph of the runner's model. The caller fills in its inputs. NULL if memory is short. */
mica__function *mica__function_create(mica_onnx_runner *runner, const mica__onnx_graph *graph, size_t input_count,
                                      bool counts);
void mica__function_destroy(mica__function *function);
/* Finds the program for these inputs, or makes one, which is not lowered yet. A new program takes ownership of the
 * elements of bound inputs, in (*program)->inputs. If too many programs differ only in bound elements, inputs are
 * unbound instead: *again becomes true, *program is unchanged, and the caller must describe its inputs again. */
mica_status mica__function_program(mica__function *function, const mica__lower_input *inputs, bool *again,
                                   mica__flow_program **program);
void mica__function_forget(mica__function *function);
/* Queues a run of the program and sets program->outputs. Waits for the device at each cut. */
mica_status mica__flow_program_run(mica__flow_program *program, mica__run *run);
/* Finds or makes the function's program for inputs of the types of run->inputs, and runs it; *program receives it. */
mica_status mica__function_call(mica__function *function, mica__run *run, mica__flow_program **program);

/* --- stages (stage.c) --- */

/* A lowering that can run: each cut makes a stage and runs it. */
typedef struct mica__trace {
  mica__lowering l;
  mica__flow_program *program;
  mica__run *run;
  size_t replayed;            /* stages of the program's path that the lowering has passed */
  mica__flow_source *sources; /* sources[id - 1]: where runs find the value with this id */
  int32_t source_capacity;
} mica__trace;

/* Makes a stage that computes `values`, and the values with the ids in `live`, which later stages need. The caller then
 * sets the end of the stage. live is NULL for the last stage of a path. */
mica_status mica__stage_create(mica__trace *t, const mica_value *values, size_t count, const int32_t *live,
                               size_t live_count, mica__stage **stage);
/* Returns where runs find the value with this id: an input of the function, the runner's step, or an output of a stage
 * that the lowering has passed. MICA__NO_SOURCE: no stage computes it yet. */
mica__flow_source mica__trace_source(const mica__trace *t, int32_t id);
/* Appends the stage to the program's path and makes it a child of the stage before. */
mica_status mica__trace_push(mica__trace *t, mica__stage *stage);
/* Passes a stage that the path already has: records it as the source of the values that it computes. */
mica_status mica__trace_pass(mica__trace *t);
/* Runs stage number `at` of the program's path. */
mica_status mica__stage_run(mica__flow_program *program, mica__run *run, size_t at);
const mica_tensor *mica__stage_tensor(const mica__flow_program *program, const mica__run *run,
                                      mica__flow_source source);
void mica__stage_destroy(mica__function *function, mica__stage *stage);

/* Lists the ids of the values that nodes after a cut need (live.c). On success the caller frees *ids, which is not NULL
 * even if the list is empty; after an error it is NULL. */
mica_status mica__trace_live(mica__trace *t, int32_t **ids, size_t *count);

/* --- weights (weights.c) --- */

/* Returns the device copy of an initialiser, made once for all lowerings. */
mica_status mica__runner_weight(mica_onnx_runner *runner, const Onnx__TensorProto *tensor, mica_tensor **memory);
/* Records where and why a model is cut. */
mica_status mica__runner_note_cut(mica_onnx_runner *runner, const mica__onnx_node *node, const char *why);

#endif
