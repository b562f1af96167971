/* mica/optim.h: gradient descent as part of the graph, and schedules of learning rates.
 *
 * mica_optimize adds the gradients of a loss and the assignments that change the network's weights: a session of that
 * graph takes a training step a run. The learning rate is an input, so that schedules need no new session:
 *
 *   mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
 *   mica_optimize(nn, loss, &how, NULL);
 *   ... mica_session_run(session, queue, (mica_feed[]){{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}}, 3);
 *
 * Threads: as mica/nn.h; schedules and plateaus are plain data. */
#ifndef MICA_OPTIM_H
#define MICA_OPTIM_H

#include <mica/dist.h>
#include <mica/nn.h>

MICA_BEGIN_DECLS

/* Name, text. With g the gradient, r the learning rate, t the step from 1, w the weight decay, p a weight:
 *
 * sgd       g += w p; b := momentum b + g; p -= r b, nesterov: p -= r (g + momentum b); Sutskever et al. 2013
 * adam      g += w p; m := b1 m + (1 - b1) g; v := b2 v + (1 - b2) g g;
 *           p -= r / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon); Kingma and Ba 2014
 * adamw     adam with p -= r w p in place of g += w p; Loshchilov and Hutter 2017
 * rmsprop   g += w p; v := b2 v + (1 - b2) g g; b := momentum b + g / (sqrt(v) + epsilon); p -= r b; Hinton 2012
 * adagrad   g += w p; v := v + g g; p -= r g / (sqrt(v) + epsilon); Duchi et al. 2011
 * lion      p -= r (sign(b1 m + (1 - b1) g) + w p); m := b2 m + (1 - b2) g; Chen et al. 2023
 *
 * All are PyTorch's in formula and defaults, but for lion, which it lacks. */
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

/* "adamw"; "?" for a value that is none. */
MICA_API const char *mica_optimizer_name(mica_optimizer optimizer);
/* MICA_E_NOT_FOUND lists the names there are. */
MICA_API MICA_CHECKED mica_status mica_optimizer_find(const char *name, mica_optimizer *optimizer);

typedef struct mica_optimizer_config {
  mica_optimizer optimizer;
  double momentum; /* sgd, rmsprop; 0 for none */
  bool nesterov;
  double beta1, beta2, epsilon; /* 0: the optimizer's own, below; MICA_ZERO: 0 */
  double weight_decay;          /* 0 for none */
  bool decay_all;               /* also weights whose `decay` is off: those of rank below 2, unless changed */
  double clip_value;            /* every gradient element within [-clip_value, clip_value]; 0 for none */
  double clip_norm;             /* the gradients scaled so that the norm of all together is at most this; 0 for none */
  int32_t accumulate;           /* a step in so many runs, from the mean of their gradients; 0 and 1: in each */
  double ema; /* exponential moving averages "ema.<name>" of the weights, a := ema a + (1 - ema) p, from the first
               * weights on; 0 for none */
  /* Mixed precision: the loss is multiplied by a factor before it is differentiated, so that small gradients survive
   * in 16 bits; a run whose gradients are not all finite changes no weight and halves the factor, and 2000 good runs
   * double it. All on the device. The factor begins as this; 0: no scaling. */
  double loss_scale;
  /* A pattern of names, as mica_nn_freeze takes it, of tables that are updated by rows: where a weight is read by
   * mica_embedding (or gathers along axis 0) alone, a step reads and writes those rows of it and of its state that the
   * loss read, and its time and memory do not grow with the table. sgd without momentum and decay, and adagrad, change
   * nothing by it. The others are other optimisers: of rows that a step does not read m, v and b do not fall, and decay
   * is of the rows read; adam is then PyTorch's SparseAdam ("lazy Adam"):
   * p -= r sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon). A weight that is used in another way too, such as a
   * tied output layer's, is updated as a whole. Not with accumulate, ema or several ranks. NULL for
   * none. */
  const char *rows;
  bool row_wise; /* adagrad keeps one v a row, v := v + mean of g g over it, of weights of rank 2 and more */
  /* Several ranks (mica/dist.h): every one differentiates its own loss, and all make the same step from the mean of
   * their gradients, as one process would from the batches joined. Gradients are added up in buckets while the backward
   * pass goes on, along one tree, whatever the timing: the same number of ranks gives the same bits. All ranks build
   * the same graph and run it as often. The communicator outlives the graph and its sessions; NULL: one rank. */
  mica_communicator *communicator;
  mica_value weight; /* f32, a scalar: what the rank's loss is a mean of, its samples say; null: the same on all */
  double least; /* a rank's loss is divided by this where weight is less, and so is that of all ranks; 0: a loss without
                 * weight is 0 */
  /* The ranks' losses depend on each other's samples, as through mica_batch_norm_ranks: what is differentiated is the
   * sum of the losses by their weights, in place of a mean of gradients by weights. */
  bool joined;
  int64_t bucket_bytes;      /* of gradients that travel together, at most; 0: 4 MiB. A larger one travels alone */
  mica_compression compress; /* how they travel; rounding errors are fed back */
  /* Each rank has the optimiser's state, and gradients to be kept, of some weights alone, whole ones of about as many
   * elements, and sends their new values to the others (ZeRO, stage 2; Rajbhandari et al. 2020): a ranks-th of the
   * state, the same steps. Gradients travel as they are. Not with ema and compress. */
  bool shard;
  /* Further values of which the loss's gradients are wanted, from the same backward pass; other_gradients is filled.
   * MICA_E_UNSUPPORTED with loss_scale. */
  const mica_value *others;
  mica_value *other_gradients;
  size_t other_count;
} mica_optimizer_config;

/* The values that zeros stand for: momentum 0, no decay, no clipping; betas 0.9 and 0.999 (lion 0.9 and 0.99; rmsprop's
 * beta2 0.99), epsilon 1e-8 (adagrad 1e-10). */
MICA_API mica_optimizer_config mica_optimizer_config_default(mica_optimizer optimizer);

/* The name of the input that holds the learning rate: f32, a scalar. */
#define MICA_LEARNING_RATE "learning_rate"

/* Values that an optimiser leaves in the graph, to be made outputs where they are wanted; null where there is none. */
typedef struct mica_optimizer_values {
  mica_value gradient_norm; /* before clipping, of all gradients together; only with clip_norm or loss_scale */
  mica_value loss_scale;    /* the factor that this run used */
} mica_optimizer_values;

/* Differentiates loss, which has one element, with respect to all weights of nn that are not frozen, and adds the
 * assignments of a step. config NULL: sgd by its defaults. values may be NULL. Errors stand in the graph: a second call
 * on one graph is MICA_E_STATE. */
MICA_API void mica_optimize(mica_nn *nn, mica_value loss, const mica_optimizer_config *config,
                            mica_optimizer_values *values);

/* Makes `session`, made from nn's graph, use owner's averaged weights ("ema.<name>") and its state. owner is a
 * session of a graph whose optimiser has an ema; see mica_nn_share. */
MICA_API MICA_CHECKED mica_status mica_nn_share_ema(const mica_nn *nn, mica_session *session, mica_session *owner);

/* --- schedules --- */

/* Name, text, the share of `rate` at step i of n, after a linear warm-up from 0 over the first `warmup` steps (the step
 * i is (i + 1) / warmup; i and n below are counted from its end):
 *
 * constant     1
 * step         gamma^floor(i / every)
 * exponential  gamma^(i / every)
 * cosine       last + (1 - last) (1 + cos(pi i / n)) / 2; Loshchilov and Hutter 2016
 * linear       1 + (last - 1) i / n
 * one_cycle    rises by a half cosine from 1/25 to 1 in the first 3/10 of all steps and falls to last (1e-4 / 25 when
 *              0) by another; no warm-up; Smith and Topin 2017 */
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

/* "cosine"; "?" for an unknown value. The reverse; MICA_E_INVALID lists the names. */
MICA_API const char *mica_schedule_name(mica_schedule kind);
MICA_API MICA_CHECKED mica_status mica_schedule_find(const char *name, mica_schedule *kind);

typedef struct mica_schedule_config {
  mica_schedule kind;
  double rate;    /* the highest learning rate, not negative; has no default: 0 learns nothing */
  int64_t steps;  /* n: cosine, linear, one_cycle */
  int64_t warmup; /* steps */
  int64_t every;  /* steps: step, exponential; 0: 1 */
  double gamma;   /* step, exponential; 0: 0.1 for step, 0.9 for exponential */
  double last;    /* the share at the end; cosine, linear, one_cycle */
} mica_schedule_config;

/* The learning rate of step i, from 0. */
MICA_API double mica_schedule_rate(const mica_schedule_config *schedule, int64_t step);

/* Lowers the rate when a measure has not improved for a while. Zero-initialise; it is plain data, to be saved. */
typedef struct mica_plateau {
  double factor;    /* 0: 0.1 */
  int64_t patience; /* measures without improvement that are borne; 0: 10 */
  double threshold; /* share of the best that an improvement must exceed; 0: 1e-4, MICA_ZERO: any counts */
  bool rising;      /* larger is better */
  /* Its own: */
  double best, share;
  int64_t worse, noted;
} mica_plateau;
/* Notes a measure and returns the share of the learning rate from now on. */
MICA_API double mica_plateau_note(mica_plateau *plateau, double measure);

MICA_END_DECLS

#endif
