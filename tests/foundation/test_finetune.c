/* labels: device
 *
 * Adapters trained on conversations: which tokens count, packed rows, resumed runs, what is learned, bad input. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_foundation *open_chat_model(void) {
  mica_foundation *model = NULL;
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/chat", root ? root : ".");
  ck_ok(mica_foundation_open(path, NULL, &model));
  return model;
}

static const char chats[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"aa\"}, {\"role\": \"assistant\", \"content\": \"red\"}]}\n"
    "\n"
    "{\"messages\": [{\"role\": \"user\", \"content\": \"b\"}, {\"role\": \"assistant\", \"content\": \"red\"}, "
    "{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"blue\"}]}\n"
    "{\"prompt\": \"ab\", \"completion\": \"cd\"}\n"
    "{\"text\": \"hello\"}";

static mica_conversations *open_chats(const mica_foundation *model, const mica_conversations_config *config) {
  mica_conversations *c = NULL;
  files_write_text("chats.jsonl", chats);
  ck_ok(mica_conversations_open(model, files_path("chats.jsonl"), config, &c));
  return c;
}

/* --- data --- */

/* Tokens that are labels, as a text. */
static void read_labels(const mica_foundation *model, mica_conversations *c, char *text, size_t room) {
  mica_tokenizer *tokenizer = NULL;
  mica_batch_source source = mica_conversations_source(c, test_engine());
  mica_batch batch;
  static int32_t labels[4096];
  ck_ok(mica_foundation_tokenizer(model, &tokenizer));
  *text = '\0';
  for (;;) {
    ck_ok(source.next(source.user, test_queue(), &batch));
    if (!batch.count) break;
    const size_t bytes = mica_tensor_bytes(batch.tensors[1].tensor), count = bytes / sizeof *labels;
    ck_assert_uint_le(bytes, sizeof labels);
    ck_assert_str_eq(batch.tensors[1].name, "labels");
    ck_ok(mica_tensor_download(test_queue(), batch.tensors[1].tensor, labels, bytes));
    for (size_t t = 0; t < count; t++) {
      char *piece = NULL;
      size_t length = 0;
      if (labels[t] < 0) continue;
      ck_ok(mica_tokenizer_decode(tokenizer, &labels[t], 1, false, &piece, &length));
      strncat(text, piece, room - strlen(text) - 1);
      mica_free(piece);
    }
  }
  mica_tokenizer_destroy(tokenizer);
}

START_TEST(answers_count) {
  mica_foundation *model = open_chat_model();
  mica_conversations *c = open_chats(model, &(mica_conversations_config){.context = 64, .in_order = true});
  const mica_conversations_info info = mica_conversations_describe(c);
  char text[400];
  read_labels(model, c, text, sizeof text);
  ck_assert_int_eq(info.conversations, 4);
  ck_assert_int_eq(info.dropped, 0);
  ck_assert_int_lt(info.counted, info.tokens);
  /* In order: each answer, once, without what the user says. */
  const char *red = strstr(text, "red"), *again = red ? strstr(red + 3, "red") : NULL, *blue = strstr(text, "blue");
  ck_assert_msg(red && again && blue && again < blue, "%s", text);
  ck_assert_msg(!strstr(text, "aa") && !strstr(text, "user"), "%s", text);
  mica_conversations_close(c);
  c = open_chats(model, &(mica_conversations_config){.context = 64, .loss_on_all = true});
  ck_assert_int_eq(mica_conversations_describe(c).counted, info.tokens - info.conversations);
  mica_conversations_close(c);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

static const struct {
  const char *line;
  const char *part;
} bad[] = {
    {"{\"messages\": []}", "line 2: a conversation must have a list"},
    {"[1]", "line 2: a conversation is not a JSON object"},
    {"{\"prompt\": \"a\"}", "line 2: a conversation must have a list"},
    {"{\"messages\": [1]}", "line 2:"},
    {"{\"messages\": ", "line 2:"},
};

START_TEST(lines_that_are_refused) {
  mica_foundation *model = open_chat_model();
  mica_conversations *c = NULL;
  char text[200];
  snprintf(text, sizeof text, "\n%s\n", bad[_i].line);
  files_write_text("bad.jsonl", text);
  ck_assert_int_ne(mica_conversations_open(model, files_path("bad.jsonl"), NULL, &c), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), bad[_i].part) != NULL, "%s", mica_error_message());
  ck_assert_ptr_null(c);
  files_write_text("bad.jsonl", "{\"prompt\": \"aaaaaaaaaaaa\", \"completion\": \"bbbbbbbbb\"}");
  const mica_conversations_config narrow = {.context = 4}, zero = {.batch = -1};
  ck_assert_int_eq(mica_conversations_open(model, files_path("bad.jsonl"), &narrow, &c), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "(longer conversations: 1)"));
  ck_assert_int_eq(mica_conversations_open(model, files_path("bad.jsonl"), &zero, &c), MICA_E_INVALID);
  ck_assert_int_eq(mica_conversations_open(model, files_path("no.jsonl"), NULL, &c), MICA_E_NOT_FOUND);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* --- training --- */

typedef struct watch {
  int64_t stop_after; /* epochs; 0: none */
  double first, last; /* losses */
} watch;

static bool report(void *user, const mica_train_progress *p) {
  watch *w = user;
  if (p->event != MICA_TRAIN_EVENT_EPOCH) return true;
  if (p->epoch == 0) w->first = p->training.loss;
  w->last = p->training.loss;
  return p->epoch + 1 != w->stop_after;
}

static mica_adapter *tune(const mica_foundation *model, const mica_conversations_config *rows,
                          const mica_finetune_config *config, watch *w) {
  mica_adapter *adapter = NULL;
  mica_conversations *c = open_chats(model, rows);
  mica_finetune_config how = *config;
  how.training = mica_conversations_source(c, test_engine());
  how.report = report;
  how.user = w;
  ck_ok(mica_adapter_create(&(mica_adapter_config){.rank = 4, .dropout = 0.1}, &adapter));
  ck_ok(mica_finetune(test_engine(), model, adapter, &how));
  mica_conversations_close(c);
  return adapter;
}

/* Conversations that share a row do not see each other: the loss equals the loss with one row each. */
START_TEST(packed_rows_lose_nothing) {
  mica_foundation *model = open_chat_model();
  const mica_conversations_config packed = {.context = 96, .batch = 8, .in_order = true};
  mica_conversations_config apart = packed;
  const mica_finetune_config config = {.rate = 1e-12};
  watch a = {0}, b = {0};
  apart.one_per_row = true;
  mica_conversations *c = open_chats(model, &packed), *d = open_chats(model, &apart);
  ck_assert_int_lt(mica_conversations_describe(c).rows, mica_conversations_describe(d).rows);
  mica_conversations_close(c);
  mica_conversations_close(d);
  mica_adapter *one = NULL, *other = NULL;
  one = tune(model, &packed, &config, &a);
  other = tune(model, &apart, &config, &b);
  /* B is 0 before the first step, so that dropout changes nothing. */
  ck_assert_double_eq_tol(a.first, b.first, 1e-5);
  mica_adapter_destroy(one);
  mica_adapter_destroy(other);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

static void expect_near(const float *x, const float *y, int64_t count, float within) {
  for (int64_t i = 0; i < count; i++)
    ck_assert_msg(fabsf(x[i] - y[i]) <= within, "%g, not %g", (double)x[i], (double)y[i]);
}

/* within 0: the same bits. */
static void expect_same(const mica_adapter *a, const mica_adapter *b, float within) {
  ck_assert_uint_gt(mica_adapter_count(a), 0);
  ck_assert_uint_eq(mica_adapter_count(a), mica_adapter_count(b));
  for (size_t i = 0; i < mica_adapter_count(a); i++) {
    const mica_adapter_layer *x = mica_adapter_at(a, i), *y = mica_adapter_at(b, i);
    expect_near(x->a, y->a, x->rank * x->inputs, within);
    expect_near(x->b, y->b, x->rank * x->outputs, within);
  }
}

/* Passes batches on, so that mica_finetune sees a foreign source. */
static mica_status pass_on(void *user, mica_queue *queue, mica_batch *batch) {
  const mica_batch_source *source = user;
  return source->next(source->user, queue, batch);
}

static mica_status seek_on(void *user, uint64_t epoch, uint64_t batch) {
  const mica_batch_source *source = user;
  return source->seek(source->user, epoch, batch);
}

/* Losses and adapters do not change if logits are computed for counted positions only. */
START_TEST(positions_without_a_label_need_no_logits) {
  mica_foundation *model = open_chat_model();
  mica_adapter *adapters[2] = {NULL};
  watch w[2] = {{0}};
  for (int i = 0; i < 2; i++) {
    mica_conversations *c = open_chats(model, &(mica_conversations_config){.context = 96, .batch = 2});
    const mica_batch_source own = mica_conversations_source(c, test_engine());
    mica_finetune_config how = {.rate = 1e-2, .epochs = 3, .training = own, .report = report, .user = &w[i]};
    if (i) how.training.user = (void *)&own, how.training.next = pass_on, how.training.seek = seek_on;
    ck_ok(mica_adapter_create(&(mica_adapter_config){.rank = 4}, &adapters[i]));
    ck_ok(mica_finetune(test_engine(), model, adapters[i], &how));
    mica_conversations_close(c);
  }
  /* Positions without a label add zeros. */
  ck_assert_double_eq_tol(w[0].first, w[1].first, 1e-5);
  ck_assert_double_eq_tol(w[0].last, w[1].last, 1e-5);
  expect_same(adapters[0], adapters[1], 1e-5f);
  for (int i = 0; i < 2; i++) mica_adapter_destroy(adapters[i]);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* Blocks that the backward pass computes again, with the same dropout, train the same adapter. */
START_TEST(recomputed_blocks_change_nothing) {
  mica_foundation *model = open_chat_model();
  const mica_conversations_config rows = {.context = 96, .batch = 8, .in_order = true};
  mica_finetune_config config = {.rate = 1e-2, .epochs = 6};
  watch a = {0}, b = {0};
  mica_adapter *kept = tune(model, &rows, &config, &a);
  config.recompute = true;
  mica_adapter *again = tune(model, &rows, &config, &b);
  ck_assert_double_lt(a.last, 0.9 * a.first);
  ck_assert_double_eq_tol(a.last, b.last, 1e-5 * a.last);
  expect_same(kept, again, 1e-4f);
  mica_adapter_destroy(kept);
  mica_adapter_destroy(again);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* --- ranks --- */

static const mica_foundation *shared;
static const char *shared_chats;
static mica_adapter *trained_by[2];
static const mica_conversations_config halves = {.context = 64, .batch = 2, .one_per_row = true};
static const mica_finetune_config of_ranks = {.rate = 1e-2, .epochs = 4, .weight_decay = 0.1};

static mica_adapter *train_part(mica_engine *engine, mica_communicator *communicator) {
  mica_conversations *c = NULL;
  mica_adapter *adapter = NULL;
  mica_conversations_config rows = halves;
  mica_finetune_config how = of_ranks;
  if (communicator) rows.shard = communicator->rank, rows.shards = communicator->ranks;
  member_ok(mica_conversations_open(shared, shared_chats, &rows, &c));
  member_ok(mica_adapter_create(&(mica_adapter_config){.rank = 4}, &adapter));
  how.training = mica_conversations_source(c, engine);
  how.communicator = communicator;
  member_ok(mica_finetune(engine, shared, adapter, &how));
  mica_conversations_close(c);
  return adapter;
}

static void member(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  member_ok(mica_engine_create(NULL, &engine));
  trained_by[communicator->rank] = train_part(engine, communicator);
  mica_engine_destroy(engine);
}

/* Two ranks with halves of each batch train the adapter that one rank trains. */
START_TEST(two_ranks_equal_one) {
  mica_foundation *model = open_chat_model();
  mica_conversations *c = open_chats(model, &halves);
  ck_assert_int_eq(mica_conversations_describe(c).rows, 4);
  mica_conversations_close(c);
  const mica_conversations_config wrong = {.batch = 2, .shard = 2, .shards = 2}, many = {.batch = 2, .shards = 3};
  ck_assert_int_eq(mica_conversations_open(model, files_path("chats.jsonl"), &wrong, &c), MICA_E_INVALID);
  ck_assert_int_eq(mica_conversations_open(model, files_path("chats.jsonl"), &many, &c), MICA_E_INVALID);
  shared = model;
  shared_chats = files_path("chats.jsonl");
  test_members(2, NULL, member);
  mica_adapter *one = train_part(test_engine(), NULL);
  expect_same(trained_by[0], trained_by[1], 0);
  expect_same(one, trained_by[0], 1e-4f);
  for (int k = 0; k < 2; k++) mica_adapter_destroy(trained_by[k]);
  mica_adapter_destroy(one);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

START_TEST(resumed_to_the_bit) {
  mica_foundation *model = open_chat_model();
  const mica_conversations_config rows = {.context = 48, .batch = 1};
  mica_finetune_config config = {.rate = 1e-2, .epochs = 4};
  watch w = {0}, half = {.stop_after = 2};
  mica_history *history = NULL;
  mica_adapter *whole = tune(model, &rows, &config, &w);
  config.folder = files_path("run");
  char *folder = strdup(config.folder);
  config.folder = folder;
  mica_adapter_destroy(tune(model, &rows, &config, &half));
  config.resume = true;
  half.stop_after = 0;
  mica_adapter *resumed = tune(model, &rows, &config, &half);
  expect_same(whole, resumed, 0);
  ck_assert_double_eq(w.last, half.last);
  ck_ok(mica_history_read(files_path("run/history.csv"), &history));
  ck_assert_uint_eq(mica_history_rows(history), 4);
  mica_history_destroy(history);
  /* A checkpoint has the adapter, and no matrix of the model. */
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(files_path("run/last.safetensors"), &file));
  ck_assert_ptr_null(mica_safetensors_find(file, "layers.0.self_attn.q_proj.weight"));
  ck_assert_ptr_nonnull(mica_safetensors_find(file, "layers.0.self_attn.q_proj.lora_A.weight"));
  mica_safetensors_close(file);
  free(folder);
  mica_adapter_destroy(whole);
  mica_adapter_destroy(resumed);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

static bool collect(void *user, const mica_decoder_event *event) {
  strncat(user, event->text, 99 - strlen(user));
  return true;
}

static void answer(const mica_foundation *model, mica_adapter *adapter, char text[100]) {
  const mica_sampler_config greedy = {.temperature = MICA_ZERO};
  const mica_decoder_config how = {.context = 64, .adapter = adapter};
  const mica_chat_config config = {.most_tokens = 8, .sampling = &greedy};
  mica_decoder *decoder = NULL;
  mica_chat *chat = NULL;
  *text = '\0';
  ck_ok(mica_decoder_create(test_engine(), model, &how, &decoder));
  ck_ok(mica_chat_create(decoder, &config, &chat));
  ck_ok(mica_chat_send(chat, "aa", collect, text, NULL));
  mica_chat_destroy(chat);
  mica_decoder_destroy(decoder);
}

START_TEST(the_answer_is_learned) {
  mica_foundation *model = open_chat_model();
  watch w = {0};
  char before[100], after[100], again[100];
  mica_adapter *adapter = tune(model, &(mica_conversations_config){.context = 64},
                               &(mica_finetune_config){.rate = 2e-2, .epochs = 60}, &w),
               *read = NULL;
  ck_assert_double_lt(w.last, 0.5 * w.first);
  answer(model, NULL, before);
  answer(model, adapter, after);
  ck_assert_str_ne(before, "red");
  ck_assert_str_eq(after, "red");
  ck_ok(mica_foundation_adapter_save(model, adapter, files_path("adapter"), MICA_ADAPTER_FORM_PEFT));
  ck_ok(mica_foundation_adapter_open(model, files_path("adapter"), &read));
  answer(model, read, again);
  ck_assert_str_eq(again, "red");
  mica_adapter_destroy(read);
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* A model that a target does not name is an error of the call, before any step. */
START_TEST(targets_that_the_model_lacks) {
  mica_foundation *model = open_chat_model();
  mica_conversations *c = open_chats(model, NULL);
  mica_adapter *adapter = NULL;
  const mica_finetune_config config = {.training = mica_conversations_source(c, test_engine())};
  ck_ok(mica_adapter_create(&(mica_adapter_config){.targets = "query"}, &adapter));
  ck_assert_int_eq(mica_finetune(test_engine(), model, adapter, &config), MICA_E_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "query"));
  ck_assert_int_eq(mica_finetune(test_engine(), model, adapter, &(mica_finetune_config){0}), MICA_E_INVALID);
  mica_adapter_destroy(adapter);
  mica_conversations_close(c);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

TESTS(BOTH(DEVICE, NEEDS(CJSON)), NULL, NULL, answers_count,
      LOOP(lines_that_are_refused, 0, (int)(sizeof bad / sizeof *bad)), packed_rows_lose_nothing,
      positions_without_a_label_need_no_logits, recomputed_blocks_change_nothing, two_ranks_equal_one,
      resumed_to_the_bit, the_answer_is_learned, targets_that_the_model_lacks)
