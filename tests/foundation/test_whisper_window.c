/* labels: device
 *
 * What decides about a window of Whisper: texts that end in a loop, how well texts compress, and weights that are
 * rounded to f16. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include "base/element.h"
#include "foundation/whisper.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/safetensors.h>
#include <mica/weights.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, LEAST = 48, LONGEST = 64 };

/* --- loops --- */

/* `before` tokens that differ, then `count` tokens with this period. */
static size_t make_loop(int32_t tokens[MOST], size_t before, size_t period, size_t count) {
  for (size_t i = 0; i < before; i++) tokens[i] = (int32_t)(1000 + i);
  for (size_t i = 0; i < count; i++) tokens[before + i] = (int32_t)(i % period);
  return before + count;
}

/* A loop is 48 tokens at least, and three periods of at most 64. */
START_TEST(texts_that_end_in_a_loop) {
  int32_t tokens[MOST];
  for (size_t period = 1; period <= LONGEST + 3; period++)
    for (size_t before = 0; before < 40; before += 13) {
      const size_t least = 3 * period > LEAST ? 3 * period : LEAST;
      const bool short_enough = period <= LONGEST;
      ck_assert(!mica__whisper_repeats(tokens, make_loop(tokens, before, period, least - 1)));
      ck_assert(mica__whisper_repeats(tokens, make_loop(tokens, before, period, least)) == short_enough);
      const size_t count = make_loop(tokens, before, period, least + 20);
      ck_assert(mica__whisper_repeats(tokens, count) == short_enough);
      /* The loop has ended. */
      tokens[count] = 2000;
      ck_assert(!mica__whisper_repeats(tokens, count + 1));
      /* One token is another. */
      tokens[before + least / 2 + 20] = 2000;
      ck_assert(!mica__whisper_repeats(tokens, count));
    }
  ck_assert(!mica__whisper_repeats(tokens, 0));
}
END_TEST

START_TEST(texts_that_repeat_compress) {
  char text[600];
  double ratio = 9;
  ck_ok(mica__whisper_compression("", 0, &ratio));
  ck_assert_double_eq(ratio, 0);
  for (size_t i = 0; i < sizeof text; i++) text[i] = "and then "[i % 9];
  ck_ok(mica__whisper_compression(text, sizeof text, &ratio));
  /* zlib.compress of Python makes 24 bytes of it, libdeflate a few more or less. */
  ck_assert_msg(ratio > 18 && ratio < 32, "%g", ratio);
  uint32_t state = 1;
  for (size_t i = 0; i < sizeof text; i++) {
    state = state * 1664525u + 1013904223u;
    text[i] = (char)(state >> 24);
  }
  ck_ok(mica__whisper_compression(text, sizeof text, &ratio));
  ck_assert_msg(ratio > 0.9 && ratio < 1, "%g", ratio);
}
END_TEST

/* --- weights in f16 --- */

/* Writes the model of the golden folder with f32 weights that f16 cannot hold; rounded: the decoder's matrices are
 * rounded to f16, in f32. */
static void write_model(const char *folder, bool rounded) {
  static const char *const names[] = {"config.json", "generation_config.json", "preprocessor_config.json",
                                      "tokenizer.json"};
  char name[80];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t bytes = 0;
    uint8_t *data = files_read(golden_path("foundation/whisper/talk", names[i]), &bytes);
    snprintf(name, sizeof name, "%s/%s", folder, names[i]);
    files_write(name, data, bytes);
    free(data);
  }
  mica_weights *weights = NULL;
  ck_ok(mica_weights_open(golden_path("foundation/whisper/talk", "model.safetensors"), &weights));
  const size_t count = mica_weights_count(weights);
  mica_safetensors_entry *list = calloc(count, sizeof *list);
  for (size_t t = 0; t < count; t++) {
    const mica_weight_entry *from = mica_weights_at(weights, t);
    int64_t n = 0;
    ck_ok(mica_shape_count(from->shape, &n));
    float *data = calloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++) {
      data[i] = (float)(mica__element_get(from->dtype, from->data, i) * (1 + 0.004 * (double)(i * 37 % 64 - 31) / 64));
      uint16_t half = 0;
      mica__element_set(MICA_F16, &half, 0, (double)data[i]);
      if (rounded && from->shape.rank == 2 && strstr(from->name, "decoder."))
        data[i] = (float)mica__element_get(MICA_F16, &half, 0);
    }
    list[t] = (mica_safetensors_entry){
        .name = from->name, .dtype = MICA_F32, .shape = from->shape, .data = data, .bytes = (size_t)n * sizeof *data};
  }
  snprintf(name, sizeof name, "%s/model.safetensors", folder);
  ck_ok(mica_safetensors_write(files_path(name), list, count, NULL, 0));
  for (size_t t = 0; t < count; t++) free((void *)(uintptr_t)list[t].data);
  free(list);
  mica_weights_close(weights);
}

typedef struct found {
  double log_probability[64];
  int32_t tokens[64][24];
  size_t lengths[64], count;
} found;

static void take(void *user, const mica_whisper_segment *s) {
  found *f = user;
  ck_assert(f->count < 64 && s->token_count <= 24);
  memcpy(f->tokens[f->count], s->tokens, s->token_count * sizeof *s->tokens);
  f->lengths[f->count] = s->token_count;
  f->log_probability[f->count++] = s->log_probability;
}

static found transcribe(const char *folder, bool half) {
  static float x[48000];
  found f = {.count = 0};
  mica_foundation *model = NULL;
  mica_whisper *w = NULL;
  for (int i = 0; i < 48000; i++) x[i] = (float)(i * 37 % 1024 - 512) / 1024.0f;
  ck_ok(mica_foundation_open(files_path(folder), NULL, &model));
  const mica_whisper_config config = {.segment = take,
                                      .user = &f,
                                      .language = "de",
                                      .no_speech = 1,
                                      .no_fallback = true,
                                      .no_context = true,
                                      .half = half};
  ck_ok(mica_whisper_create(test_engine(), model, &config, &w));
  ck_ok(mica_whisper_push(w, x, 48000));
  ck_ok(mica_whisper_finish(w));
  mica_whisper_destroy(w);
  mica_foundation_close(model);
  ck_assert_uint_gt(f.count, 0);
  return f;
}

/* `half` gives the results of f32 matrices that were rounded before, and not those with the file's own numbers. */
START_TEST(half_rounds_the_decoders_matrices) {
  write_model("fine", false);
  write_model("rounded", true);
  const found half = transcribe("fine", true), rounded = transcribe("rounded", false), fine = transcribe("fine", false);
  double same = 0, other = 0;
  ck_assert_uint_eq(half.count, rounded.count);
  for (size_t s = 0; s < half.count; s++) {
    ck_assert_uint_eq(half.lengths[s], rounded.lengths[s]);
    ck_assert_mem_eq(half.tokens[s], rounded.tokens[s], half.lengths[s] * sizeof(int32_t));
    same = fmax(same, fabs(half.log_probability[s] - rounded.log_probability[s]));
    if (s < fine.count) other = fmax(other, fabs(half.log_probability[s] - fine.log_probability[s]));
  }
  ck_assert_msg(same < 2e-6, "%g", same);
  ck_assert_msg(other > 2e-5, "%g", other);
  files_remove();
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, texts_that_end_in_a_loop, IF(DEFLATE, texts_that_repeat_compress),
      half_rounds_the_decoders_matrices)
