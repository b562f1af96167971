/* How much noise each step of a diffusion has, and the steps of drawing. */
#include "task/diffuse/diffuse.h"

#include <math.h>

/* Linear: the first and the last beta of this number of steps. */
#define FIRST_BETA 1e-4
#define LAST_BETA 0.02
#define USUAL_STEPS 1000.0
/* Cosine: the offset, and the largest beta. */
#define OFFSET 0.008
#define MOST_BETA 0.999
#define PI 3.14159265358979323846

static double cosine(double share) {
  const double c = cos((share + OFFSET) / (1 + OFFSET) * PI / 2);
  return c * c;
}

static double beta_of(mica__diffuse_noise noise, int64_t t, int64_t steps) {
  const double n = (double)steps;
  if (noise == MICA__DIFFUSE_COSINE) return fmin(1 - cosine((double)(t + 1) / n) / cosine((double)t / n), MOST_BETA);
  const double share = steps > 1 ? (double)t / (n - 1) : 0;
  return fmin((FIRST_BETA + share * (LAST_BETA - FIRST_BETA)) * USUAL_STEPS / n, MOST_BETA);
}

void mica__diffuse_schedule(mica__diffuse_noise noise, int64_t steps, double *kept) {
  double product = 1;
  for (int64_t t = 0; t < steps; t++) kept[t] = product *= 1 - beta_of(noise, t, steps);
}

/* The time of step i of `count`: "trailing" steps of Lin et al. 2024, which begin with pure noise. */
static int64_t time_of(int64_t i, int64_t steps, int64_t count) {
  return (int64_t)nearbyint((double)steps - (double)i * (double)steps / (double)count) - 1;
}

void mica__diffuse_plan(const double *kept, int64_t steps, int64_t count, mica__diffuse_step *plan) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t t = time_of(i, steps, count);
    const double now = kept[t], next = i + 1 < count ? kept[time_of(i + 1, steps, count)] : 1;
    plan[i] = (mica__diffuse_step){.time = (float)t,
                                   .a = (float)sqrt(now),
                                   .s = (float)sqrt(1 - now),
                                   .next_a = (float)sqrt(next),
                                   .next_s = (float)sqrt(1 - next)};
  }
}
