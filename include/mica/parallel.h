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
  /* Adds layer number `layer`, from 0, to nn and returns its output. x is the output of the layer before, or the input.
   */
  mica_value (*layer)(void *user, mica_nn *nn, int32_t layer, mica_value x);
  /* Adds the loss to nn and returns it: f32, one element, a mean over the samples. y is the last layer's output. */
  mica_value (*loss)(void *user, mica_nn *nn, mica_value y, mica_value target);
  void *user;
} mica_chain;

/* Enumerator, name. Order of the forward and backward passes of micro-batches in a stage:
 *
 *   1f1b   one forward pass for each later stage, then forward and backward passes alternate; keeps the inputs of at
 *          most S - s micro-batches in stage s (from 0) of S (Narayanan et al. 2019)
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
/* Writes the order of a stage's passes: 2 * micro_batches numbers, m + 1 for the forward pass of micro-batch m (from 0)
 * and -(m + 1) for its backward pass. MICA_E_INVALID: a count is below 1, or stage is not in 0 .. stages - 1. */
MICA_API MICA_CHECKED mica_status mica_pipeline_order(mica_pipeline_schedule schedule, int32_t stages, int32_t stage,
                                                      int32_t micro_batches, int32_t *order);

typedef struct mica_pipeline_stats {
  int64_t forwards, backwards; /* passes since the pipeline was created */
  int32_t most_kept;           /* maximum number of micro-batches whose inputs were kept at once */
  uint64_t bytes_sent;         /* of values and gradients */
  double seconds, waited;      /* seconds spent in steps; seconds of these spent waiting for other stages */
} mica_pipeline_stats;

/* A pipeline stage whose forward and backward passes are functions of the caller. Mica calls them in the order of the
 * schedule and moves values and gradients between neighbouring stages. */
typedef struct mica_stage_config {
  mica_communicator *communicator; /* rank k is stage k */
  bool last_first;                 /* rank 0 is the last stage instead, rank 1 the one before it, and so on */
  mica_pipeline_schedule schedule;
  int32_t micro_batches; /* per step */
  mica_dtype x, y;       /* types of the values from the previous stage and to the next one */
  /* Each function queues one pass of a micro-batch. In the last stage only backward is called; it computes the loss as
   * well.
   *
   *   x    value from the previous stage, of any shape; NULL in the first stage
   *   *y   receives the tensor to send to the next stage
   *   dy   gradient from the next stage, with y's shape; NULL in the last stage
   *   *dx  receives the gradient with respect to x; ignored in the first stage */
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
  /* ranks + 1 ascending numbers, the first one 0 and the last one chain.layers. Stage k has the layers cuts[k] to
   * cuts[k + 1] - 1. NULL: Mica chooses cuts that minimise the FLOPs of the most expensive stage. */
  const int32_t *cuts;
  uint64_t seed; /* for initial values and dropout, the same as in one process */
  /* Gradients of a step are means over its micro-batches. The pipeline sets `accumulate` itself. MICA_E_UNSUPPORTED:
   * clip_norm, loss_scale or communicator, which need all gradients at once. */
  mica_optimizer_config optimizer;
} mica_pipeline_config;

typedef struct mica_pipeline mica_pipeline;

/* Builds this rank's stage. All ranks call it. Only the stage's input is kept per micro-batch: the backward pass first
 * repeats the forward pass (Chen et al. 2016). Initial values are the same as in one process. MICA_E_INVALID: there are
 * more stages than layers, cuts is wrong, micro_batches is below 1, or a layer returned the null value without an
 * error. Errors that a layer or the loss records in the graph are returned too. MICA_E_SHAPE: the input of a layer, or
 * the output, has a dynamic dimension. */
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

/* save: gathers weights and state of all stages in rank 0, which writes one safetensors file. The file has the names
 * and shapes that one process would write, so mica_nn_load can read it. load: reads the weights of this rank's stage
 * from such a file, whatever the number of stages that wrote it; the optimiser's state starts anew. All ranks must call
 * save. Both functions block. */
MICA_API MICA_CHECKED mica_status mica_pipeline_save(mica_pipeline *pipeline, const char *path);
MICA_API MICA_CHECKED mica_status mica_pipeline_load(mica_pipeline *pipeline, const char *path);

/* --- tensor parallelism --- */

/* Boundaries of a region of the graph in which each rank computes a part of a layer (Shoeybi et al. 2019). Outside the
 * region, all ranks compute the same values. x is f32 and has a known shape. See mica_all_reduce for channel.
 *
 *   enter  returns x, which is equal on all ranks; sums the gradients of x over the ranks in the backward pass
 *   leave  returns the sum of the ranks' x; passes the gradient on unchanged, because it is equal on all ranks */
MICA_API mica_value mica_parallel_enter(mica_value x, mica_communicator *communicator, int32_t channel);
MICA_API mica_value mica_parallel_leave(mica_value x, mica_communicator *communicator, int32_t channel);

/* Registry of the weights that are divided among the ranks. Each rank has a copy of every other weight, and the copies
 * are equal bit for bit. */
typedef struct mica_parallel mica_parallel;

/* Creates a registry. The communicator must outlive it and the networks built with it. */
MICA_API MICA_CHECKED mica_status mica_parallel_create(mica_communicator *communicator, mica_parallel **parallel);
/* NULL is a no-op. */
MICA_API void mica_parallel_destroy(mica_parallel *parallel);

/* mica_nn_dense with its units divided: rank k computes block k of `ranks` equal blocks of units. x (..., C) is equal
 * on all ranks; the result is (..., units / ranks). weight (units / ranks, C), bias (units / ranks). units must be a
 * multiple of ranks. */
MICA_API mica_value mica_parallel_columns(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                          int64_t units, const mica_dense_config *config);
/* mica_nn_dense with its input divided: rank k has block k of the C channels, such as the result of
 * mica_parallel_columns. x (..., C / ranks) gives (..., units), equal on all ranks. weight (units, C / ranks), bias
 * (units). */
MICA_API mica_value mica_parallel_rows(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                       int64_t units, const mica_dense_config *config);
/* Self-attention over x (B, T, C) with its heads divided. "NAME.q", "NAME.k" and "NAME.v" are layers of
 * mica_parallel_columns, "NAME.out" is one of mica_parallel_rows. heads must be a multiple of ranks, and C a multiple
 * of heads. The mask in config must be equal on all ranks and for all heads. */
MICA_API mica_value mica_parallel_attention(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                            int64_t heads, const mica_attention_config *config);

/* Functions for the weights of a session of nn's graph; nn must be built through `parallel`. All three block.
 *
 *   initialise  sets the initial values that one process would have; allocates each undivided weight for a short time
 *   load        reads this rank's parts from a safetensors file of undivided weights; MICA_E_FORMAT: a weight is
 *               missing or has another shape or type
 *   save        rank 0 writes undivided weights, which mica_nn_load can read; all ranks must call it */
MICA_API MICA_CHECKED mica_status mica_parallel_initialise(mica_parallel *parallel, const mica_nn *nn,
                                                           mica_session *session, uint64_t seed);
MICA_API MICA_CHECKED mica_status mica_parallel_load(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);
MICA_API MICA_CHECKED mica_status mica_parallel_save(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);

MICA_END_DECLS

#endif
