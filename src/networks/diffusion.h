/* networks/diffusion.h: diffusion of pictures. Has the schedules of noise (DDPM, Ho et al. 2020), makes noisy pictures
 * and losses for training, and draws pictures by DDIM (Song et al. 2021). */
#ifndef MICA_NETWORKS_DIFFUSION_H
#define MICA_NETWORKS_DIFFUSION_H

#include <mica/nn.h>

/* --- schedule --- */

typedef enum mica__diffusion_noise { MICA__DIFFUSION_LINEAR, MICA__DIFFUSION_COSINE } mica__diffusion_noise;

/* Fills kept[t] for t from 0 to steps - 1. kept[t] is the product of 1 - beta for the steps 0 to t, which is the share
 * of the picture's variance that is left at time t. No beta is above 0.999.
 *
 *   linear  beta rises from 1e-4 to 0.02 in 1,000 steps (Ho et al. 2020). For another number of steps, beta is
 *           multiplied by 1,000 / steps.
 *   cosine  Nichol and Dhariwal 2021 */
void mica__diffusion_schedule(mica__diffusion_noise noise, int64_t steps, double *kept);

/* One step of drawing, from time `time` to the time of the next step. a is sqrt(kept) and s is sqrt(1 - kept) at
 * `time`; next_a and next_s are the same at the next time. After the last step the picture has no noise: next_a is 1
 * and next_s 0. */
typedef struct mica__diffusion_step {
  float time, a, s, next_a, next_s;
} mica__diffusion_step;

/* Fills `count` evenly spaced steps, beginning with the last step of the schedule. count is at most steps. */
void mica__diffusion_plan(const double *kept, int64_t steps, int64_t count, mica__diffusion_step *plan);

/* --- what a network was trained for --- */

typedef struct mica__diffusion {
  mica__diffusion_noise noise;
  int64_t steps; /* number of steps of the schedule, from picture to noise */
  /* Number of classes of pictures; the label `classes` means "no class". 0: the network reads no class. */
  int64_t classes;
  bool velocity; /* the network predicts the velocity, not the noise */
} mica__diffusion;

/* --- training --- */

/* Noisy pictures (N, C, H, W), x = a picture + s noise, at their times (N) i32. a and s are (N, 1, 1, 1). */
typedef struct mica__diffusion_mixture {
  mica_value x, picture, noise, a, s, time;
} mica__diffusion_mixture;

/* Adds noise to pictures. Times are random in training, otherwise distributed evenly over the schedule.
 *
 *   step  counts the training steps, so that each step has other random numbers
 *   key   key and key + 1 distinguish these random numbers from those for other purposes
 *   like  any value (N) f32
 *
 * If memory is short, the result's x is null and the graph has the error. */
mica__diffusion_mixture mica__diffusion_mix(const mica__diffusion *d, mica_value picture, mica_value step,
                                            mica_value like, uint64_t key, bool training);
/* The network's loss for predictions z. *loss is a mean over all elements. *error is, per element, the squared
 * difference of the noise that z implies and the true noise. */
void mica__diffusion_losses(const mica__diffusion *d, const mica__diffusion_mixture *m, mica_value z, mica_value *loss,
                            mica_value *error);

/* --- drawing --- */

/* One step of drawing. Returns the pictures without noise, with values from -1 to 1, that the predictions z imply for
 * the noisy pictures x (N, C, H, W). *next receives the noisy pictures of the next step. row (1, 5) is the
 * mica__diffusion_step. */
mica_value mica__diffusion_advance(mica_value x, mica_value z, mica_value row, bool velocity, mica_value *next);

/* The network's prediction for noisy pictures x (N, C, H, W) at time (N), of class label (N). */
typedef mica_value mica__diffusion_fn(mica_nn *nn, mica_value x, mica_value time, mica_value label, const void *user);

/* Pictures to draw. */
typedef struct mica__drawing {
  mica_shape shape;      /* (C, H, W) of a picture */
  const int32_t *labels; /* of each picture: a class, or the number of classes for no class; never NULL */
  int64_t count, steps;
  uint64_t seed;
  double guidance; /* weight of classifier-free guidance (Ho and Salimans 2022); 1: no guidance */
} mica__drawing;

/* How the network is built, and where its weights are. */
typedef struct mica__diffusion_network {
  mica__diffusion trained;
  mica__diffusion_fn *build;
  const void *user;
  mica_nn_config nn;
  mica_session *share; /* has the weights */
} mica__diffusion_network;

/* Draws all pictures. *pixels receives one picture after another as planes (C, H, W) of 8 bits; the caller frees it.
 * The noise that a picture is drawn from depends only on the seed and the picture's index, not on the other
 * pictures. */
mica_status mica__diffusion_draw(mica_engine *engine, const mica__diffusion_network *network,
                                 const mica__drawing *drawing, uint8_t **pixels);

#endif
