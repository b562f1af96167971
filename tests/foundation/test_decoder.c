/* labels: device single
 *
 * Decoders of a small model: greedy texts equal the network's without a cache, requests give the same text in any
 * company, prefixes are shared, and texts end as they should. */
#include "foundation/decoder.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 131, CONTEXT = 64, MOST = 64 };

static mica_foundation *model;

static void open_model(const char *name) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s", root ? root : ".", name);
  mica_foundation_close(model);
  ck_ok(mica_foundation_open(path, NULL, &model));
}

static mica_decoder *make(int32_t slots, int64_t part) {
  mica_decoder *decoder = NULL;
  ck_ok(mica_decoder_create(test_engine(), model, &(mica_decoder_config){.slots = slots, .part = part}, &decoder));
  ck_assert_int_eq(mica_decoder_context(decoder), CONTEXT);
  return decoder;
}

/* A text as its events told it. */
typedef struct told {
  int32_t tokens[MOST];
  int count, after; /* tokens; false is answered from this number on, if it is not 0 */
  mica_finish finish;
} told;

static bool hear(void *user, const mica_decoder_event *event) {
  told *t = user;
  ck_assert_int_eq(t->finish, MICA_FINISH_NONE);
  t->finish = event->finish;
  ck_assert(event->finish == MICA_FINISH_NONE || event->token == -1);
  ck_assert_uint_eq(event->bytes, 0);
  if (event->token >= 0) t->tokens[t->count++] = event->token;
  return !t->after || t->count < t->after;
}

static const mica_sampler_config greedy = {.temperature = MICA_ZERO};

static int64_t add(mica_decoder *decoder, const int32_t *ids, size_t count, int64_t most, uint64_t seed, told *t) {
  const mica_sampler_config draws = {.seed = seed, .temperature = 1.5};
  int64_t id = 0;
  *t = (told){.after = t->after};
  ck_ok(mica_decoder_add(decoder,
                         &(mica_request){.ids = ids,
                                         .count = count,
                                         .most_tokens = most,
                                         .sampling = seed ? &draws : &greedy,
                                         .ignore_end = true,
                                         .event = hear,
                                         .user = t},
                         &id));
  return id;
}

static void finish(mica_decoder *decoder) {
  bool busy = true;
  while (busy) ck_ok(mica_decoder_step(decoder, &busy));
}

static uint32_t state = 1;
static int32_t next(int32_t below) { return (int32_t)((state = state * 1664525u + 1013904223u) >> 8) % below; }

/* --- texts --- */

/* The likeliest tokens after a prompt, each by a run of the whole text. */
static void continue_whole(const int32_t *ids, int count, int most, int32_t *tokens) {
  static float logits[V];
  int32_t text[CONTEXT];
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  mica_value z = mica_foundation_network(
      nn, model,
      &(mica_foundation_build){.ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, CONTEXT)),
                               .lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(1)),
                               .logits_of_last = true});
  ck_ok(mica_session_create(test_engine(), graph, &z, 1, NULL, &session));
  ck_ok(mica_foundation_load(model, nn, session));
  memset(text, 0, sizeof text);
  memcpy(text, ids, (size_t)count * sizeof *ids);
  for (int32_t t = 0, length = count; t < most; t++, length++) {
    mica_tensor *x = NULL, *n = NULL;
    ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1, CONTEXT), text, &x));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1), &length, &n));
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"ids", x}, {"lengths", n}}, 2));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), logits, sizeof logits));
    int best = 0;
    for (int v = 1; v < V; v++)
      if (logits[v] > logits[best]) best = v;
    tokens[t] = text[length] = best;
    mica_tensor_destroy(x);
    mica_tensor_destroy(n);
  }
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* Weights in f32, 16 bits and blocks. The decoder takes them as they are, the network without a cache in f32. */
static const char *const models[] = {
    "llama", "llama3", "qwen2", "gemma3", "llama-gguf/model.gguf", "qwen3-gguf/model.gguf"};
enum { MODELS = sizeof models / sizeof *models };

START_TEST(greedy_texts_are_those_of_the_network) {
  static told texts[5];
  int32_t prompts[5][40], want[20];
  const int counts[5] = {1, 5, 16, 17, 40};
  open_model(models[_i]);
  mica_decoder *decoder = make(3, 16);
  for (int r = 0; r < 5; r++) {
    for (int t = 0; t < counts[r]; t++) prompts[r][t] = next(V);
    add(decoder, prompts[r], (size_t)counts[r], 20, 0, &texts[r]);
  }
  finish(decoder);
  for (int r = 0; r < 5; r++) {
    continue_whole(prompts[r], counts[r], 20, want);
    ck_assert_int_eq(texts[r].count, 20);
    ck_assert_int_eq(texts[r].finish, MICA_FINISH_LENGTH);
    ck_assert_mem_eq(texts[r].tokens, want, sizeof want);
  }
  mica_decoder_destroy(decoder);
}
END_TEST

/* --- a model of blocks --- */

enum { WIDTH = 64, HIDDEN = 96, SIZE = 32, TENSORS = 21 };
static const char block_config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"intermediate_size\": 96, \"num_attention_heads\": 4,"
    "\"num_key_value_heads\": 2, \"head_dim\": 32, \"num_hidden_layers\": 2, \"max_position_embeddings\": 64,"
    "\"vocab_size\": 131, \"rms_norm_eps\": 1e-6, \"rope_theta\": 10000.0, \"tie_word_embeddings\": false,"
    "\"hidden_act\": \"silu\", \"eos_token_id\": 2}";

/* A weight of the model: a matrix, or ones for a norm. */
static void add_weight(mica_safetensors_entry *entry, char name[64], int64_t rows, int64_t columns) {
  const size_t count = (size_t)((rows ? rows : 1) * columns);
  float *x = malloc(count * sizeof *x);
  for (size_t i = 0; i < count; i++) x[i] = rows ? (float)(next(2001) - 1000) * 1.5e-4F : 1;
  *entry = (mica_safetensors_entry){.name = name,
                                    .type = "F32",
                                    .dtype = MICA_F32,
                                    .shape = rows ? MICA_SHAPE(rows, columns) : MICA_SHAPE(columns),
                                    .data = x,
                                    .bytes = count * sizeof *x};
}

/* Opens a model whose matrices are all in blocks of 32, Q8_0. */
static void open_blocks(void) {
  static const struct {
    const char *name;
    int64_t rows, columns;
  } layer[] = {
      {"input_layernorm", 0, WIDTH},    {"post_attention_layernorm", 0, WIDTH}, {"self_attn.q_proj", 128, WIDTH},
      {"self_attn.k_proj", 64, WIDTH},  {"self_attn.v_proj", 64, WIDTH},        {"self_attn.o_proj", WIDTH, 128},
      {"mlp.gate_proj", HIDDEN, WIDTH}, {"mlp.up_proj", HIDDEN, WIDTH},         {"mlp.down_proj", WIDTH, HIDDEN}};
  static char names[TENSORS][64];
  mica_safetensors_entry entries[TENSORS];
  size_t count = 0;
  for (int l = 0; l < 2; l++)
    for (size_t k = 0; k < sizeof layer / sizeof *layer; k++, count++) {
      snprintf(names[count], sizeof names[count], "model.layers.%d.%s.weight", l, layer[k].name);
      add_weight(&entries[count], names[count], layer[k].rows, layer[k].columns);
    }
  strcpy(names[count], "model.embed_tokens.weight");
  add_weight(&entries[count], names[count], V, WIDTH);
  count++;
  strcpy(names[count], "lm_head.weight");
  add_weight(&entries[count], names[count], V, WIDTH);
  count++;
  strcpy(names[count], "model.norm.weight");
  add_weight(&entries[count], names[count], 0, WIDTH);
  count++;
  files_write_text("blocks/config.json", block_config);
  ck_ok(mica_safetensors_write(files_path("blocks/model.safetensors"), entries, count, NULL, 0));
  for (size_t k = 0; k < count; k++) free((void *)entries[k].data);
  mica_foundation *from = NULL;
  ck_ok(mica_foundation_open(files_path("blocks"), NULL, &from));
  ck_ok(mica_foundation_write(from, files_path("blocks.gguf"), &(mica_foundation_write_config){.type = "q8_0"}, NULL));
  mica_foundation_close(from);
  mica_foundation_close(model);
  ck_ok(mica_foundation_open(files_path("blocks.gguf"), NULL, &model));
}

/* A step has rows for the slots with a token, rounded up to a power of two, if that changes no bit. */
START_TEST(steps_have_few_rows_where_all_is_in_blocks) {
  static const int32_t want[] = {1, 2, 4, 4, 6, 6};
  open_blocks();
  mica_decoder *decoder = make(6, 16);
  for (int32_t count = 1; count <= 6; count++)
    ck_assert_int_eq(mica__decoder_row_count(decoder, count), want[count - 1]);
  mica_decoder_destroy(decoder);
  open_model("llama");
  decoder = make(6, 16);
  ck_assert_int_eq(mica__decoder_row_count(decoder, 1), 6);
  mica_decoder_destroy(decoder);
}
END_TEST

enum { REQUESTS = 200 };

START_TEST(texts_are_the_same_in_any_company) {
  static int32_t prompts[REQUESTS][48];
  static told together[REQUESTS], alone;
  int counts[REQUESTS], most[REQUESTS];
  uint64_t seeds[REQUESTS];
  if (_i)
    open_blocks();
  else
    open_model("llama");
  mica_decoder *decoder = make(8, 16);
  for (int r = 0; r < REQUESTS; r++) {
    counts[r] = 1 + next(48);
    most[r] = 1 + next(15);
    seeds[r] = (uint64_t)next(3) * (uint64_t)(r + 1); /* a third of them is greedy */
    for (int t = 0; t < counts[r]; t++) prompts[r][t] = r % 4 == 3 && t < counts[r - 1] ? prompts[r - 1][t] : next(V);
    add(decoder, prompts[r], (size_t)counts[r], most[r], seeds[r], &together[r]);
    if (next(3) == 0) ck_ok(mica_decoder_step(decoder, NULL));
  }
  finish(decoder);
  for (int r = 0; r < REQUESTS; r++) {
    alone.after = 0;
    add(decoder, prompts[r], (size_t)counts[r], most[r], seeds[r], &alone);
    finish(decoder);
    ck_assert_int_eq(together[r].count, most[r]);
    ck_assert_int_eq(alone.count, most[r]);
    ck_assert_mem_eq(together[r].tokens, alone.tokens, (size_t)most[r] * sizeof(int32_t));
  }
  mica_decoder_destroy(decoder);
}
END_TEST

START_TEST(a_prompt_that_a_slot_holds_is_not_read_again) {
  static told first, second;
  int32_t prompt[40];
  open_model("llama");
  mica_decoder *decoder = make(1, 16);
  for (int t = 0; t < 40; t++) prompt[t] = next(V);
  add(decoder, prompt, 40, 5, 0, &first);
  finish(decoder);
  const uint64_t before = mica_engine_stats(test_engine()).launches;
  add(decoder, prompt, 40, 5, 0, &second);
  finish(decoder);
  const uint64_t again = mica_engine_stats(test_engine()).launches - before;
  ck_assert_mem_eq(first.tokens, second.tokens, 5 * sizeof(int32_t));
  prompt[0] = (prompt[0] + 1) % V; /* nothing is shared now */
  const uint64_t at = mica_engine_stats(test_engine()).launches;
  add(decoder, prompt, 40, 5, 0, &second);
  finish(decoder);
  ck_assert_uint_gt(mica_engine_stats(test_engine()).launches - at, again);
  mica_decoder_destroy(decoder);
}
END_TEST

/* --- adapters --- */

/* A prompt's greedy text by a decoder with or without the adapter, beside another decoder or alone. */
static told adapted_text(mica_adapter *adapter, const mica_decoder *beside) {
  static const int32_t prompt[] = {5, 9, 2, 77, 31};
  told t = {0};
  mica_decoder *decoder = NULL;
  const mica_decoder_config how = {.slots = 2, .part = 16, .adapter = adapter, .weights_of = beside};
  ck_ok(mica_decoder_create(test_engine(), model, &how, &decoder));
  add(decoder, prompt, sizeof prompt / sizeof *prompt, 20, 0, &t);
  finish(decoder);
  mica_decoder_destroy(decoder);
  return t;
}

START_TEST(decoders_share_weights) {
  char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  mica_adapter *adapter = NULL;
  mica_decoder *refused = NULL;
  mica_foundation *first = NULL;
  open_model("llama");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/llama/adapter", root ? root : ".");
  ck_ok(mica_foundation_adapter_open(model, path, &adapter));
  const told own = adapted_text(adapter, NULL), plain = adapted_text(NULL, NULL);
  ck_assert(own.count == 20 && plain.count == 20);
  ck_assert_int_ne(memcmp(own.tokens, plain.tokens, sizeof own.tokens), 0);
  mica_decoder *base = make(1, 16);
  for (int order = 0; order < 2; order++) {
    const told shared = adapted_text(order ? NULL : adapter, base);
    ck_assert_mem_eq(shared.tokens, (order ? &plain : &own)->tokens, sizeof shared.tokens);
  }
  /* A decoder of another model is refused. */
  first = model;
  model = NULL;
  open_model("mistral");
  const mica_decoder_config wrong = {.weights_of = base};
  ck_assert_int_eq(mica_decoder_create(test_engine(), model, &wrong, &refused), MICA_E_INVALID);
  mica_decoder_destroy(base);
  mica_adapter_destroy(adapter);
  mica_foundation_close(first);
}
END_TEST

/* --- likely tokens --- */

typedef struct likely {
  int32_t top; /* asked for */
  int events;
} likely;

static bool hear_likely(void *user, const mica_decoder_event *event) {
  likely *l = user;
  if (event->token < 0) return true;
  l->events++;
  ck_assert_uint_eq(event->top_count, (size_t)l->top);
  if (l->top == 0) {
    ck_assert_ptr_null(event->top);
    return true;
  }
  /* The text is greedy: the token is the first of the list. */
  ck_assert_int_eq(event->top[0].token, event->token);
  ck_assert_double_eq_tol(event->top[0].logprob, (double)event->logprob, 1e-6);
  double sum = 0;
  for (size_t k = 0; k < event->top_count; k++) {
    sum += exp(event->top[k].logprob);
    if (k) ck_assert_double_le(event->top[k].logprob, event->top[k - 1].logprob);
    for (size_t j = 0; j < k; j++) ck_assert_int_ne(event->top[j].token, event->top[k].token);
  }
  ck_assert(sum > 0 && sum < 1 + 1e-9);
  return true;
}

START_TEST(the_likeliest_tokens_are_listed) {
  static const int32_t prompt[] = {5, 9, 2, 77, 31};
  open_model("llama");
  mica_decoder *decoder = make(1, 16);
  for (int32_t top = 0; top <= MICA_DECODER_MAX_TOP; top += 5) {
    likely l = {.top = top};
    const mica_request r = {.ids = prompt,
                            .count = sizeof prompt / sizeof *prompt,
                            .most_tokens = 6,
                            .sampling = &greedy,
                            .top = top,
                            .ignore_end = true,
                            .event = hear_likely,
                            .user = &l};
    ck_ok(mica_decoder_add(decoder, &r, NULL));
    finish(decoder);
    ck_assert_int_eq(l.events, 6);
  }
  mica_decoder_destroy(decoder);
}
END_TEST

/* --- ends --- */

START_TEST(texts_end_as_they_should) {
  static told long_text, cut, cancelled, waiting;
  int32_t prompt[CONTEXT];
  open_model("llama");
  mica_decoder *decoder = make(1, 16);
  for (int t = 0; t < CONTEXT; t++) prompt[t] = next(V);
  add(decoder, prompt, 60, 0, 0, &long_text); /* the context has room for four */
  finish(decoder);
  ck_assert(long_text.count == 4 && long_text.finish == MICA_FINISH_LENGTH);
  cut.after = 3;
  add(decoder, prompt, 10, 0, 0, &cut);
  finish(decoder);
  ck_assert(cut.count == 3 && cut.finish == MICA_FINISH_CANCELLED);
  const int64_t id = add(decoder, prompt, 10, 0, 0, &cancelled), other = add(decoder, prompt, 11, 0, 0, &waiting);
  ck_ok(mica_decoder_step(decoder, NULL));
  mica_decoder_cancel(decoder, id);
  mica_decoder_cancel(decoder, other);
  finish(decoder);
  ck_assert(cancelled.finish == MICA_FINISH_CANCELLED && cancelled.count <= 2);
  ck_assert(waiting.finish == MICA_FINISH_CANCELLED && waiting.count == 0);
  mica_decoder_destroy(decoder);
}
END_TEST

/* Bytes of buffers, also of those that the engine keeps for reuse. */
static uint64_t held_bytes(void) {
  const mica_stats stats = mica_engine_stats(test_engine());
  return stats.bytes_in_use + stats.bytes_pooled;
}

/* The session of prompts uses the caches of the session of steps. If it had some of its own before, these would stay
 * with the engine. */
START_TEST(caches_are_allocated_once) {
  enum { SLOTS = 32 };
  open_model("llama");
  ck_ok(mica_queue_finish(test_queue()));
  mica_engine_trim(test_engine());
  const uint64_t before = held_bytes();
  mica_decoder *decoder = make(SLOTS, 16);
  const uint64_t caches = mica_decoder_position_bytes(decoder) * CONTEXT * SLOTS, held = held_bytes() - before;
  ck_assert_msg(held >= caches && held < caches * 7 / 4, "caches of %llu bytes, %llu bytes are held",
                (unsigned long long)caches, (unsigned long long)held);
  mica_decoder_destroy(decoder);
}
END_TEST

START_TEST(requests_are_checked) {
  static told t;
  int32_t prompt[CONTEXT] = {0};
  const mica_decoder_config narrow = {.most_wait = 2};
  mica_decoder *decoder = NULL;
  open_model("llama");
  ck_ok(mica_decoder_create(test_engine(), model, &narrow, &decoder));
  mica_request r = {.ids = prompt, .count = 0, .event = hear, .user = &t};
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_INVALID);
  r.count = CONTEXT;
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "fewer than the context, 64"));
  r.count = 3;
  prompt[2] = V;
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "token 2 is 131"));
  prompt[2] = 0;
  r.top = MICA_DECODER_MAX_TOP + 1;
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_INVALID);
  r.top = 0;
  r.sampling = &(mica_sampler_config){.top_p = 7};
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_INVALID);
  r.sampling = NULL;
  ck_ok(mica_decoder_add(decoder, &r, NULL));
  ck_ok(mica_decoder_add(decoder, &r, NULL));
  ck_assert_int_eq(mica_decoder_add(decoder, &r, NULL), MICA_E_STATE);
  mica_decoder_destroy(decoder);
  static const mica_decoder_config wrong[] = {{.slots = 65},   {.slots = -1}, {.context = 1},
                                              {.context = 65}, {.part = 8},   {.part = 100}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    ck_assert_int_eq(mica_decoder_create(test_engine(), model, &wrong[k], &decoder), MICA_E_INVALID);
  mica_chat *chat = NULL;
  ck_ok(mica_decoder_create(test_engine(), model, NULL, &decoder));
  ck_assert_int_eq(mica_chat_create(decoder, NULL, &chat), MICA_E_NOT_FOUND);
  mica_decoder_destroy(decoder);
  mica_foundation_close(model);
  model = NULL;
}
END_TEST

TESTS(DEVICE, NULL, files_remove, LOOP(greedy_texts_are_those_of_the_network, 0, MODELS),
      LOOP(texts_are_the_same_in_any_company, 0, 2), steps_have_few_rows_where_all_is_in_blocks,
      a_prompt_that_a_slot_holds_is_not_read_again, decoders_share_weights, the_likeliest_tokens_are_listed,
      texts_end_as_they_should, caches_are_allocated_once, requests_are_checked)
