/* networks/diffusion.h: diffusion of pictures: how much noise each step has (DDPM, Ho et al. 2020), noisy pictures for
 * training, and drawing by DDIM (Song et al. 2021). */
#ifndef MICA_NETWORKS_DIFFUSION_H
#define MICA_NETWORKS_DIFFUSION_H

#include <mica/nn.h>

/* --- schedule --- */

typedef enum mica__diffusion_noise { MICA__DIFFUSION_LINEAR, MICA__DIFFUSION_COSINE } mica__diffusion_noise;

/* Fills kept[t] for t from 0 to steps - 1: the product of 1 - beta up to step t, the share of the picture's variance
 * that is left. Linear: beta from 1e-4 to 0.02 for 1,000 steps (Ho et al. 2020), for another number of steps
 * multiplied by 1,000 / steps, and at most 0.999. Cosine: Nichol and Dhariwal 2021. */
void mica__diffusion_schedule(mica__diffusion_noise noise, int64_t steps, double *kept);

/* A step of drawing from time `time` to the next one. a: sqrt(kept), s: sqrt(1 - kept). */
typedef struct mica__diffusion_step {
  float time, a, s, next_a, next_s;
} mica__diffusion_step;

/* Fills `count` evenly spaced steps, beginning with the last step of the schedule. count is at most steps. */
void mica__diffusion_plan(const double *kept, int64_t steps, int64_t count, mica__diffusion_step *plan);

/* --- what a network was trained for --- */

typedef struct mica__diffusion {
  mica__diffusion_noise noise;
  int64_t steps;   /* from picture to noise */
  int64_t classes; /* of pictures; the number of classes stands for "no class". 0: the network reads no class */
  bool velocity;   /* the network predicts the velocity, not the noise */
} mica__diffusion;

/* --- training --- */

/* A noisy picture (N, C, H, W), x = (a times picture) + (s times noise), at its time (N) i32. */
typedef struct mica__diffusion_mixture {
  mica_value x, picture, noise, a, s, time;
} mica__diffusion_mixture;

/* Adds noise to pictures. step: counts the steps, so that each has other random numbers; key: makes them differ from
 * random numbers for other purposes; like: (N) f32. Times are random in training, else distributed evenly over the
 * steps. If memory is short, x is null and the graph has the error. */
mica__diffusion_mixture mica__diffusion_mix(const mica__diffusion *d, mica_value picture, mica_value step,
                                            mica_value like, uint64_t key, bool training);
/* The network's loss for predictions z. *error: per element, the squared difference of the noise that z implies and
 * the true noise. */
void mica__diffusion_losses(const mica__diffusion *d, const mica__diffusion_mixture *m, mica_value z, mica_value *loss,
                            mica_value *error);

/* --- drawing --- */

/* The pictures, from -1 to 1, that follow from predictions z for noisy pictures x (N, C, H, W); *next receives the
 * noisy pictures of the next step. row (1, 5): the mica__diffusion_step. */
mica_value mica__diffusion_advance(mica_value x, mica_value z, mica_value row, bool velocity, mica_value *next);

/* The network's prediction for noisy pictures x (N, C, H, W) at time (N), of class label (N). */
typedef mica_value mica__diffusion_fn(mica_nn *nn, mica_value x, mica_value time, mica_value label, const void *user);

/* Pictures to draw. */
typedef struct mica__drawing {
  mica_shape shape;      /* (C, H, W) of a picture */
  const int32_t *labels; /* of each picture: a class, or the number of classes for any */
  int64_t count, steps;
  uint64_t seed;
  double guidance; /* classifier-free (Ho and Salimans 2022); 1: as trained */
} mica__drawing;

/* How the network is built, and where its weights are. */
typedef struct mica__diffusion_network {
  mica__diffusion trained;
  mica__diffusion_fn *build;
  const void *user;
  mica_nn_config nn;
  mica_session *share; /* has the weights */
} mica__diffusion_network;

/* Draws planes (C, H, W) of 8 bits of all pictures, one after the other; the caller frees them. A picture depends on
 * the seed and its index, not on the others. */
mica_status mica__diffusion_draw(mica_engine *engine, const mica__diffusion_network *network,
                                 const mica__drawing *drawing, uint8_t **pixels);

#endif
