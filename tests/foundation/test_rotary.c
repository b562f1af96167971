/* labels: null single
 *
 * Rotary positions that are stretched to longer contexts, beside transformers' (rotary_scalings.def). */
#include "foundation/model.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/foundation.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 8

static const struct {
  const char *name;
  int64_t context, positions;
  const char *parameters; /* JSON with ' in place of " */
  double scale, factors[PAIRS];
} cases[] = {
#define SCALING(name, context, positions, parameters, scale, ...)                                                      \
  {#name, context, positions, parameters, scale, {__VA_ARGS__}},
#include "rotary_scalings.def"
#undef SCALING
};
#define CASES (sizeof cases / sizeof *cases)

static mica_foundation *opened(size_t which) {
  static const float numbers[2] = {1, 2};
  const mica_safetensors_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = {1, {2}}, .data = numbers, .bytes = sizeof numbers};
  const mica_foundation_config config = {.context = cases[which].positions};
  mica_foundation *model = NULL;
  char text[1200];
  snprintf(text, sizeof text,
           "{'model_type': 'llama', 'hidden_size': 96, 'num_hidden_layers': 1, 'num_attention_heads': 6, 'head_dim': "
           "16, 'intermediate_size': 20, 'vocab_size': 9, 'max_position_embeddings': %d, 'rope_parameters': %s}",
           (int)cases[which].context, cases[which].parameters);
  for (char *at = text; *at; at++)
    if (*at == '\'') *at = '"';
  ck_ok(mica_safetensors_write(files_path("m/model.safetensors"), &entry, 1, NULL, 0));
  files_write_text("m/config.json", text);
  ck_ok(mica_foundation_open(files_path("m"), &config, &model));
  return model;
}

START_TEST(scalings) {
  const size_t which = (size_t)_i;
  mica_foundation *model = opened(which);
  const mica_foundation_info *info = mica_foundation_describe(model);
  double *factors = NULL, scale = 0;
  ck_assert_int_eq(info->rotated, 2 * PAIRS);
  ck_ok(mica__rotary_scale(model, &info->rotary, &factors, &scale));
  ck_assert_msg(fabs(scale - cases[which].scale) <= 1e-12, "%s: a scale of %.9g, not %.9g", cases[which].name, scale,
                cases[which].scale);
  for (int i = 0; i < PAIRS; i++) {
    const double got = factors ? factors[i] : 1, want = cases[which].factors[i];
    ck_assert_msg(fabs(got - want) <= 1e-12 * want, "%s: factor %d is %.9g, not %.9g", cases[which].name, i, got, want);
  }
  free(factors);
  mica_foundation_close(model);
}
END_TEST

TESTS(NEEDS(CJSON), NULL, NULL, LOOP(scalings, 0, CASES))
