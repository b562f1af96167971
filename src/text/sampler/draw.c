/* The last steps: temperature, and the choice of the best token or a random one. */
#include "text/sampler/sampler.h"

#include <math.h>

#define LEAST_TEMPERATURE 1e-30

void mica__sample_temperature(mica_sampler *s) {
  const mica_sampler_config *config = &s->config;
  mica__candidates *c = &s->left;
  double temperature = config->temperature;
  if (config->temperature_range > 0) {
    if (c->count == 1) return;
    const double low = fmax(0, temperature - config->temperature_range);
    const double high = temperature + config->temperature_range;
    const double share = fmin(fmax(mica__candidates_entropy(c) / log((double)c->count), 0), 1);
    temperature = low + (high - low) * pow(share, config->temperature_exponent);
  }
  /* Keeps logits finite in double precision; a temperature of zero leaves only the best token likely. */
  if (temperature < LEAST_TEMPERATURE) temperature = LEAST_TEMPERATURE;
  for (int64_t i = 0; i < c->count; i++) c->at[i].logprob /= temperature;
}

void mica__sample_greedy(mica_sampler *s) {
  mica__candidates_sort(&s->left, 1);
  mica__candidates_cut(&s->left, 1);
}

/* Draws by inverting the cumulative distribution in the order of the candidates, and turns logits into log
 * probabilities. */
void mica__sample_draw(mica_sampler *s) {
  mica__candidates *c = &s->left;
  if (!c->by_id) mica__candidates_sort(c, c->count);
  double largest, part = 0;
  const double sum = mica__candidates_sum(c, &largest), wanted = mica__sampler_uniform(s, 0) * sum;
  int64_t i = 0, last = 0;
  for (; i < c->count; i++) {
    const double p = exp(c->at[i].logprob - largest);
    part += p;
    if (p > 0) last = i;
    if (part > wanted) break;
  }
  s->drawn = c->at[i < c->count ? i : last].token;
  const double log_sum = largest + log(sum);
  for (i = 0; i < c->count; i++) c->at[i].logprob -= log_sum;
}
