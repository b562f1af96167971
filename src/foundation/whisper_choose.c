/* Chooses the next token of a transcript. Radford et al. 2022, section 3.8; rules as in transformers' generate. */
#include "foundation/whisper.h"

#include <math.h>

static void exclude(float *logits, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i++) logits[i] = -INFINITY;
}

static void exclude_all(float *logits, const mica__whisper_tokens *tokens) {
  for (size_t i = 0; i < tokens->count; i++) logits[tokens->ids[i]] = -INFINITY;
}

/* Excludes tokens that would break the order of times. The first time of a window stands alone. Later times come in
 * pairs, except that the end token may follow a single time. The second time of a pair may equal the first; otherwise
 * times increase. */
static void order_times(const mica__whisper_rules *r, const int32_t *tokens, size_t count, float *logits,
                        int64_t vocabulary) {
  const int32_t first = r->no_timestamps + 1;
  const bool after_time = count >= 1 && tokens[count - 1] >= first;
  const bool after_two = count < 2 || tokens[count - 2] >= first;
  int32_t least = first;
  if (after_time && after_two) exclude(logits, first, vocabulary);
  if (after_time && !after_two) exclude(logits, 0, r->end);
  for (size_t i = count; i > 0 && least == first; i--)
    if (tokens[i - 1] >= first) {
      least = after_time && !after_two ? tokens[i - 1] : tokens[i - 1] + 1;
      break;
    }
  exclude(logits, first, least < vocabulary ? least : vocabulary);
}

static int64_t best_of(const float *logits, int64_t from, int64_t to) {
  int64_t best = from;
  for (int64_t i = from + 1; i < to; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

/* log(sum(exp(logits))) */
static double log_sum(const float *logits, int64_t from, int64_t to) {
  const double most = (double)logits[best_of(logits, from, to)];
  double sum = 0;
  if (most == (double)-INFINITY) return most;
  for (int64_t i = from; i < to; i++) sum += exp((double)logits[i] - most);
  return most + log(sum);
}

double mica__whisper_probability(const float *logits, int64_t vocabulary, int32_t token) {
  return exp((double)logits[token] - log_sum(logits, 0, vocabulary));
}

int32_t mica__whisper_language(const mica__whisper_rules *r, const float *logits) {
  return (int32_t)best_of(logits, r->start + 1, mica__whisper_last_language(r) + 1);
}

/* Selects a token from the distribution softmax(logits / temperature): the first one at which the sum of probabilities
 * exceeds `draw`. If rounding errors keep the sum below `draw`, returns the last token that is not excluded. */
static int64_t draw_one(const float *logits, int64_t vocabulary, int64_t best, double temperature, double draw) {
  int64_t last = best;
  double sum = 0, left;
  for (int64_t i = 0; i < vocabulary; i++) sum += exp(((double)logits[i] - (double)logits[best]) / temperature);
  left = draw * sum;
  for (int64_t i = 0; i < vocabulary; i++) {
    if (logits[i] == -INFINITY) continue;
    left -= exp(((double)logits[i] - (double)logits[best]) / temperature);
    if (left < 0) return i;
    last = i;
  }
  return last;
}

int32_t mica__whisper_choose(const mica__whisper_rules *r, const int32_t *tokens, size_t count, float *logits,
                             int64_t vocabulary, double temperature, double draw, double *log_probability) {
  const int32_t first = r->no_timestamps + 1;
  if (count == 0) exclude_all(logits, &r->suppressed_first);
  exclude_all(logits, &r->suppressed);
  logits[r->no_timestamps] = -INFINITY;
  order_times(r, tokens, count, logits, vocabulary);
  if (count == 0) {
    exclude(logits, 0, first);
    if (r->first_limit >= 0) exclude(logits, (int64_t)first + r->first_limit + 1, vocabulary);
  }
  /* If all times together are likelier than every other token, a time must come. */
  const double most = (double)logits[best_of(logits, 0, first)];
  if (log_sum(logits, first, vocabulary) > most) exclude(logits, 0, first);
  const int64_t best = best_of(logits, 0, vocabulary);
  *log_probability = 0;
  if (logits[best] == -INFINITY) return r->end;
  const int64_t chosen = temperature > 0 ? draw_one(logits, vocabulary, best, temperature, draw) : best;
  *log_probability = (double)logits[chosen] - log_sum(logits, 0, vocabulary);
  return (int32_t)chosen;
}
