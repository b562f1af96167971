/* mica/parallel.h: divide networks among ranks (mica/dist.h): pipeline stages, layers with divided weights (tensor
 * parallelism), and optimisers with divided state.
 *
 * Threads: as in mica/nn.h. Use objects of this header from the thread that uses their communicator. */
#ifndef MICA_PARALLEL_H
#define MICA_PARALLEL_H

#include <mica/attention.h>
#include <mica/dist.h>
#include <mica/optim.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* --- pipelines --- */

/* A network as a chain of layers with a loss. It must be the same on all ranks. */
typedef struct mica_chain {
  int32_t layers;
  /* Adds layer number `layer`, from 0, to the value of the layer before it. */
  mica_value (*layer)(void *user, mica_nn *nn, int32_t layer, mica_value x);
  /* Loss from the last layer's value: f32, one element, a mean over the samples. */
  mica_value (*loss)(void *user, mica_nn *nn, mica_value y, mica_value target);
  void *user;
} mica_chain;

/* Name, text. Order of the forward and backward passes of micro-batches in a stage:
 *
 *   1f1b   one forward pass for each later stage, then forward and backward passes alternate; keeps the inputs of at
 *          most that number of micro-batches plus one (Narayanan et al. 2019)
 *   gpipe  all forward passes, then all backward passes; keeps the inputs of all micro-batches (Huang et al. 2019) */
#define MICA_PIPELINE_SCHEDULE_LIST(X)                                                                                 \
  X(ONE_F_ONE_B, "1f1b")                                                                                               \
  X(GPIPE, "gpipe")

typedef enum mica_pipeline_schedule {
#define MICA_PIPELINE_SCHEDULE_ENUM(name, text) MICA_PIPELINE_SCHEDULE_##name,
  MICA_PIPELINE_SCHEDULE_LIST(MICA_PIPELINE_SCHEDULE_ENUM)
#undef MICA_PIPELINE_SCHEDULE_ENUM
} mica_pipeline_schedule;

/* "1f1b", "gpipe"; "?" for any other value. */
MICA_API const char *mica_pipeline_schedule_name(mica_pipeline_schedule schedule);
/* Writes the passes of a stage in order, 2 micro_batches of them: m + 1 for the forward pass of micro-batch m, -(m + 1)
 * for its backward pass. MICA_E_INVALID: a count is below 1, or stage is not a stage number. */
MICA_API MICA_CHECKED mica_status mica_pipeline_order(mica_pipeline_schedule schedule, int32_t stages, int32_t stage,
                                                      int32_t micro_batches, int32_t *order);

typedef struct mica_pipeline_stats {
  int64_t forwards, backwards; /* passes since the pipeline was created */
  int32_t most_kept;           /* maximum number of micro-batches whose inputs were kept at once */
  uint64_t bytes_sent;         /* of values and gradients */
  double seconds, waited;      /* seconds in steps, and the part of them spent waiting for other stages */
} mica_pipeline_stats;

/* A stage whose passes the caller computes. It moves values and gradients between neighbouring stages. */
typedef struct mica_stage_config {
  mica_communicator *communicator; /* rank k is stage k */
  bool last_first;                 /* rank 0 is the last stage instead, rank 1 the one before it, and so on */
  mica_pipeline_schedule schedule;
  int32_t micro_batches; /* per step */
  mica_dtype x, y;       /* types of the values from the previous stage and to the next one */
  /* Queue one pass of a micro-batch. x: value from the previous stage, of any shape; NULL in the first stage. *y:
   * tensor to send; the last stage has no forward pass. dy: gradient from the next stage, with y's shape; NULL in the
   * last stage. *dx: gradient of x; ignored in the first stage. */
  mica_status (*forward)(void *user, int32_t micro_batch, const mica_tensor *x, const mica_tensor **y);
  mica_status (*backward)(void *user, int32_t micro_batch, const mica_tensor *x, const mica_tensor *dy,
                          const mica_tensor **dx);
  void *user;
} mica_stage_config;

typedef struct mica_stage mica_stage;

/* Creates a stage. MICA_E_INVALID: a function is missing, a count is below 1, or the schedule is unknown. */
MICA_API MICA_CHECKED mica_status mica_stage_create(mica_engine *engine, const mica_stage_config *config,
                                                    mica_stage **stage);
/* NULL is a no-op. */
MICA_API void mica_stage_destroy(mica_stage *stage);
/* Runs all passes of a step. Blocks until everything is sent. All stages must call it equally often. A failing stage
 * ends the communicator on all ranks with its message. */
MICA_API MICA_CHECKED mica_status mica_stage_run(mica_stage *stage);
/* Counts and times since the stage was created. */
MICA_API mica_pipeline_stats mica_stage_stats_of(const mica_stage *stage);

typedef struct mica_pipeline_config {
  mica_communicator *communicator; /* rank k is stage k; must outlive the pipeline */
  mica_chain chain;
  mica_dtype input_dtype, target_dtype;
  mica_shape input, target; /* of one micro-batch */
  int32_t micro_batches;    /* per step */
  mica_pipeline_schedule schedule;
  /* Stage k has the layers cuts[k] to cuts[k + 1] - 1; ranks + 1 ascending numbers from 0 to chain.layers. NULL: cuts
   * that make the most expensive stage as cheap as possible, by the operations of its layers. */
  const int32_t *cuts;
  uint64_t seed; /* for initial values and dropout, the same as in one process */
  /* Gradients of a step are means over its micro-batches. The pipeline sets `accumulate` itself. MICA_E_UNSUPPORTED:
   * clip_norm, loss_scale or communicator, which need all gradients at once. */
  mica_optimizer_config optimizer;
} mica_pipeline_config;

typedef struct mica_pipeline mica_pipeline;

/* Builds this rank's stage. It has two sessions: one runs the layers forward; the other repeats that and runs backward,
 * so that only the stage's input is kept per micro-batch (Chen et al. 2016). Initial values are the same as in one
 * process. All ranks call it. MICA_E_INVALID: more stages than layers, wrong cuts, or a builder refused its arguments.
 */
MICA_API MICA_CHECKED mica_status mica_pipeline_create(mica_engine *engine, const mica_pipeline_config *config,
                                                       mica_pipeline **pipeline);
/* NULL is a no-op. */
MICA_API void mica_pipeline_destroy(mica_pipeline *pipeline);

/* One training step: all micro-batches forward and backward, and one update of the weights. `inputs` (read by the first
 * stage) and `targets` (read by the last one) hold all micro-batches in sequence; other stages may pass NULL. *loss is
 * the mean over micro-batches, on all ranks. Blocks. All ranks must call it equally often. A failing rank ends the
 * communicator on all ranks with its message. */
MICA_API MICA_CHECKED mica_status mica_pipeline_step(mica_pipeline *pipeline, const void *inputs, const void *targets,
                                                     double rate, double *loss);

/* Counters of this rank's stage. */
MICA_API mica_pipeline_stats mica_pipeline_stats_of(const mica_pipeline *pipeline);
/* First layer of the stage, and one after its last. */
MICA_API void mica_pipeline_layers(const mica_pipeline *pipeline, int32_t *first, int32_t *behind);
/* Network of the stage, and a session with its parameters. The pipeline owns them. */
MICA_API const mica_nn *mica_pipeline_network(const mica_pipeline *pipeline);
MICA_API mica_session *mica_pipeline_session(const mica_pipeline *pipeline);

/* Save writes weights and state of all stages, by name, into one safetensors file, as one process would; mica_nn_load
 * reads it. All ranks call it, and rank 0 writes. Load reads the stage's own part, from the file of any number of
 * stages; the optimiser's state starts anew. Both block. */
MICA_API MICA_CHECKED mica_status mica_pipeline_save(mica_pipeline *pipeline, const char *path);
MICA_API MICA_CHECKED mica_status mica_pipeline_load(mica_pipeline *pipeline, const char *path);

/* --- tensor parallelism --- */

/* Boundaries of a region in which each rank computes a part of a layer (Shoeybi et al. 2019). Outside it, all ranks
 * compute the same values. Values are f32 of known shape. See mica_all_reduce for channel.
 *
 * enter: returns x, equal on all ranks, for use by the ranks' parts; its gradient is the sum over ranks. leave: returns
 * the sum over the ranks' parts, equal on all ranks; its gradient is the rank's own, because what follows is equal too.
 */
MICA_API mica_value mica_parallel_enter(mica_value x, mica_communicator *communicator, int32_t channel);
MICA_API mica_value mica_parallel_leave(mica_value x, mica_communicator *communicator, int32_t channel);

/* Registry of the weights that this rank has parts of. All ranks have other weights whole, with the same bits. */
typedef struct mica_parallel mica_parallel;

/* Creates a registry. The communicator must outlive it and the networks built with it. */
MICA_API MICA_CHECKED mica_status mica_parallel_create(mica_communicator *communicator, mica_parallel **parallel);
/* NULL is a no-op. */
MICA_API void mica_parallel_destroy(mica_parallel *parallel);

/* mica_nn_dense divided by units: rank k computes block k of `ranks` equal blocks. x (..., C) is equal on all ranks;
 * the result is (..., units / ranks). weight (units / ranks, C), bias (units / ranks). units must be a multiple of
 * ranks. */
MICA_API mica_value mica_parallel_columns(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                          int64_t units, const mica_dense_config *config);
/* mica_nn_dense of the concatenation over ranks: x (..., C / ranks) gives (..., units), equal on all ranks. weight
 * (units, C / ranks), bias (units). */
MICA_API mica_value mica_parallel_rows(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                       int64_t units, const mica_dense_config *config);
/* Self-attention over x (B, T, C) divided by heads: columns "NAME.q", "NAME.k", "NAME.v", rows "NAME.out". heads must
 * be a multiple of ranks, and C a multiple of heads. The mask in config must be equal on all ranks and for all heads.
 */
MICA_API mica_value mica_parallel_attention(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                            int64_t heads, const mica_attention_config *config);

/* Fill or save a session of nn's graph; nn must be built through `parallel`. initialise: writes the rank's parts of the
 * initial values of one process; builds each whole weight briefly. load: reads its parts from a safetensors file of
 * whole weights; MICA_E_FORMAT: a weight is missing or has another shape or type. save: rank 0 writes whole weights,
 * which mica_nn_load can read; all ranks call it. All three block. */
MICA_API MICA_CHECKED mica_status mica_parallel_initialise(mica_parallel *parallel, const mica_nn *nn,
                                                           mica_session *session, uint64_t seed);
MICA_API MICA_CHECKED mica_status mica_parallel_load(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);
MICA_API MICA_CHECKED mica_status mica_parallel_save(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);

MICA_END_DECLS

#endif
