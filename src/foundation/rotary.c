#include "foundation/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FACTORS 4096

static const char *const names[] = {
#define NAME(name, text) text,
    MICA_FOUNDATION_SCALING_LIST(NAME)
#undef NAME
};

/* Reads the kind of scaling from its name. The kind FACTORS has no name: it is used if a GGUF file contains a tensor of
 * factors. */
static mica_status read_scaling(const mica__config_source *f, const mica__config_value *kind,
                                mica_foundation_scaling *scaling) {
  *scaling = MICA_FOUNDATION_SCALING_NONE;
  if (kind->kind == MICA__CONFIG_ABSENT || mica__config_is(kind, "none")) return MICA_OK;
  if (mica__config_is(kind, "su")) return *scaling = MICA_FOUNDATION_SCALING_LONGROPE, MICA_OK;
  for (int s = 0; s < MICA_FOUNDATION_SCALING_FACTORS; s++)
    if (mica__config_is(kind, names[s])) return *scaling = (mica_foundation_scaling)s, MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "%s: the scaling of positions \"%.*s\" is unknown; known are linear, dynamic, yarn, longrope, llama3", f->path,
      (int)(kind->text.length < 60 ? kind->text.length : 60), kind->text.bytes ? kind->text.bytes : "");
}

static mica_status read_factors(const mica__config_source *f, const char *keys, mica_foundation_info *i, double **kept,
                                const double **factors) {
  const mica__config_value list = mica__config_find(f, keys, "");
  const size_t count = (size_t)i->rotated / 2;
  if (list.kind != MICA__CONFIG_LIST || list.count != count || count > MOST_FACTORS)
    return mica__fail(MICA_E_FORMAT, "%s: the key %.*s must be a list of %zu numbers (at most %d are possible)",
                      f->path, (int)strcspn(list.key, "|"), list.key, count, MOST_FACTORS);
  *kept = calloc(count + 1, sizeof **kept);
  if (!*kept) return mica__fail_nomem(f->path);
  for (size_t n = 0; n < count; n++) {
    const mica__config_value one = mica__config_at(&list, n);
    if (one.kind != MICA__CONFIG_NUMBER || !(one.number > 0))
      return mica__fail(MICA_E_FORMAT, "%s: element %zu of the key %.*s is not a number above 0", f->path, n,
                        (int)strcspn(list.key, "|"), list.key);
    (*kept)[n] = one.number;
  }
  *factors = *kept;
  i->rotary.count = count;
  return MICA_OK;
}

/* The keys under which folders have a value of rotary positions. */
#define IN_ROPE(key) "rope_parameters." key "|rope_parameters.full_attention." key "|rope_scaling." key

/* Reads the context before scaling and the attention factor. Both are 0 if the files do not have them. */
static mica_status read_original(const mica__config_source *f, mica_foundation_rotary *r) {
  MICA_TRY(mica__config_real(f, "original context",
                             IN_ROPE("original_max_position_embeddings") "|original_max_position_embeddings",
                             "rope.scaling.original_context_length", 0, 1, 1e9, &r->original));
  return mica__config_real(f, "factor of attention", IN_ROPE("attention_factor"),
                           "rope.scaling.yarn_attn_factor|rope.scaling.attn_factor", 0, 0, 1e6, &r->attention_factor);
}

static mica_status read_one(const mica__config_source *f, mica_foundation_info *i, mica__info_arrays *arrays) {
  mica_foundation_rotary *r = &i->rotary;
  const mica__config_value kind = mica__config_find(f, IN_ROPE("rope_type") "|rope_scaling.type", "rope.scaling.type");
  MICA_TRY(mica__config_real(f, "base of rotary positions",
                             "rope_parameters.rope_theta|rope_parameters.full_attention.rope_theta|rope_theta",
                             "rope.freq_base", 1e4, 1, 1e12, &r->base));
  MICA_TRY(read_scaling(f, &kind, &r->scaling));
  if (r->scaling == MICA_FOUNDATION_SCALING_NONE) return MICA_OK;
  MICA_TRY(read_original(f, r));
  MICA_TRY(mica__config_real(f, "factor of positions", IN_ROPE("factor"), "rope.scaling.factor",
                             r->original > 0 ? (double)i->context / r->original : 1, 1e-6, 1e6, &r->factor));
  if (r->scaling == MICA_FOUNDATION_SCALING_YARN) {
    MICA_TRY(mica__config_real(f, "beta_fast", IN_ROPE("beta_fast"), "rope.scaling.yarn_beta_fast", 32, 0, 1e6,
                               &r->beta_fast));
    MICA_TRY(mica__config_real(f, "beta_slow", IN_ROPE("beta_slow"), "rope.scaling.yarn_beta_slow", 1, 0, 1e6,
                               &r->beta_slow));
    bool truncate = true;
    MICA_TRY(mica__config_flag(f, IN_ROPE("truncate"), "", true, &truncate));
    r->exact_range = !truncate;
    MICA_TRY(mica__config_real(f, "mscale", IN_ROPE("mscale"), "", 0, 0, 1e6, &r->mscale));
    MICA_TRY(mica__config_real(f, "mscale_all_dim", IN_ROPE("mscale_all_dim"), "", 0, 0, 1e6, &r->mscale_all));
  }
  if (r->scaling == MICA_FOUNDATION_SCALING_LLAMA3) {
    MICA_TRY(mica__config_real(f, "low_freq_factor", IN_ROPE("low_freq_factor"), "", MICA__NEEDED, 1e-6, 1e6,
                               &r->low_factor));
    MICA_TRY(mica__config_real(f, "high_freq_factor", IN_ROPE("high_freq_factor"), "", MICA__NEEDED, 1e-6, 1e6,
                               &r->high_factor));
  }
  if (r->scaling != MICA_FOUNDATION_SCALING_LONGROPE || f->gguf) return MICA_OK;
  MICA_TRY(read_factors(f, IN_ROPE("short_factor"), i, &arrays->factors[0], &r->short_factors));
  return read_factors(f, IN_ROPE("long_factor"), i, &arrays->factors[1], &r->long_factors);
}

mica_status mica__rotary_read(const mica__config_source *f, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *i, mica__info_arrays *arrays) {
  double share = 1;
  if (i->positions != MICA_POSITIONS_KIND_ROTARY) return MICA_OK;
  MICA_TRY(mica__config_real(f, "share of rotated features", IN_ROPE("partial_rotary_factor") "|partial_rotary_factor",
                             "", 1, 0, 1, &share));
  MICA_TRY(mica__config_count(f, "number of rotated features", "", "rope.dimension_count",
                              (int64_t)(share * (double)i->head_size), 0, i->head_size, &i->rotated));
  if (i->rotated < 2 || i->rotated % 2)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the number of rotated features per head is %" PRId64 ", but must be even and at least 2",
                      f->path, i->rotated);
  MICA_TRY(read_one(f, i, arrays));
  if (family->clamp > 0 && f->gguf && i->rotary.scaling == MICA_FOUNDATION_SCALING_YARN) i->rotary.exact_range = true;
  const bool both = f->gguf && mica_weights_find(weights, "rope_factors_long.weight");
  if (both || (f->gguf && mica_weights_find(weights, "rope_freqs.weight")))
    i->rotary.scaling = MICA_FOUNDATION_SCALING_FACTORS;
  /* Published GGUF files with both lists of factors lack rope.scaling.type, so read_one has not called
   * read_original. */
  if (both) MICA_TRY(read_original(f, &i->rotary));
  i->rotary_local = i->rotary;
  if (!family->own_local_base) return MICA_OK;
  i->rotary_local = (mica_foundation_rotary){0};
  return mica__config_real(f, "base of rotary positions within windows",
                           "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq", "rope.freq_base_swa",
                           1e4, 1, 1e12, &i->rotary_local.base);
}
