/* labels: device
 *
 * The greedy text of SmolLM2 by caches of every form. tests/foundation/fetch.py gets the model. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <mica/mica.h>
#include <string.h>

#define FILE_NAME "SmolLM2-135M-Instruct.Q4_1.gguf"

enum { TOKENS = 24 };

typedef struct told {
  int32_t tokens[TOKENS];
  int count;
} told;

static bool hear(void *user, const mica_decoder_event *event) {
  told *t = user;
  if (event->token >= 0) t->tokens[t->count++] = event->token;
  return true;
}

static void write_text(mica_foundation *model, mica_cache_form form, told *t) {
  const char *prompt = "The capital of France is";
  const mica_decoder_config how = {.context = 64, .cache = form};
  mica_decoder *decoder = NULL;
  mica_encoding ids = {0};
  bool busy = true;
  ck_ok(mica_decoder_create(test_engine(), model, &how, &decoder));
  ck_ok(mica_tokenizer_encode(mica_decoder_tokenizer(decoder), prompt, strlen(prompt), NULL, &ids));
  const mica_request request = {.ids = ids.ids,
                                .count = ids.count,
                                .most_tokens = TOKENS,
                                .sampling = &(mica_sampler_config){.temperature = MICA_ZERO},
                                .event = hear,
                                .user = t};
  ck_ok(mica_decoder_add(decoder, &request, NULL));
  while (busy) ck_ok(mica_decoder_step(decoder, &busy));
  ck_assert_int_eq(t->count, TOKENS);
  mica_encoding_free(&ids);
  mica_decoder_destroy(decoder);
}

START_TEST(smollm2_writes_the_same_text) {
  static told want, got[4];
  mica_foundation *model = NULL;
  ck_ok(mica_foundation_open(test_data(FILE_NAME), NULL, &model));
  write_text(model, MICA_CACHE_FORM_F32, &want);
  for (mica_cache_form form = MICA_CACHE_FORM_F16; form <= MICA_CACHE_FORM_Q8; form++) {
    write_text(model, form, &got[form]);
    ck_assert_mem_eq(got[form].tokens, want.tokens, sizeof want.tokens);
  }
  mica_foundation_close(model);
}
END_TEST

TESTS(BOTH(DEVICE, !test_data(FILE_NAME) ? "no " FILE_NAME " in MICA_TEST_DATA" : NULL), NULL, NULL,
      smollm2_writes_the_same_text)
