/* Writes a folder's description of its model as keys of a GGUF file. */
#include "base/number.h"
#include "base/signature.h"
#include "base/text.h"
#include "foundation/write.h"

#include <inttypes.h>
#include <math.h>
#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
  const mica_foundation *model;
  mica_gguf_keys *keys;
  mica_status status; /* the first failure */
} writer;

static const char *key_of(const writer *w, const char *name, char key[128]) {
  snprintf(key, 128, "%s.%s", w->model->family->arch, name);
  return key;
}

static void integer(writer *w, const char *name, int64_t number) {
  char key[128];
  if (w->status == MICA_OK) w->status = mica_gguf_keys_add_integer(w->keys, key_of(w, name, key), number);
}

static void real(writer *w, const char *name, double number) {
  char key[128];
  if (w->status == MICA_OK) w->status = mica_gguf_keys_add_real(w->keys, key_of(w, name, key), number);
}

static void text(writer *w, const char *name, const char *value) {
  char key[128];
  if (w->status == MICA_OK) w->status = mica_gguf_keys_add_text(w->keys, key_of(w, name, key), value);
}

static void refuse(writer *w, const char *what) {
  if (w->status == MICA_OK)
    w->status = mica__fail(MICA_E_UNSUPPORTED, "%s: a GGUF file of the architecture %s cannot store %s", w->model->path,
                           w->model->family->arch, what);
}

static void write_sizes(writer *w) {
  const mica_foundation_info *i = &w->model->info;
  integer(w, "vocab_size", i->vocabulary);
  integer(w, "context_length", i->context);
  integer(w, "embedding_length", i->width);
  integer(w, "block_count", i->layers);
  integer(w, "feed_forward_length", i->hidden);
  if (i->experts) {
    integer(w, "expert_count", i->experts);
    integer(w, "expert_used_count", i->experts_used);
    integer(w, "expert_feed_forward_length", i->hidden);
    if (!i->normalise_routes) refuse(w, "the setting norm_topk_prob = false");
  }
  integer(w, "attention.head_count", i->heads);
  integer(w, "attention.head_count_kv", i->groups);
  integer(w, "attention.key_length", i->head_size);
  integer(w, "attention.value_length", i->head_size);
  real(w, i->rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", i->epsilon);
  if (i->score_cap > 0) real(w, "attn_logit_softcapping", i->score_cap);
  if (i->logit_cap > 0) real(w, "final_logit_softcapping", i->logit_cap);
  /* Programs that read GGUF derive the scale from the head size, or from the width in Gemma's widest models. A model
   * with another scale cannot be written. */
  double length = (double)i->head_size;
  if (w->model->family->query_scale && i->layers == w->model->family->wide)
    length = (double)i->width / (double)i->heads;
  if (fabs(i->score_scale * sqrt(length) - 1) > 1e-6) {
    char what[120];
    mica__snprintf(what, sizeof what, "the scale %g of attention scores, only the usual scale, %g", i->score_scale,
                   1 / sqrt(length));
    refuse(w, what);
  }
}

static void write_windows(writer *w) {
  const mica_foundation_info *i = &w->model->info;
  char key[128];
  if (i->window == 0) return;
  integer(w, "attention.sliding_window", i->window);
  uint8_t *local = malloc((size_t)i->layers);
  if (!local && w->status == MICA_OK) w->status = mica__fail_nomem(w->model->path);
  for (int64_t l = 0; local && l < i->layers; l++) local[l] = i->local[l];
  if (w->status == MICA_OK)
    w->status =
        mica_gguf_keys_add(w->keys, &(mica_gguf_value){.key = key_of(w, "attention.sliding_window_pattern", key),
                                                       .kind = MICA_GGUF_KIND_BOOL,
                                                       .array = true,
                                                       .count = (size_t)i->layers,
                                                       .data = local});
  free(local);
}

/* Programs that read GGUF derive from the family which layers have no positions. A model for which that is wrong cannot
 * be written. */
static void check_no_rope(writer *w) {
  const mica_foundation_info *i = &w->model->info;
  const int64_t every = w->model->family->nope_every;
  for (int64_t l = 0; i->no_rope && l < i->layers; l++)
    if (i->no_rope[l] != ((l + 1) % every == 0)) {
      char what[120];
      snprintf(what, sizeof what, "other layers without rotary positions than every %" PRId64 "th (no_rope_layers)",
               every);
      refuse(w, what);
    }
}

static void write_yarn(writer *w, const mica_foundation_rotary *r) {
  double *factors = NULL, scale = 1;
  /* No key says whether the range is rounded; readers decide it by the family. */
  const bool exact = w->model->family->clamp > 0;
  if (r->exact_range != exact)
    refuse(w, exact ? "the setting truncate = true of rope_scaling" : "the setting truncate = false of rope_scaling");
  if (w->status == MICA_OK) w->status = mica__rotary_scale(w->model, r, &factors, &scale);
  free(factors);
  real(w, "rope.scaling.yarn_beta_fast", r->beta_fast);
  real(w, "rope.scaling.yarn_beta_slow", r->beta_slow);
  /* In a GGUF file, this key multiplies the default scale, which is 0.1 log(factor) + 1. */
  const double own = r->factor <= 1 ? 1 : 0.1 * log(r->factor) + 1;
  if (fabs(scale / own - 1) > 1e-9) real(w, "rope.scaling.yarn_attn_factor", scale / own);
}

/* Writes the keys of rotary positions. The factors of LLAMA3 and LONGROPE are written as tensors
 * (foundation/write.c). */
static void write_rotary(writer *w) {
  const mica_foundation_info *i = &w->model->info;
  const mica_foundation_rotary *r = &i->rotary;
  double *factors = NULL, scale = 1;
  if (i->positions != MICA_POSITIONS_KIND_ROTARY) return;
  integer(w, "rope.dimension_count", i->rotated);
  real(w, "rope.freq_base", r->base);
  if (w->model->family->own_local_base) real(w, "rope.freq_base_swa", i->rotary_local.base);
  switch (r->scaling) {
  case MICA_FOUNDATION_SCALING_NONE:
  case MICA_FOUNDATION_SCALING_DYNAMIC: /* scales only positions beyond the model's context */
  case MICA_FOUNDATION_SCALING_LLAMA3: return;
  case MICA_FOUNDATION_SCALING_LONGROPE:
    if (w->status == MICA_OK) w->status = mica__rotary_scale(w->model, r, &factors, &scale);
    free(factors);
    real(w, "rope.scaling.attn_factor", scale);
    break;
  case MICA_FOUNDATION_SCALING_YARN: write_yarn(w, r); break;
  default: break;
  }
  text(w, "rope.scaling.type", mica_foundation_scaling_name(r->scaling));
  if (r->factor > 0) real(w, "rope.scaling.factor", r->factor);
  if (r->original > 0) integer(w, "rope.scaling.original_context_length", (int64_t)r->original);
}

mica_status mica__write_keys(const mica_foundation *model, mica_gguf_keys *keys) {
  writer w = {.model = model, .keys = keys};
  const char *slash = strrchr(model->path, '/'), *name = model->info.name;
  if (!*model->family->arch)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: GGUF has no architecture for the family %s", model->path,
                      model->family->name);
  if (model->info.task != MICA_FOUNDATION_TASK_GENERATE)
    return mica__fail(MICA_E_UNSUPPORTED, "%s: only models that generate texts are written as GGUF", model->path);
  MICA_TRY(mica_gguf_keys_add_text(keys, "general.architecture", model->family->arch));
  MICA_TRY(mica_gguf_keys_add_text(keys, "general.name", name ? name : slash && slash[1] ? slash + 1 : model->path));
  if (model->info.licence) MICA_TRY(mica_gguf_keys_add_text(keys, "general.license", model->info.licence));
  write_sizes(&w);
  write_windows(&w);
  write_rotary(&w);
  check_no_rope(&w);
  return w.status;
}

/* --- texts --- */

static mica_status write_ids(const mica_foundation *model, mica_gguf_keys *keys) {
  const mica_foundation_info *i = &model->info;
  if (i->begin >= 0) MICA_TRY(mica_gguf_keys_add_integer(keys, "tokenizer.ggml.bos_token_id", i->begin));
  if (i->pad >= 0) MICA_TRY(mica_gguf_keys_add_integer(keys, "tokenizer.ggml.padding_token_id", i->pad));
  if (i->end_count) MICA_TRY(mica_gguf_keys_add_integer(keys, "tokenizer.ggml.eos_token_id", i->ends[0]));
  return MICA_OK;
}

mica_status mica__write_text_keys(const mica_foundation *model, mica_gguf_keys *keys) {
  mica__text path = {0};
  unsigned char *json = NULL;
  size_t bytes = 0;
  char *chat = NULL;
  MICA_TRY(write_ids(model, keys));
  mica__text_addf(&path, "%s/tokenizer.json", model->path);
  mica__attempt_begin();
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica__file_read_signed(path.data, &json, &bytes);
  if (status == MICA_E_NOT_FOUND) {
    mica__attempt_end();
    mica__text_free(&path);
    return MICA_OK;
  }
  if (status == MICA_OK)
    mica__attempt_end();
  else
    mica__attempt_pass(status);
  if (status == MICA_OK)
    status = mica_tokenizer_gguf_keys(path.data, (const char *)json, bytes, model->info.vocabulary, keys);
  free(json);
  mica__text_free(&path);
  if (status == MICA_OK) status = mica__template_text(model, &chat);
  if (status == MICA_OK && chat) status = mica_gguf_keys_add_text(keys, "tokenizer.chat_template", chat);
  free(chat);
  return status;
}
