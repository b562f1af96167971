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

/* Name, text. With g the gradient, r the learning rate, t the step from 1, w the weight decay, p a weight:
 *
 *   sgd       g += w p; b := momentum b + g; p -= r b; nesterov: p -= r (g + momentum b) (Sutskever et al. 2013)
 *   adam      g += w p; m := b1 m + (1 - b1) g; v := b2 v + (1 - b2) g g;
 *             p -= r / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon) (Kingma and Ba 2014)
 *   adamw     adam with p -= r w p instead of g += w p (Loshchilov and Hutter 2017)
 *   rmsprop   g += w p; v := b2 v + (1 - b2) g g; b := momentum b + g / (sqrt(v) + epsilon); p -= r b (Hinton 2012)
 *   adagrad   g += w p; v := v + g g; p -= r g / (sqrt(v) + epsilon) (Duchi et al. 2011)
 *   lion      p -= r (sign(b1 m + (1 - b1) g) + w p); m := b2 m + (1 - b2) g (Chen et al. 2023)
 *
 * Formulas and defaults equal PyTorch's, except for lion, which PyTorch lacks. */
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
  bool decay_all;     /* apply weight decay also to weights with `decay` off: by default, weights of rank below 2 */
  double clip_value;  /* clamp each gradient element to [-clip_value, clip_value]; 0: off */
  double clip_norm;   /* scale gradients so that their joint norm is at most this; 0: off */
  int32_t accumulate; /* number of runs per step, which uses the mean of their gradients; 0 and 1: one */
  /* keep exponential moving averages "ema.<name>" of the weights, a := ema a + (1 - ema) p, starting from the initial
   * weights; 0: none */
  double ema;
  /* Mixed precision: initial loss scale. The loss is multiplied by this factor before differentiation, so that small
   * gradients survive in 16 bits. A run with a gradient that is not finite changes no weight and halves the factor;
   * 2000 good runs in a row double it. All of this happens on the device. 0: no scaling. */
  double loss_scale;
  /* Pattern of names, as for mica_nn_freeze, of tables to update by rows. It applies to weights used only by
   * mica_embedding (or gathers along axis 0). A step then reads and writes only those rows, and their optimiser state,
   * that the loss read; time and memory of a step do not grow with the table. A weight with further uses, such as a
   * tied output layer's, is updated as a whole.
   *
   * Results of adagrad, and of sgd without momentum and decay, do not change. The others become other optimisers: m, v
   * and b of rows that a step does not read stay, and decay applies only to rows that it reads. adam is then PyTorch's
   * SparseAdam ("lazy Adam"): p -= r sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon). Not with accumulate, ema or
   * several ranks. NULL: no table. */
  const char *rows;
  bool row_wise; /* adagrad keeps one v per row of weights of rank 2 and more: v := v + mean of g g over the row */
  /* Data parallelism over several ranks (mica/dist.h). Each rank differentiates its own loss; all make the same step
   * from the mean of their gradients, as one process would with the joined batches. Gradients are summed in buckets
   * during the backward pass, along one tree whatever the timing: the same number of ranks gives the same bits. All
   * ranks must build the same graph and run it equally often. The communicator must outlive the graph and its sessions.
   * NULL: one rank. */
  mica_communicator *communicator;
  mica_value weight; /* f32 scalar: number of samples that the rank's loss is a mean of; null: equal on all ranks */
  /* lower bound for the divisor `weight`, on each rank and over all ranks; 0: no bound, and a loss with weight 0 counts
   * as 0 */
  double least;
  /* Losses of ranks depend on each other's samples, for example through mica_batch_norm_ranks. The sum of losses times
   * weights is differentiated then, instead of averaging gradients by weight. */
  bool joined;
  int64_t bucket_bytes; /* maximum bytes of gradients per bucket; 0: 4 MiB. A larger gradient has a bucket of its own */
  mica_compression compress; /* compression of gradients in transit; rounding errors are fed back */
  /* Divides optimiser state and accumulated gradients among ranks (ZeRO stage 2; Rajbhandari et al. 2020). Each rank
   * updates whole weights with about the same number of elements in total and sends the new values to the others. State
   * needs 1 / ranks of the memory; steps are unchanged. Not with ema or compress. */
  bool shard;
  /* Further values for which to compute the loss's gradients in the same backward pass; other_gradients receives them.
   * MICA_E_UNSUPPORTED with loss_scale. */
  const mica_value *others;
  mica_value *other_gradients;
  size_t other_count;
} mica_optimizer_config;

/* Configuration with the defaults that zeros mean: momentum 0, no decay, no clipping; betas 0.9 and 0.999 (lion 0.9 and
 * 0.99; rmsprop's beta2 0.99); epsilon 1e-8 (adagrad 1e-10). */
MICA_API mica_optimizer_config mica_optimizer_config_default(mica_optimizer optimizer);

/* Name of the input with the learning rate: f32 scalar. */
#define MICA_LEARNING_RATE "learning_rate"

/* Values that an optimiser adds to the graph; use them as outputs if needed. null if they do not exist. */
typedef struct mica_optimizer_values {
  mica_value gradient_norm; /* joint norm of all gradients before clipping; only with clip_norm or loss_scale */
  mica_value loss_scale;    /* factor that this run used */
} mica_optimizer_values;

/* Differentiates a loss of one element with respect to all weights of nn that are not frozen, and adds the updates of
 * one step. config NULL: sgd with defaults. values may be NULL. Errors are recorded in the graph; a second call on a
 * graph is MICA_E_STATE. */
MICA_API void mica_optimize(mica_nn *nn, mica_value loss, const mica_optimizer_config *config,
                            mica_optimizer_values *values);

/* Makes `session`, created from nn's graph, use the averaged weights ("ema.<name>") and the state of `owner`: a session
 * of a graph whose optimiser has an ema. Frozen weights have no average; they are shared as they are. See
 * mica_nn_share. */
MICA_API MICA_CHECKED mica_status mica_nn_share_ema(const mica_nn *nn, mica_session *session, mica_session *owner);

/* --- schedules --- */

/* Name, text, and the factor of `rate` at step i of n. During a linear warm-up over the first `warmup` steps the factor
 * is (i + 1) / warmup; i below counts from the end of the warm-up, and n is `steps` less `warmup`. From step n on,
 * cosine and linear stay at last.
 *
 *   constant     1
 *   step         gamma^floor(i / every)
 *   exponential  gamma^(i / every)
 *   cosine       last + (1 - last) (1 + cos(pi i / n)) / 2 (Loshchilov and Hutter 2016)
 *   linear       1 + (last - 1) i / n
 *   one_cycle    rises in a half cosine from 1/25 to 1 during the first 3/10 of all steps, then falls in another one to
 *                last (0: 1e-4 / 25); no warm-up (Smith and Topin 2017) */
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
  int64_t steps;  /* of cosine, linear and one_cycle: all steps, with the warm-up */
  int64_t warmup; /* warm-up steps */
  int64_t every;  /* step, exponential: steps; 0: 1 */
  double gamma;   /* step: 0: 0.1; exponential: 0: 0.9 */
  double last;    /* cosine, linear, one_cycle: factor at the end */
} mica_schedule_config;

/* The learning rate of a step; the first step is 0. */
MICA_API double mica_schedule_rate(const mica_schedule_config *schedule, int64_t step);

/* Reduces the learning rate if a measure stops improving. Zero-initialise it. Plain data that may be saved. */
typedef struct mica_plateau {
  double factor;    /* 0: 0.1 */
  int64_t patience; /* number of measures without improvement to tolerate; 0: 10 */
  double threshold; /* relative improvement required; 0: 1e-4; MICA_ZERO: any */
  bool rising;      /* larger is better */
  /* State: */
  double best, share;
  int64_t worse, noted;
} mica_plateau;
/* Notes a measure. Returns the factor of the learning rate from now on. */
MICA_API double mica_plateau_note(mica_plateau *plateau, double measure);

MICA_END_DECLS

#endif
