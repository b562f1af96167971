/* labels: device
 *
 * Caches of keys and values in 16 bits and Q8: logits beside those of an f32 cache, and memory per position. */
#include "foundation/decoder.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 131, T = 28, PROMPT = 20, SLOTS = 3 };

static const char *const models[] = {"llama", "qwen3", "gemma3", "phi3", "gpt2", "llama-gguf/model.gguf"};
enum { MODELS = sizeof models / sizeof *models };

/* What rounding changes a number by, at most: of a normal number in units of the number, and in Q8 in units of the
 * largest number of the block, half a step and the scale's rounding. */
static const double roundings[] = {0, 0x1p-11, 0x1p-8, 0.5 / 127 + 0x1p-11};

static mica_foundation *open_model(const char *name) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  mica_foundation *model = NULL;
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s", root ? root : ".", name);
  ck_ok(mica_foundation_open(path, NULL, &model));
  return model;
}

static mica_decoder *make(mica_foundation *model, mica_cache_form form) {
  const mica_decoder_config how = {.slots = SLOTS, .context = T + 3, .part = 16, .cache = form};
  mica_decoder *decoder = NULL;
  ck_ok(mica_decoder_create(test_engine(), model, &how, &decoder));
  return decoder;
}

/* Logits of the last slot: a prompt in parts, then token after token. Rows of the other slots write nothing. */
static void read(mica_decoder *d, const int32_t *ids, float z[T][V]) {
  for (int from = 0; from < PROMPT; from += 16) {
    const int to = from + 16 < PROMPT ? from + 16 : PROMPT;
    ck_ok(mica__decoder_read_part(d, SLOTS - 1, ids + from, to - from, from));
    memcpy(z[to - 1], d->logits, sizeof z[0]);
  }
  const int32_t count = mica__decoder_row_count(d, 1);
  for (int t = PROMPT; t < T; t++) {
    mica__decoder_row rows[SLOTS];
    for (int32_t r = 0; r < count; r++) rows[r] = (mica__decoder_row){r, 0, T + 3};
    rows[count - 1] = (mica__decoder_row){SLOTS - 1, ids[t], t};
    ck_ok(mica__decoder_read_rows(d, rows, count));
    memcpy(z[t], d->logits + (count - 1) * V, sizeof z[0]);
  }
}

/* With numbers off by e of their size and scores up to S, values move a layer's sum by e. Keys move it by 2 S e: each
 * weight changes by up to S e, and so does their sum. Layers add up. The bound takes S = 1.5 for such small models:
 * 4 e per layer. It is an estimate; 0.2 to 3.6 e were measured over two layers. */
START_TEST(logits_are_near_those_of_f32) {
  static float want[T][V], got[T][V];
  int32_t ids[T];
  uint32_t state = 7;
  mica_foundation *model = open_model(models[_i]);
  const double factor = 4 * (double)mica_foundation_describe(model)->layers;
  for (int t = 0; t < T; t++) ids[t] = (int32_t)((state = state * 1664525u + 1013904223u) >> 8) % V;
  memset(want, 0, sizeof want);
  memset(got, 0, sizeof got);
  mica_decoder *exact = make(model, MICA_CACHE_FORM_F32);
  read(exact, ids, want);
  for (mica_cache_form form = MICA_CACHE_FORM_F16; form <= MICA_CACHE_FORM_Q8; form++) {
    const char *name = mica_cache_form_name(form);
    mica_decoder *decoder = make(model, form);
    read(decoder, ids, got);
    double error = 0, norm = 0;
    for (int t = 0; t < T; t++)
      for (int v = 0; v < V; v++) {
        error += pow((double)got[t][v] - (double)want[t][v], 2);
        norm += pow((double)want[t][v], 2);
      }
    const double moved = sqrt(error / norm), bound = factor * roundings[form];
    ck_assert_msg(moved > 0, "%s: logits are the same by a cache of %s and by f32", models[_i], name);
    ck_assert_msg(moved <= bound, "%s: a cache of %s moves logits by %.3g, at most %.3g expected", models[_i], name,
                  moved, bound);
    mica_decoder_destroy(decoder);
  }
  mica_decoder_destroy(exact);
  mica_foundation_close(model);
}
END_TEST

START_TEST(a_position_takes_the_bytes_of_its_form) {
  mica_foundation *model = open_model(models[_i]);
  const mica_foundation_info *info = mica_foundation_describe(model);
  const size_t numbers = (size_t)(2 * info->layers * info->groups * info->head_size);
  const size_t block = info->head_size % 32 == 0 ? 32 : (size_t)info->head_size;
  const size_t want[] = {4 * numbers, 2 * numbers, 2 * numbers, numbers + 2 * (numbers / block)};
  for (mica_cache_form form = MICA_CACHE_FORM_F32; form <= MICA_CACHE_FORM_Q8; form++) {
    mica_decoder *decoder = make(model, form);
    ck_assert_uint_eq(mica_decoder_position_bytes(decoder), want[form]);
    mica_decoder_destroy(decoder);
  }
  mica_foundation_close(model);
}
END_TEST

START_TEST(forms_are_checked) {
  mica_foundation *model = open_model("llama");
  mica_decoder *decoder = NULL;
  const mica_decoder_config wrong[] = {{.cache = (mica_cache_form)4}, {.cache = (mica_cache_form)-1}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    ck_assert_int_eq(mica_decoder_create(test_engine(), model, &wrong[k], &decoder), MICA_E_INVALID);
  ck_assert_str_eq(mica_cache_form_name(MICA_CACHE_FORM_BF16), "bf16");
  ck_assert_str_eq(mica_cache_form_name((mica_cache_form)4), "?");
  mica_foundation_close(model);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(logits_are_near_those_of_f32, 0, MODELS),
      LOOP(a_position_takes_the_bytes_of_its_form, 0, MODELS), forms_are_checked)
