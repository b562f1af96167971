/* mica/parallel.h: networks that are divided among ranks (mica/dist.h): a chain of layers cut into the stages of a
 * pipeline, layers whose weights are divided, optimisers whose state is.
 *
 * Threads: as mica/nn.h; what is created here is used by the thread that uses its communicator. */
#ifndef MICA_PARALLEL_H
#define MICA_PARALLEL_H

#include <mica/attention.h>
#include <mica/dist.h>
#include <mica/optim.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* --- pipelines --- */

/* A network as a chain of layers, and its loss. All ranks have the same one. */
typedef struct mica_chain {
  int32_t layers;
  /* Adds layer number `layer`, counted from 0, of the value before it. */
  mica_value (*layer)(void *user, mica_nn *nn, int32_t layer, mica_value x);
  /* The loss of the last layer's value: f32, one element, a mean over the samples. */
  mica_value (*loss)(void *user, mica_nn *nn, mica_value y, mica_value target);
  void *user;
} mica_chain;

/* Name, text. In which order a stage takes the forward and backward passes of its micro-batches:
 *
 * 1f1b   as many forward passes as there are stages behind it, then a forward and a backward pass in turn: inputs of at
 *        most so many micro-batches and one are kept (Narayanan et al. 2019)
 * gpipe  all forward passes, then all backward passes: the inputs of all micro-batches are kept (Huang et al. 2019) */
#define MICA_PIPELINE_SCHEDULE_LIST(X)                                                                                 \
  X(ONE_F_ONE_B, "1f1b")                                                                                               \
  X(GPIPE, "gpipe")

typedef enum mica_pipeline_schedule {
#define MICA_PIPELINE_SCHEDULE_ENUM(name, text) MICA_PIPELINE_SCHEDULE_##name,
  MICA_PIPELINE_SCHEDULE_LIST(MICA_PIPELINE_SCHEDULE_ENUM)
#undef MICA_PIPELINE_SCHEDULE_ENUM
} mica_pipeline_schedule;

/* "1f1b"; "?" for a value that is none. */
MICA_API const char *mica_pipeline_schedule_name(mica_pipeline_schedule schedule);
/* The passes of a stage in their order, 2 micro_batches of them: m + 1 for the forward pass of micro-batch m, -(m + 1)
 * for its backward pass. MICA_E_INVALID: a count below 1, or a stage that is none of the stages. */
MICA_API MICA_CHECKED mica_status mica_pipeline_order(mica_pipeline_schedule schedule, int32_t stages, int32_t stage,
                                                      int32_t micro_batches, int32_t *order);

typedef struct mica_pipeline_stats {
  int64_t forwards, backwards; /* passes, since the pipeline was made */
  int32_t most_kept;           /* micro-batches whose inputs were kept at once */
  uint64_t bytes_sent;         /* of values and gradients */
  double seconds, waited;      /* in steps, and of these waiting for other stages */
} mica_pipeline_stats;

/* A stage whose passes are the caller's: what goes between it and its neighbours. */
typedef struct mica_stage_config {
  mica_communicator *communicator; /* rank k is stage k */
  bool last_first;                 /* instead rank 0 is the last stage, rank 1 the one before it, and so on */
  mica_pipeline_schedule schedule;
  int32_t micro_batches; /* of a step */
  mica_dtype x, y;       /* of what comes from the stage before, and of what goes to the next */
  /* Queue a pass of a micro-batch. x: what came from the stage before, any shape; NULL in the first stage. *y: the
   * tensor to be sent; the last stage has no forward pass. dy: the gradient that came from the next stage, of y's
   * shape; NULL in the last one. *dx: the gradient of x; not read in the first stage. */
  mica_status (*forward)(void *user, int32_t micro_batch, const mica_tensor *x, const mica_tensor **y);
  mica_status (*backward)(void *user, int32_t micro_batch, const mica_tensor *x, const mica_tensor *dy,
                          const mica_tensor **dx);
  void *user;
} mica_stage_config;

typedef struct mica_stage mica_stage;

/* MICA_E_INVALID: a call that is missing, a count below 1, no such schedule. */
MICA_API MICA_CHECKED mica_status mica_stage_create(mica_engine *engine, const mica_stage_config *config,
                                                    mica_stage **stage);
/* NULL is a no-op. */
MICA_API void mica_stage_destroy(mica_stage *stage);
/* All passes of a step. Blocks until what was sent has gone; all stages call it as often. One that fails ends the
 * communicator for all, with its sentence. */
MICA_API MICA_CHECKED mica_status mica_stage_run(mica_stage *stage);
MICA_API mica_pipeline_stats mica_stage_stats_of(const mica_stage *stage);

typedef struct mica_pipeline_config {
  mica_communicator *communicator; /* rank k is stage k; it outlives the pipeline */
  mica_chain chain;
  mica_dtype input_dtype, target_dtype;
  mica_shape input, target; /* of one micro-batch */
  int32_t micro_batches;    /* of a step */
  mica_pipeline_schedule schedule;
  /* Stage k has the layers from cuts[k] to cuts[k + 1] less 1; ranks + 1 numbers, rising, from 0 to chain.layers. NULL:
   * the dearest stage costs as little as it can, by the operations of its layers. */
  const int32_t *cuts;
  uint64_t seed; /* of initial values and of dropout: those of one process with this seed */
  /* A step's gradients are the means over its micro-batches. `accumulate` is the pipeline's own; clip_norm, loss_scale
   * and communicator, which want all gradients together, are not to be had (MICA_E_UNSUPPORTED). */
  mica_optimizer_config optimizer;
} mica_pipeline_config;

typedef struct mica_pipeline mica_pipeline;

/* Builds this rank's stage, two sessions: one runs its layers forward, one runs them again and back, so that of a
 * micro-batch only the stage's input is kept (Chen et al. 2016). Initial values are those of one process. All ranks
 * call it. MICA_E_INVALID: more stages than layers, cuts that are none; what a builder refuses. */
MICA_API MICA_CHECKED mica_status mica_pipeline_create(mica_engine *engine, const mica_pipeline_config *config,
                                                       mica_pipeline **pipeline);
/* NULL is a no-op. */
MICA_API void mica_pipeline_destroy(mica_pipeline *pipeline);

/* A training step: all micro-batches forward and back, one change of the weights. inputs, which the first stage reads,
 * and targets, which the last one does, hold those of all micro-batches one behind the other; other stages may give
 * NULL. *loss, on all ranks, is the mean over the micro-batches. Blocks; all ranks call it as often. A rank that fails
 * ends the communicator for all, with its sentence. */
MICA_API MICA_CHECKED mica_status mica_pipeline_step(mica_pipeline *pipeline, const void *inputs, const void *targets,
                                                     double rate, double *loss);

/* Counters of this rank's stage. */
MICA_API mica_pipeline_stats mica_pipeline_stats_of(const mica_pipeline *pipeline);
/* The stage's first layer, and the one behind its last. */
MICA_API void mica_pipeline_layers(const mica_pipeline *pipeline, int32_t *first, int32_t *behind);
/* The stage's network, and a session with its parameters. They are the pipeline's. */
MICA_API const mica_nn *mica_pipeline_network(const mica_pipeline *pipeline);
MICA_API mica_session *mica_pipeline_session(const mica_pipeline *pipeline);

/* Writes the weights and state of all stages, by name, to one safetensors file: what one process would write, and
 * mica_nn_load reads. Rank 0 writes; all ranks call it. load: each stage takes what is its own, so that the file of any
 * number of stages will do; the optimiser's state begins anew. Both block. */
MICA_API MICA_CHECKED mica_status mica_pipeline_save(mica_pipeline *pipeline, const char *path);
MICA_API MICA_CHECKED mica_status mica_pipeline_load(mica_pipeline *pipeline, const char *path);

/* --- layers whose weights are divided --- */

/* Where all ranks compute the same values and then each a part of a layer (tensor parallelism, Shoeybi et al. 2019).
 * enter: x, the same on all ranks, for what each computes of it: the gradient is the sum of all ranks' gradients.
 * leave: the sum of what the ranks' parts gave, the same on all of them: the gradient is each rank's own, since what
 * follows is the same too. f32, of known shapes. channel is as in mica_all_reduce. */
MICA_API mica_value mica_parallel_enter(mica_value x, mica_communicator *communicator, int32_t channel);
MICA_API mica_value mica_parallel_leave(mica_value x, mica_communicator *communicator, int32_t channel);

/* The weights of a network of which this rank has parts. What is not divided all ranks have, with the same bits. */
typedef struct mica_parallel mica_parallel;

/* The communicator outlives it, and what it is used for. */
MICA_API MICA_CHECKED mica_status mica_parallel_create(mica_communicator *communicator, mica_parallel **parallel);
/* NULL is a no-op. */
MICA_API void mica_parallel_destroy(mica_parallel *parallel);

/* mica_nn_dense, of whose units rank k computes block k of `ranks` equal ones: x (..., C), the same on all ranks, gives
 * (..., units / ranks); weight (units / ranks, C), bias (units / ranks). Ranks divide units. */
MICA_API mica_value mica_parallel_columns(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                          int64_t units, const mica_dense_config *config);
/* mica_nn_dense of what the ranks have one behind the other: x (..., C / ranks) gives (..., units), the same on all
 * ranks; weight (units, C / ranks), bias (units). */
MICA_API mica_value mica_parallel_rows(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                       int64_t units, const mica_dense_config *config);
/* Self-attention over x (B, T, C), of whose heads every rank computes its share: columns "NAME.q", "NAME.k", "NAME.v",
 * rows "NAME.out". Ranks divide heads, heads divide C. config's mask is the same on all ranks and for all heads. */
MICA_API mica_value mica_parallel_attention(mica_parallel *parallel, mica_nn *nn, const char *name, mica_value x,
                                            int64_t heads, const mica_attention_config *config);

/* They fill a session of nn's graph, where nn was built through `parallel`. initialise: by the rank's parts of the
 * initial values that one process would have; each weight is made whole here for a moment. load: by its parts of the
 * weights in a safetensors file of whole ones; MICA_E_FORMAT: it lacks one, or has another shape. save: rank 0 writes
 * the file of whole ones, which mica_nn_load reads too; all ranks call it. They block. */
MICA_API MICA_CHECKED mica_status mica_parallel_initialise(mica_parallel *parallel, const mica_nn *nn,
                                                           mica_session *session, uint64_t seed);
MICA_API MICA_CHECKED mica_status mica_parallel_load(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);
MICA_API MICA_CHECKED mica_status mica_parallel_save(mica_parallel *parallel, const mica_nn *nn, mica_session *session,
                                                     const char *path);

MICA_END_DECLS

#endif
