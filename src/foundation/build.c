/* A model's network: embeddings, blocks, logits. */
#include "foundation/build.h"

#include "base/error.h"
#include "ir/graph.h"

#include <mica/nodes.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const mica_value null_value = {0};

/* --- embeddings --- */

/* The token types; (1, 1) of type 0 if the caller passes none. */
static mica_value types_of(const mica__network_build *b) {
  if (!mica_value_is_null(b->how->types)) return b->how->types;
  return mica_full(mica_nn_graph(b->nn), MICA_I32, MICA_SHAPE(1, 1), 0);
}

static mica_value embed(const mica__network_build *b) {
  const mica_foundation_info *i = b->info;
  const mica_kv_cache *cache = b->how->cache;
  mica_value x = mica_nn_embedding(b->nn, "embed", b->how->ids, i->vocabulary, i->width, NULL);
  /* The scale is rounded to the embeddings' dtype before the product. */
  if (i->embed_scale != 1) x = mica_mul(x, mica_scalar(mica_nn_graph(b->nn), mica_value_dtype(x), i->embed_scale));
  if (i->positions == MICA_POSITIONS_KIND_LEARNED) {
    mica_value positions = mica_positions(x, cache ? cache->offset : null_value);
    if (i->first_position)
      positions = mica_add(positions, mica_scalar(mica_nn_graph(b->nn), MICA_I32, (double)i->first_position));
    x = mica_nn_positions(b->nn, "positions", x, positions, i->context, MICA_POSITIONS_KIND_LEARNED);
  }
  if (i->types > 0) x = mica_add(x, mica_nn_embedding(b->nn, "types", types_of(b), i->types, i->width, NULL));
  return i->embed_norm ? mica__build_norm(b, "embed_norm", x) : x;
}

/* --- logits --- */

static mica_value last_rows(const mica__network_build *b, mica_value x) {
  mica_value lengths = b->how->lengths;
  if (mica_value_is_null(lengths) && b->how->cache) lengths = b->how->cache->lengths;
  return mica_last_rows(x, lengths);
}

static mica_value finish_logits(const mica_foundation_info *i, mica_value z) {
  z = mica_cast(z, MICA_F32);
  if (i->logit_cap > 0) z = mica_affine(mica_tanh(mica_affine(z, 1 / i->logit_cap, 0)), i->logit_cap, 0);
  return z;
}

mica_value mica__build_logits(mica_nn *nn, const mica_foundation_info *i, mica_value x, bool again) {
  if (!i->tied && !again)
    return finish_logits(i, mica_nn_dense(nn, "head", x, i->vocabulary, &(mica_dense_config){.no_bias = true}));
  mica_value table = mica_nn_weight_of(nn, i->tied ? "embed.weight" : "head.weight");
  return finish_logits(i, mica_matmul(x, mica_transpose(table, MICA_AXES(1, 0))));
}

/* Features (B, C) of the first end token of each text. Old files give token 2 as the end token, although their texts
 * end with another one. For these files the end is the first occurrence of the largest token id. */
static mica_value end_rows(const mica__network_build *b, mica_value x) {
  const mica_foundation_info *i = b->info;
  mica_value ids = b->how->ids;
  const int32_t end = i->end_count ? i->ends[0] : 2;
  if (end != 2) {
    mica_value wanted = mica_scalar(mica_nn_graph(b->nn), mica_value_dtype(ids), end);
    ids = mica_cast(mica_equal(ids, wanted), MICA_I32);
  }
  mica_value at = mica_cast(mica_argmax(ids, 1, false), MICA_I32);
  return mica_last_rows(x, mica_add(at, mica_scalar(mica_nn_graph(b->nn), MICA_I32, 1)));
}

/* --- the network --- */

static mica_status prepare(mica__network_build *b) {
  const mica_foundation_info *i = b->info;
  const bool pictures = !mica_value_is_null(b->how->pixels);
  if (i->sound)
    return mica__fail(MICA_E_UNSUPPORTED, "models of the family %s read sound; mica/whisper.h builds their networks",
                      i->family);
  if (pictures && !mica_value_is_null(b->how->ids))
    return mica__fail(MICA_E_INVALID, "ids and pixels were both given, but a network reads only one of them");
  if (pictures != (i->picture > 0))
    return mica__fail(MICA_E_INVALID, "a model of the family %s reads %s; give it %s and nothing else",
                      b->model->info.family, pictures ? "texts" : "pictures", pictures ? "ids" : "pixels");
  const bool features = i->task != MICA_FOUNDATION_TASK_GENERATE && i->task != MICA_FOUNDATION_TASK_CLASSIFY;
  if (!pictures && features && !i->projection && !b->how->hidden)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "this model (family %s) neither continues texts nor classifies; set hidden to get its features",
                      i->family);
  if (b->how->layers < 0 || b->how->layers > i->layers)
    return mica__fail(MICA_E_INVALID,
                      "layers is %" PRId64 ", but must be from 0 to %" PRId64 ", the number that the model has",
                      b->how->layers, i->layers);
  if (i->positions != MICA_POSITIONS_KIND_ROTARY) return MICA_OK;
  const mica_foundation_rotary *rotary[2] = {&i->rotary, &i->rotary_local};
  for (int k = 0; k < 2; k++) {
    b->rotary[k] = (mica_rotary_config){.base = rotary[k]->base, .rotated = i->rotated, .interleave = i->interleaved};
    MICA_TRY(mica__rotary_scale(b->model, rotary[k], &b->factors[k], &b->rotary[k].scale));
    b->rotary[k].factors = b->factors[k];
  }
  return MICA_OK;
}

/* Logits of the classes from the features of the first token: the dense layer "pooler", tanh or ReLU, then the dense
 * layer "head". */
static mica_value build_classes(const mica__network_build *b, mica_value x) {
  const mica_foundation_info *i = b->info;
  const mica_value per_text = mica_cast(mica_argmax(b->how->ids, 1, false), MICA_I32);
  x = mica_last_rows(x, mica_full_like(per_text, 1));
  x = mica_nn_dense(b->nn, "pooler", x, i->width, NULL);
  x = b->family->relu_pooler ? mica_relu(x) : mica_tanh(x);
  return mica_cast(mica_nn_dense(b->nn, "head", x, i->classes, NULL), MICA_F32);
}

static mica_value build_texts(const mica__network_build *b) {
  mica_value x = mica__build_blocks(b, embed(b));
  if (b->how->logits_of_last) x = last_rows(b, x);
  if (b->info->norms != MICA_FOUNDATION_NORMS_AFTER) x = mica__build_norm(b, "norm", x);
  if (b->how->hidden) return x;
  if (b->info->task == MICA_FOUNDATION_TASK_CLASSIFY) return build_classes(b, x);
  if (!b->info->projection) return mica__build_logits(b->nn, b->info, x, false);
  return mica_cast(
      mica_nn_dense(b->nn, "projection", end_rows(b, x), b->info->projection, &(mica_dense_config){.no_bias = true}),
      MICA_F32);
}

mica_value mica_foundation_network(mica_nn *nn, const mica_foundation *model, const mica_foundation_build *build) {
  if (!nn || !model || !build) return null_value;
  if (mica_value_is_null(build->ids) && mica_value_is_null(build->pixels)) return null_value;
  const bool second = model->info.vision && mica_value_is_null(build->ids);
  mica__network_build b = {.nn = nn,
                           .model = model,
                           .info = second ? model->info.vision : &model->info,
                           .family = second ? mica__family_named(model->family->vision) : model->family,
                           .how = build};
  const mica_status status = prepare(&b);
  mica_value x = null_value;
  if (second) mica_nn_push(nn, "vision");
  if (status != MICA_OK)
    mica__graph_fail_with(mica_nn_graph(nn), status);
  else
    x = b.info->picture ? mica__build_pictures(&b) : build_texts(&b);
  if (second) mica_nn_pop(nn);
  free(b.factors[0]);
  free(b.factors[1]);
  return x;
}
