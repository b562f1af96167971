/* mica/optim.h: optimisers as part of the graph, and learning rate schedules.
 *
 * mica_optimize adds the gradients of a loss and the updates of the network's weights to the graph. One run of the
 * session is then one training step. The learning rate is an input, so schedules need no new session:
 *
 *   mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
 *   mica_optimize(nn, loss, &how, NULL);
 *   ... mica_session_run(session, queue, (mica_feed[]){{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}}, 3);
 *
 * Threads: as in mica/nn.h. Schedules and plateaus are plain data. */
#ifndef MICA_OPTIM_H
#define MICA_OPTIM_H

#include <mica/dist.h>
#include <mica/nn.h>

MICA_BEGIN_DECLS

/* Enumerator, name. p is a weight, g its gradient, r the learning rate, t the number of the step from 1, w the weight
 * decay, b1 and b2 beta1 and beta2. b, m and v are state of the weight and start at 0.
 *
 *   sgd       g += w p; b := momentum b + g; p -= r b; nesterov: p -= r (g + momentum b) (Sutskever et al. 2013)
 *   adam      g += w p; m := b1 m + (1 - b1) g; v := b2 v + (1 - b2) g g;
 *             p -= r / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon) (Kingma and Ba 2014)
 *   adamw     adam with p -= r w p instead of g += w p (Loshchilov and Hutter 2017)
 *   rmsprop   g += w p; v := b2 v + (1 - b2) g g; b := momentum b + g / (sqrt(v) + epsilon); p -= r b (Hinton 2012)
 *   adagrad   g += w p; v := v + g g; p -= r g / (sqrt(v) + epsilon) (Duchi et al. 2011)
 *   lion      p -= r (sign(b1 m + (1 - b1) g) + w p); m := b2 m + (1 - b2) g (Chen et al. 2023)
 *
 * The formulas, and the defaults of momentum, betas and epsilon, equal PyTorch's, except for lion, which PyTorch lacks.
 * Unlike in PyTorch, adamw has no weight decay by default. */
#define MICA_OPTIMIZER_LIST(X)                                                                                         \
  X(SGD, "sgd")                                                                                                        \
  X(ADAM, "adam")                                                                                                      \
  X(ADAMW, "adamw")                                                                                                    \
  X(RMSPROP, "rmsprop")                                                                                                \
  X(ADAGRAD, "adagrad")                                                                                                \
  X(LION, "lion")

typedef enum mica_optimizer {
#define MICA_OPTIMIZER_ENUM(name, text) MICA_OPTIMIZER_##name,
  MICA_OPTIMIZER_LIST(MICA_OPTIMIZER_ENUM)
#undef MICA_OPTIMIZER_ENUM
} mica_optimizer;

/* "sgd", "adam", ...; "?" for any other value. */
MICA_API const char *mica_optimizer_name(mica_optimizer optimizer);
/* Finds an optimiser by name. MICA_E_NOT_FOUND: the name is unknown; the message lists the names. */
MICA_API MICA_CHECKED mica_status mica_optimizer_find(const char *name, mica_optimizer *optimizer);

typedef struct mica_optimizer_config {
  mica_optimizer optimizer;
  double momentum; /* sgd, rmsprop; 0: none */
  bool nesterov;
  double beta1, beta2, epsilon; /* 0: the optimiser's default, see mica_optimizer_config_default; MICA_ZERO: 0 */
  double weight_decay;          /* 0: none */
  bool decay_all;               /* also decay weights whose `decay` flag is off (by default, weights of rank 0 or 1) */
  double clip_value;            /* clamp each gradient element to [-clip_value, clip_value]; 0: off */
  double clip_norm;             /* scale gradients so that their joint norm is at most this; 0: off */
  int32_t accumulate;           /* update once per this number of runs, from the mean of their gradients; 0: 1 */
  /* keep exponential moving averages "ema.<name>" of the weights, a := ema a + (1 - ema) p, starting from the initial
   * weights; 0: none */
  double ema;
  /* Mixed precision: initial loss scale. The loss is multiplied by this factor before differentiation, so that small
   * gradients survive in 16 bits. A run whose scaled gradients, or the sum of their squares, are not finite halves the
   * factor and changes no weight (with `accumulate`, it adds nothing); 2000 good runs in a row double it. All of this
   * happens on the device. 0: no scaling. */
  double loss_scale;
  /* Name pattern, as for mica_nn_freeze, of embedding tables to update by rows. A step then updates only the rows that
   * the loss read, and the optimiser state of these rows; time and memory of a step do not grow with the table. This
   * applies to weights that are used only by mica_embedding or by gathers along axis 0. A weight with another use, such
   * as a tied output layer, is updated as a whole.
   *
   * Without weight decay, adagrad, and sgd without momentum, give the same results as for whole tables. Otherwise
   * results differ: rows that a step does not read keep their m, v and b, and are not decayed. adam becomes PyTorch's
   * SparseAdam ("lazy Adam"): p -= r sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon).
   *
   * Cannot be combined with accumulate, ema or several ranks. NULL: no table. */
  const char *rows;
  bool row_wise; /* adagrad: one v per row of a weight of rank 2 or more: v := v + mean of g g over the row */
  /* Data parallelism over several ranks (mica/dist.h). Each rank differentiates its own loss. All ranks then make the
   * same step from the mean of their gradients, as one process would with the joined batches. NULL: one rank.
   *
   * Gradients are summed in buckets during the backward pass. The order of the sum depends only on the number of ranks,
   * not on timing, so runs with equally many ranks give the same bits. All ranks must build the same graph and run it
   * equally often. The communicator must outlive the graph and its sessions. */
  mica_communicator *communicator;
  /* f32 scalar: the weight of this rank's gradients in the mean over ranks, usually the number of samples over which it
   * averages its loss. null: all ranks have the same weight. */
  mica_value weight;
  /* Lower bound for the weight of each rank and for the sum of all ranks' weights, which divides the summed gradients.
   * 0: no bound; if all weights are 0, the gradients are 0. */
  double least;
  /* Set it if the loss of a rank depends on samples of other ranks, for example through mica_batch_norm_ranks. Each
   * rank's loss is then multiplied by its weight before differentiation, instead of its gradients afterwards. */
  bool joined;
  int64_t bucket_bytes; /* maximum bytes of gradients per bucket; 0: 4 MiB. A larger gradient has a bucket of its own */
  mica_compression compress; /* compression of gradients in transit; its error is added to the next step's gradients */
  /* Divides optimiser state and accumulated gradients among ranks (ZeRO stage 2; Rajbhandari et al. 2020). Each weight
   * belongs to one rank, which updates it and sends the new values to the others; ranks have about equally many
   * elements. State needs 1 / ranks of the memory. The results of a step are unchanged. Not with ema or compress. */
  bool shard;
  /* Further values for which to compute the loss's gradients in the same backward pass; other_gradients receives them.
   * MICA_E_UNSUPPORTED with loss_scale. */
  const mica_value *others;
  mica_value *other_gradients;
  size_t other_count;
} mica_optimizer_config;

/* Returns a config with all defaults written out. A config with only `optimizer` set means the same: momentum 0, no
 * decay, no clipping; betas 0.9 and 0.999 (lion 0.9 and 0.99; rmsprop's beta2 0.99); epsilon 1e-8 (adagrad 1e-10). */
MICA_API mica_optimizer_config mica_optimizer_config_default(mica_optimizer optimizer);

/* Name of the input with the learning rate: f32 scalar. */
#define MICA_LEARNING_RATE "learning_rate"

/* Values that an optimiser adds to the graph; use them as outputs if needed. null if they do not exist. */
typedef struct mica_optimizer_values {
  mica_value gradient_norm; /* joint norm of all gradients before clipping; only with clip_norm */
  mica_value loss_scale;    /* factor that this run used */
} mica_optimizer_values;

/* Differentiates a loss of one element with respect to all weights of nn that are not frozen, and adds the updates of
 * one step. config NULL: sgd with defaults. values may be NULL. Errors are recorded in the graph; a second call on a
 * graph is MICA_E_STATE. */
MICA_API void mica_optimize(mica_nn *nn, mica_value loss, const mica_optimizer_config *config,
                            mica_optimizer_values *values);

/* Like mica_nn_share, but `session` reads the averaged weights ("ema.<name>") of `owner` in place of the weights
 * themselves. session was created from nn's graph, owner from a graph whose optimiser has `ema` set. Frozen weights
 * have no average, so session uses the weights themselves. */
MICA_API MICA_CHECKED mica_status mica_nn_share_ema(const mica_nn *nn, mica_session *session, mica_session *owner);

/* --- schedules --- */

/* Enumerator, name. The learning rate of a step is `rate` times a factor. In the first `warmup` steps the factor rises
 * linearly: (step + 1) / warmup. After the warm-up it is as follows, where i counts steps from the end of the warm-up
 * and n = steps - warmup. From i = n on, cosine and linear stay at `last`.
 *
 *   constant     1
 *   step         gamma^floor(i / every)
 *   exponential  gamma^(i / every)
 *   cosine       last + (1 - last) (1 + cos(pi i / n)) / 2 (Loshchilov and Hutter 2016)
 *   linear       1 + (last - 1) i / n
 *   one_cycle    rises in a half cosine from 1/25 to 1 during the first 3/10 of all steps, then falls in a half cosine
 *                to last (0: 1e-4 / 25); ignores warmup (Smith and Topin 2017) */
#define MICA_SCHEDULE_LIST(X)                                                                                          \
  X(CONSTANT, "constant")                                                                                              \
  X(STEP, "step")                                                                                                      \
  X(EXPONENTIAL, "exponential")                                                                                        \
  X(COSINE, "cosine")                                                                                                  \
  X(LINEAR, "linear")                                                                                                  \
  X(ONE_CYCLE, "one_cycle")

typedef enum mica_schedule {
#define MICA_SCHEDULE_ENUM(name, text) MICA_SCHEDULE_##name,
  MICA_SCHEDULE_LIST(MICA_SCHEDULE_ENUM)
#undef MICA_SCHEDULE_ENUM
} mica_schedule;

/* "constant", "step", ...; "?" for any other value. mica_schedule_find is the inverse; MICA_E_NOT_FOUND: the name is
 * unknown, and the message lists the names. */
MICA_API const char *mica_schedule_name(mica_schedule kind);
MICA_API MICA_CHECKED mica_status mica_schedule_find(const char *name, mica_schedule *kind);

typedef struct mica_schedule_config {
  mica_schedule kind;
  double rate;    /* highest learning rate, not negative; there is no default: 0 learns nothing */
  int64_t steps;  /* cosine, linear, one_cycle: total number of steps, warm-up included */
  int64_t warmup; /* number of warm-up steps */
  int64_t every;  /* step, exponential: number of steps per factor of gamma; 0: 1 */
  double gamma;   /* step, exponential; 0: 0.1 for step, 0.9 for exponential */
  double last;    /* cosine, linear, one_cycle: factor at the end */
} mica_schedule_config;

/* The learning rate of a step; the first step is 0. */
MICA_API double mica_schedule_rate(const mica_schedule_config *schedule, int64_t step);

/* Reduces the learning rate when a measure, such as the validation loss, stops improving. Initialise it with zeros. It
 * has no pointers, so it can be saved as bytes. */
typedef struct mica_plateau {
  double factor;    /* 0: 0.1 */
  int64_t patience; /* number of measures without improvement to tolerate; 0: 10 */
  double threshold; /* relative improvement required; 0: 1e-4; MICA_ZERO: any */
  bool rising;      /* larger is better */
  /* State: */
  double best, share;
  int64_t worse, noted;
} mica_plateau;
/* Records the next measure, usually once per epoch. Returns the number by which to multiply the learning rate from now
 * on. It is 1 at first, and is multiplied by `factor` after more than `patience` measures in a row without improvement.
 */
MICA_API double mica_plateau_note(mica_plateau *plateau, double measure);

MICA_END_DECLS

#endif
