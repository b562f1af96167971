/* Networks that read sound in steps: log mel spectra, two convolutions, then recurrent layers or Conformer blocks that
 * never look ahead. The convolutions are not padded in time, so that a recording in parts gives the same result as in
 * one piece. */
#include "networks/recogniser.h"
#include "base/error.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/safetensors.h>
#include <mica/sequence.h>
#include <mica/signal.h>
#include <stdio.h>
#include <string.h>

/* Added to a mel power before its logarithm is taken: the power of rounding to 16 bits. */
#define LEAST_POWER 1e-7
/* Number of steps that the dense layer before the recurrent layers or Conformer blocks reads. With steps of 40 ms this
 * is 200 ms of sound. */
#define SPAN 5
/* The frames and frequencies that a filter covers. */
#define WINDOW 3

typedef mica__recogniser recogniser;
typedef mica__recogniser_state state;

mica__strings_time mica__recogniser_time(const recogniser *l, double tail) {
  mica__strings_time t = {.rate = l->rate, .length = 1, .hop = (int64_t)(l->rate * 0.01)};
  if (t.hop < 1) t.hop = 1;
  while ((double)t.length < l->rate * 0.025) t.length *= 2;
  t.stride = t.hop * l->tens;
  t.reach = t.length + t.hop * (WINDOW - 1) * 3 + t.stride * (SPAN - 1);
  t.tail = (int64_t)(l->rate * tail);
  return t;
}

/* The number of positions that a query attends to, its own included; at least 2. */
static int64_t window_of(const recogniser *l) {
  const mica__strings_time t = mica__recogniser_time(l, 0);
  const double steps = l->context * t.rate / (double)t.stride;
  return steps < 1 ? 2 : 1 + (int64_t)steps;
}

mica_status mica__recogniser_check(const recogniser *l) {
  const long long width = l->width, heads = l->heads;
  if (l->conformer && width % (2 * heads))
    return mica__fail(MICA_E_INVALID, "width is %lld, but must be a multiple of %lld, twice the number of heads (%lld)",
                      width, 2 * heads, heads);
  return MICA_OK;
}

/* --- states --- */

static void add_state(state *states, int64_t *count, const char *name, int64_t layer, mica_shape shape, bool counts) {
  state *s = &states[(*count)++];
  *s = (state){.shape = shape, .counts = counts};
  snprintf(s->name, sizeof s->name, "stream.%s%d", name, (int)layer);
}

/* The size of a dimension of a layer's weight ("block3.NAME") in a pruned network, quantised or not; else `asked`. */
static int64_t left_of(const recogniser *l, const char *block, int64_t layer, const char *name, int32_t axis,
                       int64_t asked) {
  static const char *const ends[] = {"", "_q"};
  for (size_t i = 0; l->like && i < sizeof ends / sizeof *ends; i++) {
    char full[96];
    snprintf(full, sizeof full, "%s%d.%s%s", block, (int)layer, name, ends[i]);
    const mica_safetensors_entry *e = mica_safetensors_find(l->like, full);
    if (e && e->shape.rank > axis) return e->shape.dim[axis];
  }
  return asked;
}

int64_t mica__recogniser_states(const recogniser *l, state *states) {
  const int64_t size = l->width / l->heads;
  int64_t count = 0;
  if (l->conformer) add_state(states, &count, "count", 0, MICA_SHAPE(1), true);
  for (int64_t k = 0; k < l->layers && k < MICA__RECOGNISER_LAYERS; k++) {
    if (!l->conformer) {
      const int64_t units = left_of(l, "gru", k, "weight_hh_l0", 1, l->width);
      add_state(states, &count, "h", k, MICA_SHAPE(1, 1, units), false);
      continue;
    }
    const int64_t heads = left_of(l, "block", k, "self_attn.in_proj.weight", 0, 3 * l->width) / (3 * size);
    const int64_t filtered = left_of(l, "block", k, "conv_module.sequential.2.weight", 0, l->width);
    const mica_shape kept = MICA_SHAPE(1, window_of(l) - 1, heads, size);
    add_state(states, &count, "k", k, kept, false);
    add_state(states, &count, "v", k, kept, false);
    add_state(states, &count, "filtered", k, MICA_SHAPE(1, filtered, l->kernel - 1), false);
  }
  return count;
}

/* --- layers --- */

mica_value mica__recogniser_spectra(const recogniser *l, mica_value x) {
  const mica__strings_time t = mica__recogniser_time(l, 0);
  const mica_mel_config c = {.stft = {.length = t.length, .hop = t.hop, .pad = MICA_SIGNAL_PAD_NONE},
                             .rate = t.rate,
                             .mels = l->mels,
                             .low = 20};
  return mica_log(mica_affine(mica_mel(x, &c), 1, LEAST_POWER));
}

static mica_value convolved(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t stride) {
  const mica_nn_conv_config c = {
      .window = {WINDOW, WINDOW}, .how = {.stride = {2, stride}, .pad = {1, 0}}, .no_bias = true};
  mica_nn_push(nn, name);
  x = mica_relu(mica_nn_batch_norm(nn, "norm", mica_nn_conv(nn, "conv", x, filters, WINDOW, &c), NULL));
  mica_nn_pop(nn);
  return x;
}

/* The features of each step, (N, steps, width). */
static mica_value front(mica_nn *nn, const recogniser *l, mica_value x) {
  const int64_t masks = l->masks, mels = l->mels;
  x = mica_nn_batch_norm(nn, "spectra", mica__recogniser_spectra(l, x), NULL);
  if (mica_nn_is_training(nn) && masks > 0)
    x = mica_spec_augment(
        x, mica_nn_step(nn),
        &(mica_spec_augment_config){
            .frequency_masks = masks, .frequency_width = mels / 6, .time_masks = masks, .time_width = 8, .seed = 23});
  x = convolved(nn, "first", mica_unsqueeze(x, MICA_AXES(1)), l->filters, 2);
  x = convolved(nn, "second", x, l->filters, l->tens / 2);
  /* A dense layer over all filters and frequencies of a few steps. */
  const mica_nn_conv_config dense = {.window = {mica_value_shape(x).dim[2], SPAN}, .no_bias = true};
  x = mica_squeeze(mica_nn_conv(nn, "dense", x, l->width, 1, &dense), MICA_AXES(2));
  return mica_transpose(mica_relu(mica_nn_batch_norm(nn, "norm", x, NULL)), MICA_AXES(0, 2, 1));
}

/* The output of a recurrent layer is added to its input. So at first the network can learn letters without the
 * layer. */
static mica_value recurrent(mica_nn *nn, const recogniser *l, mica_value x, mica_value *states) {
  for (int64_t k = 0; k < l->layers; k++) {
    char name[16];
    snprintf(name, sizeof name, "gru%d", (int)k);
    const mica_nn_rnn_config c = {.kind = MICA_RNN_KIND_GRU, .h0 = states ? &states[k] : NULL};
    x = mica_nn_dropout(nn, x, l->dropout);
    mica_rnn_results r = mica_nn_rnn(nn, name, x, l->width, &c);
    if (states) states[k] = r.h;
    x = mica_add(x, r.y);
  }
  return x;
}

/* Conformer blocks whose attention and filters read only the past. They read no more past steps than a stream keeps in
 * its states. */
static mica_value conformer(mica_nn *nn, const recogniser *l, int64_t window, mica_value x, mica_value *states) {
  mica_conformer_config c = {
      .self = {.heads = l->heads, .causal = true, .window = window, .positions = MICA_POSITIONS_KIND_ROTARY},
      .kernel = l->kernel,
      .dropout = l->dropout};
  for (int64_t k = 0; k < l->layers; k++) {
    char name[16];
    snprintf(name, sizeof name, "block%d", (int)k);
    mica_value *own = states ? &states[1 + 3 * k] : NULL;
    mica_attention_past past = {.count = states ? states[0] : (mica_value){0}};
    if (states) past.k = own[0], past.v = own[1], c.past = &past, c.past_filtered = &own[2];
    x = mica_nn_conformer(nn, name, x, &c);
    if (states) own[0] = past.k, own[1] = past.v;
  }
  if (states) {
    mica_value count = mica_add(states[0], mica_full_like(states[0], (double)mica_value_shape(x).dim[1]));
    states[0] = mica_minimum(count, mica_full_like(count, (double)(window - 1)));
  }
  return x;
}

mica_value mica__recogniser_build(mica_nn *nn, const recogniser *l, mica_value x, int64_t classes, mica_value *states) {
  x = front(nn, l, x);
  x = l->conformer ? conformer(nn, l, window_of(l), x, states) : recurrent(nn, l, x, states);
  x = mica_nn_dense(nn, "letters", mica_nn_dropout(nn, x, l->dropout), classes,
                    &(mica_dense_config){.weight = {.kind = MICA_INIT_XAVIER_UNIFORM}});
  return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32);
}

mica_value mica__letters_as_classes(mica_value tokens, const int32_t *letters, int64_t count) {
  mica_value alphabet = mica_constant(tokens.graph, MICA_I32, MICA_SHAPE(1, 1, count), letters);
  mica_value above = mica_greater_equal(mica_unsqueeze(tokens, MICA_AXES(2)), alphabet);
  return mica_sum(mica_cast(above, MICA_I32), MICA_AXES(2), false);
}
