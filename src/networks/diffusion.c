/* Diffusion: the noise of each step, noisy pictures and losses for training, and the plan of steps for drawing. */
#include "networks/diffusion.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>

/* The fractional part of the golden ratio: the fractions of its multiples lie evenly in 0 to 1. */
#define GOLDEN 0.61803398875

/* Linear schedule: the first and the last beta if there are USUAL_STEPS steps. */
#define FIRST_BETA 1e-4
#define LAST_BETA 0.02
#define USUAL_STEPS 1000.0
/* OFFSET: of the cosine schedule. MOST_BETA: the largest beta of both schedules. */
#define OFFSET 0.008
#define MOST_BETA 0.999
#define PI 3.14159265358979323846

static double cosine(double share) {
  const double c = cos((share + OFFSET) / (1 + OFFSET) * PI / 2);
  return c * c;
}

static double beta_of(mica__diffusion_noise noise, int64_t t, int64_t steps) {
  const double n = (double)steps;
  if (noise == MICA__DIFFUSION_COSINE) return fmin(1 - cosine((double)(t + 1) / n) / cosine((double)t / n), MOST_BETA);
  const double share = steps > 1 ? (double)t / (n - 1) : 0;
  return fmin((FIRST_BETA + share * (LAST_BETA - FIRST_BETA)) * USUAL_STEPS / n, MOST_BETA);
}

void mica__diffusion_schedule(mica__diffusion_noise noise, int64_t steps, double *kept) {
  double product = 1;
  for (int64_t t = 0; t < steps; t++) kept[t] = product *= 1 - beta_of(noise, t, steps);
}

/* The time of step i of `count` when drawing. These are the "trailing" steps of Lin et al. 2024: the first one is the
 * last time of the schedule, at which the picture is almost pure noise. */
static int64_t time_of(int64_t i, int64_t steps, int64_t count) {
  return (int64_t)nearbyint((double)steps - (double)i * (double)steps / (double)count) - 1;
}

void mica__diffusion_plan(const double *kept, int64_t steps, int64_t count, mica__diffusion_step *plan) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t t = time_of(i, steps, count);
    const double now = kept[t], next = i + 1 < count ? kept[time_of(i + 1, steps, count)] : 1;
    plan[i] = (mica__diffusion_step){.time = (float)t,
                                     .a = (float)sqrt(now),
                                     .s = (float)sqrt(1 - now),
                                     .next_a = (float)sqrt(next),
                                     .next_s = (float)sqrt(1 - next)};
  }
}

/* --- training --- */

/* sqrt(kept) or, if `other`, sqrt(1 - kept) at the time (N) of each picture, as (N, 1, 1, 1). */
static mica_value share_at(const double *kept, int64_t steps, mica_value time, bool other) {
  float *list = malloc((size_t)steps * sizeof *list);
  if (!list) return mica_graph_fail(time.graph, MICA_E_NOMEM, "out of memory for a schedule");
  for (int64_t t = 0; t < steps; t++) list[t] = (float)sqrt(other ? 1 - kept[t] : kept[t]);
  mica_value table = mica_constant(time.graph, MICA_F32, MICA_SHAPE(steps), list);
  free(list);
  return mica_unsqueeze(mica_gather(table, time, 0), MICA_AXES(1, 2, 3));
}

/* Draws a time for each picture, (N) i32 from 0 to steps - 1. In training the times are random. In a test they are
 * `steps` times the fractional parts of the multiples of GOLDEN, which cover the schedule evenly for any N. `like` is
 * any (N) f32 and gives N. */
static mica_value draw_times(mica_value step, mica_value like, uint64_t key, int64_t steps, bool training) {
  mica_value share;
  if (training) {
    share = mica_random_uniform(step, like, key, 0, 1);
  } else {
    mica_value multiples = mica_affine(mica_cumsum(mica_full_like(like, 1), 0, false, false), GOLDEN, 0);
    share = mica_sub(multiples, mica_floor(multiples));
  }
  mica_value time = mica_floor(mica_affine(share, (double)steps, 0));
  return mica_cast(mica_clip(time, 0, (double)(steps - 1)), MICA_I32);
}

mica__diffusion_mixture mica__diffusion_mix(const mica__diffusion *d, mica_value picture, mica_value step,
                                            mica_value like, uint64_t key, bool training) {
  mica__diffusion_mixture m = {.picture = picture};
  double *kept = malloc((size_t)d->steps * sizeof *kept);
  if (!kept) {
    mica_graph_fail(like.graph, MICA_E_NOMEM, "out of memory for a schedule");
    return m;
  }
  mica__diffusion_schedule(d->noise, d->steps, kept);
  m.time = draw_times(step, like, key, d->steps, training);
  m.a = share_at(kept, d->steps, m.time, false);
  m.s = share_at(kept, d->steps, m.time, true);
  free(kept);
  m.noise = mica_random_normal(step, picture, key + 1, 0, 1);
  m.x = mica_add(mica_mul(m.a, picture), mica_mul(m.s, m.noise));
  return m;
}

void mica__diffusion_losses(const mica__diffusion *d, const mica__diffusion_mixture *m, mica_value z, mica_value *loss,
                            mica_value *error) {
  mica_value want = m->noise, noise = z;
  if (d->velocity) {
    want = mica_sub(mica_mul(m->a, m->noise), mica_mul(m->s, m->picture));
    noise = mica_add(mica_mul(m->s, m->x), mica_mul(m->a, z));
  }
  *loss = mica_mse(z, want, MICA_LOSS_REDUCTION_MEAN);
  *error = mica_square(mica_sub(noise, m->noise));
}
