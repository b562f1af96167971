/* Whisper's encoder and decoder. Radford et al. 2022. */
#include "foundation/whisper.h"

#include "ir/graph.h"

#include <mica/nodes.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const mica_value null_value = {0};

/* --- sizes --- */

#define MOST_SIZE ((int64_t)1 << 24)
#define MOST_LAYERS 1000

static mica_status check_stack(const char *name, const mica_whisper_stack *s, int64_t width) {
  if (s->layers < 1 || s->layers > MOST_LAYERS || s->hidden < 1 || s->hidden > MOST_SIZE || s->positions < 1 ||
      s->positions > MOST_SIZE)
    return mica__fail(MICA_E_INVALID,
                      "whisper: the %s has %" PRId64 " layers, %" PRId64 " hidden features and %" PRId64
                      " positions; layers must be 1 to 1,000, the others 1 to 2^24",
                      name, s->layers, s->hidden, s->positions);
  if (s->heads < 1 || width % s->heads)
    return mica__fail(MICA_E_INVALID,
                      "whisper: the number of heads (%" PRId64
                      ") of the %s must be at least 1 and divide the width (%" PRId64 ")",
                      s->heads, name, width);
  return MICA_OK;
}

static mica_status check_sizes(const mica_whisper_sizes *s) {
  if (s->width < 1 || s->width > MOST_SIZE || s->bins < 1 || s->bins > MOST_SIZE || s->vocabulary < 1 ||
      s->vocabulary > MOST_SIZE)
    return mica__fail(MICA_E_INVALID,
                      "whisper: a width of %" PRId64 ", %" PRId64 " bins and a vocabulary of %" PRId64
                      " were given; each must be from 1 to 2^24",
                      s->width, s->bins, s->vocabulary);
  MICA_TRY(check_stack("encoder", &s->encoder, s->width));
  return check_stack("decoder", &s->decoder, s->width);
}

static mica_value fail(mica_nn *nn, mica_status status) {
  mica__graph_fail_with(mica_nn_graph(nn), status);
  return null_value;
}

/* Checks an input's shape; dimensions of wanted that are MICA_DYNAMIC may have any extent. */
static mica_status check_input(const char *name, mica_value x, mica_shape wanted) {
  const mica_shape shape = mica_value_shape(x);
  char got[MICA_SHAPE_TEXT], text[MICA_SHAPE_TEXT];
  bool equal = shape.rank == wanted.rank;
  for (int32_t i = 0; equal && i < shape.rank; i++)
    equal = wanted.dim[i] == MICA_DYNAMIC || shape.dim[i] == wanted.dim[i];
  if (equal) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "whisper: %s of the shape %s were given, but the network reads %s", name,
                    mica_shape_format(shape, got), mica_shape_format(wanted, text));
}

/* --- networks --- */

/* Builds the decoder's blocks if there is a memory (the encoder's output) or `caches` is not NULL, else the encoder's.
 * A decoder with caches but without a memory uses the cached keys and values of the last memory. */
static mica_value blocks(mica_nn *nn, const mica_whisper_stack *stack, mica_value x, mica_value memory,
                         const mica__whisper_caches *caches) {
  const bool causal = !mica_value_is_null(memory) || caches;
  /* Keys have no bias: it would add an equal number to all scores of a query. */
  mica_nn_attention_config self = {
      .heads = stack->heads, .causal = causal, .apart = true, .without_bias = MICA_ATTENTION_K};
  mica_nn_attention_config cross = self;
  cross.causal = false;
  if (caches) {
    self.cache = &caches->self;
    cross.cache = &caches->cross;
    cross.recall = mica_value_is_null(memory);
  }
  const mica_transformer_config config = {
      .self = self, .cross = cross, .hidden = stack->hidden, .feed_forward = MICA_FEED_FORWARD_GELU};
  for (int64_t layer = 0; layer < stack->layers; layer++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%" PRId64, layer);
    x = mica_nn_transformer(nn, name, x, memory, &config);
  }
  return mica_nn_layer_norm(nn, "norm", x, NULL);
}

mica_value mica_whisper_encoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value mel) {
  if (!nn || !sizes || mica_value_is_null(mel)) return null_value;
  mica_status status = check_sizes(sizes);
  if (status == MICA_OK)
    status = check_input("features", mel, MICA_SHAPE(MICA_DYNAMIC, sizes->bins, 2 * sizes->encoder.positions));
  if (status != MICA_OK) return fail(nn, status);
  const mica_init_config normal = {.kind = MICA_INIT_NORMAL, .value = 0.02};
  mica_nn_push(nn, "encoder");
  const mica_nn_conv_config same = {.how = {.pad = {1}}}, half = {.how = {.pad = {1}, .stride = {2}}};
  mica_value x = mica_gelu(mica_nn_conv(nn, "conv1", mel, sizes->width, 3, &same));
  x = mica_gelu(mica_nn_conv(nn, "conv2", x, sizes->width, 3, &half));
  x = mica_transpose(x, MICA_AXES(0, 2, 1));
  x = mica_add(x,
               mica_nn_parameter(nn, "positions.weight", MICA_SHAPE(sizes->encoder.positions, sizes->width), &normal));
  x = blocks(nn, &sizes->encoder, x, null_value, NULL);
  mica_nn_pop(nn);
  return x;
}

static mica_status check_decoder(const mica_whisper_sizes *sizes, mica_value ids, mica_value memory) {
  MICA_TRY(check_sizes(sizes));
  MICA_TRY(check_input("ids", ids, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC)));
  if (mica_value_shape(ids).dim[1] > sizes->decoder.positions)
    return mica__fail(MICA_E_SHAPE, "whisper: %" PRId64 " tokens were given, but the decoder has %" PRId64 " positions",
                      mica_value_shape(ids).dim[1], sizes->decoder.positions);
  if (mica_value_is_null(memory)) return MICA_OK;
  return check_input("memories", memory, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC, sizes->width));
}

mica_value mica__whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids, mica_value memory,
                                 const mica__whisper_caches *caches) {
  const mica_status status = check_decoder(sizes, ids, memory);
  if (status != MICA_OK) return fail(nn, status);
  mica_nn_push(nn, "decoder");
  mica_value x = mica_nn_embedding(nn, "embed", ids, sizes->vocabulary, sizes->width, NULL);
  if (sizes->embed_scale) x = mica_affine(x, sqrt((double)sizes->width), 0);
  x = mica_nn_positions(nn, "positions", x, mica_positions(x, caches ? caches->self.offset : null_value),
                        sizes->decoder.positions, MICA_POSITIONS_KIND_LEARNED);
  x = blocks(nn, &sizes->decoder, x, memory, caches);
  if (caches && caches->only) {
    mica_nn_pop(nn);
    return x;
  }
  x = mica_matmul(x, mica_transpose(mica_nn_weight_of(nn, "decoder.embed.weight"), MICA_AXES(1, 0)));
  mica_nn_pop(nn);
  return mica_cast(x, MICA_F32);
}

mica_value mica_whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids, mica_value memory) {
  if (!nn || !sizes || mica_value_is_null(ids) || mica_value_is_null(memory)) return null_value;
  return mica__whisper_decoder(nn, sizes, ids, memory, NULL);
}

mica_status mica_whisper_sizes_of(const mica_foundation *model, mica_whisper_sizes *sizes) {
  if (!model || !sizes) return mica__fail(MICA_E_INVALID, "mica_whisper_sizes_of: model or sizes is NULL");
  const mica_foundation_info *i = mica_foundation_describe(model), *e = i->sound;
  if (!e)
    return mica__fail(MICA_E_INVALID, "%s: models of the family %s do not transcribe sound", model->path, i->family);
  *sizes = (mica_whisper_sizes){
      .width = i->width,
      .bins = e->bins,
      .vocabulary = i->vocabulary,
      .encoder = {.layers = e->layers, .heads = e->heads, .hidden = e->hidden, .positions = e->context},
      .decoder = {.layers = i->layers, .heads = i->heads, .hidden = i->hidden, .positions = i->context},
      .embed_scale = i->embed_scale != 1,
  };
  return MICA_OK;
}
