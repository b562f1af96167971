/* labels: device
 *
 * Steps that the trainer knows nothing of: a recommender of two inputs and a classifier of ragged texts train through
 * the same calls as any network. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 32
#define BATCHES 8
#define SAMPLES (BATCH * BATCHES)

/* Batches of up to four columns whose tensors were made before. */
typedef struct source {
  mica_tensor *tensors[BATCHES][4];
  mica_feed feeds[4];
  const mica_batch_column *columns;
  size_t column_count;
  uint64_t at;
} source;

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  source *s = user;
  (void)queue;
  *batch = (mica_batch){0};
  if (s->at == BATCHES) {
    s->at = 0;
    return MICA_OK;
  }
  for (size_t k = 0; k < s->column_count; k++) s->feeds[k] = (mica_feed){s->columns[k].name, s->tensors[s->at][k]};
  s->at++;
  *batch = (mica_batch){.count = BATCH, .tensors = s->feeds, .tensor_count = s->column_count};
  return MICA_OK;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  (void)epoch;
  ((source *)user)->at = batch;
  return MICA_OK;
}

static void add(source *s, size_t batch, size_t column, mica_shape shape, const void *data) {
  ck_ok(mica_tensor_create_from(test_engine(), s->columns[column].dtype, shape, data, &s->tensors[batch][column]));
}

static void release(source *s) {
  for (size_t b = 0; b < BATCHES; b++)
    for (size_t k = 0; k < 4; k++) mica_tensor_destroy(s->tensors[b][k]);
}

/* Trains and returns the metrics before and after. */
static void train(mica_step_fn *step, source *s, int64_t epochs, mica_metrics *before, mica_metrics *after) {
  const mica_batch_source batches = {.user = s, .batches = BATCHES, .samples = SAMPLES, .next = next, .seek = seek};
  const mica_trainer_config config = {.step = step,
                                      .columns = s->columns,
                                      .column_count = s->column_count,
                                      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                      .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.05},
                                      .epochs = epochs};
  mica_trainer *t = NULL;
  ck_ok(mica_trainer_create(test_engine(), &config, &t));
  ck_ok(mica_trainer_test(t, &batches, before));
  ck_ok(mica_trainer_fit(t, &batches, NULL));
  ck_ok(mica_trainer_test(t, &batches, after));
  mica_trainer_destroy(t);
}

static uint32_t draw(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

/* --- a recommender --- */

#define USERS 20
#define ITEMS 30

static void recommend(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value user = mica_nn_embedding(nn, "user", mica_batch_value(batch, "user"), USERS, 8, NULL);
  mica_value item = mica_nn_embedding(nn, "item", mica_batch_value(batch, "item"), ITEMS, 8, NULL);
  mica_value rating = mica_sum(mica_mul(user, item), MICA_AXES(1), false);
  (void)config;
  out->outputs[0] = rating, out->output_names[0] = "rating";
  if (!mica_batch_has(batch, "rating")) return;
  mica_value error = mica_sub(rating, mica_batch_value(batch, "rating"));
  out->loss = mica_mean(mica_square(error), MICA_ALL_AXES, false);
  out->metrics[0] = mica_metric_mean("mae", mica_abs(error));
}

START_TEST(a_recommender_of_two_inputs) {
  static const mica_batch_column columns[] = {{"user", MICA_I32, {1, {MICA_DYNAMIC}}},
                                              {"item", MICA_I32, {1, {MICA_DYNAMIC}}},
                                              {"rating", MICA_F32, {1, {MICA_DYNAMIC}}}};
  source s = {.columns = columns, .column_count = 3};
  mica_metrics before, after;
  uint32_t state = 3;
  for (size_t b = 0; b < BATCHES; b++) {
    int32_t user[BATCH], item[BATCH];
    float rating[BATCH];
    for (int i = 0; i < BATCH; i++) {
      user[i] = (int32_t)(draw(&state) % USERS);
      item[i] = (int32_t)(draw(&state) % ITEMS);
      rating[i] = sinf((float)user[i]) * cosf((float)item[i]) + (float)(user[i] % 3) * (float)(item[i] % 2);
    }
    add(&s, b, 0, MICA_SHAPE(BATCH), user);
    add(&s, b, 1, MICA_SHAPE(BATCH), item);
    add(&s, b, 2, MICA_SHAPE(BATCH), rating);
  }
  train(recommend, &s, 40, &before, &after);
  ck_assert_msg(after.loss < 0.05 * before.loss, "from %g to %g", before.loss, after.loss);
  ck_assert_double_lt(mica_metrics_get(&after, "mae"), 0.3 * mica_metrics_get(&before, "mae"));
  release(&s);
}
END_TEST

/* --- texts --- */

#define WORDS 50
#define LONGEST 12

/* The mean of the words' vectors, of those that are there, and two classes. */
static void read_texts(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value tokens = mica_batch_value(batch, "text"), length = mica_batch_value(batch, "text.length");
  mica_value there = mica_cumsum(mica_cast(mica_full_like(tokens, 1), MICA_F32), 1, false, false);
  mica_value used =
      mica_cast(mica_less_equal(there, mica_unsqueeze(mica_cast(length, MICA_F32), MICA_AXES(1))), MICA_F32);
  mica_value words =
      mica_mul(mica_nn_embedding(nn, "word", tokens, WORDS, 8, NULL), mica_unsqueeze(used, MICA_AXES(2)));
  mica_value mean = mica_div(mica_sum(words, MICA_AXES(1), false), mica_sum(used, MICA_AXES(1), true));
  mica_value z = mica_nn_dense(nn, "fc", mean, 2, NULL);
  (void)config;
  if (!mica_batch_has(batch, "kind")) return;
  mica_value kind = mica_batch_value(batch, "kind");
  out->loss = mica_cross_entropy(z, kind, NULL);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, kind));
  out->metrics[1] =
      (mica_metric){.name = "words", .sum = mica_sum(used, MICA_ALL_AXES, false), .weight = mica_batch_samples(batch)};
}

/* A text is of the one kind where even words outnumber odd ones. */
START_TEST(texts_of_any_length) {
  static const mica_batch_column columns[] = {{"text", MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}},
                                              {"text.length", MICA_I32, {1, {MICA_DYNAMIC}}},
                                              {"kind", MICA_I32, {1, {MICA_DYNAMIC}}}};
  source s = {.columns = columns, .column_count = 3};
  mica_metrics before, after;
  uint32_t state = 5;
  double words = 0;
  for (size_t b = 0; b < BATCHES; b++) {
    const int longest = b % 2 ? LONGEST : LONGEST / 2; /* a bucket each */
    int32_t text[BATCH * LONGEST] = {0}, length[BATCH], kind[BATCH];
    for (int i = 0; i < BATCH; i++) {
      int even = 0;
      length[i] = 1 + 2 * (int32_t)(draw(&state) % (uint32_t)(longest / 2));
      words += length[i];
      for (int t = 0; t < length[i]; t++) {
        text[i * longest + t] = (int32_t)(draw(&state) % WORDS);
        even += text[i * longest + t] % 2 ? -1 : 1;
      }
      kind[i] = even > 0;
    }
    add(&s, b, 0, MICA_SHAPE(BATCH, longest), text);
    add(&s, b, 1, MICA_SHAPE(BATCH), length);
    add(&s, b, 2, MICA_SHAPE(BATCH), kind);
  }
  train(read_texts, &s, 30, &before, &after);
  ck_assert_double_gt(mica_metrics_get(&after, "accuracy"), 0.97);
  ck_assert_double_eq_tol(mica_metrics_get(&after, "words"), words / SAMPLES, 1e-6);
  release(&s);
}
END_TEST

/* --- what goes wrong --- */

static void asks_for_more(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  (void)nn, (void)config;
  out->loss = mica_mean(mica_batch_value(batch, "height"), MICA_ALL_AXES, false);
}

static void makes_nothing(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  (void)nn, (void)batch, (void)config, (void)out;
}

static void weighs_wrongly(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value x = mica_batch_value(batch, "rating");
  (void)config;
  out->loss = mica_mean(mica_nn_dense(nn, "fc", mica_unsqueeze(x, MICA_AXES(1)), 1, NULL), MICA_ALL_AXES, false);
  out->metrics[0] = (mica_metric){.name = "mean", .sum = mica_sum(x, MICA_ALL_AXES, false), .weight = x};
}

static void makes_a_vector(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  (void)nn, (void)config;
  out->loss = mica_batch_value(batch, "rating");
}

START_TEST(wrong_steps_are_named) {
  static const mica_batch_column columns[] = {{"rating", MICA_F32, {1, {MICA_DYNAMIC}}}};
  static const struct {
    mica_step_fn *step;
    const char *sentence;
  } cases[] = {{NULL, "step is NULL"},
               {asks_for_more, "no column 'height'; choose from 'rating'"},
               {makes_nothing, "the step has not set the loss"},
               {makes_a_vector, "the step's loss has the shape (?), but must be a scalar"},
               {weighs_wrongly, "'mean' must have a weight of the shape"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mica_trainer_config config = {.step = cases[i].step, .columns = columns, .column_count = 1};
    mica_trainer *t = NULL;
    ck_assert_int_ne(mica_trainer_create(test_engine(), &config, &t), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), cases[i].sentence), "%s", mica_error_message());
    ck_assert_ptr_null(t);
  }
}
END_TEST

static void takes_the_mean(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_value x = mica_unsqueeze(mica_batch_value(batch, "rating"), MICA_AXES(1));
  (void)config;
  out->loss = mica_mean(mica_square(mica_nn_dense(nn, "fc", x, 1, NULL)), MICA_ALL_AXES, false);
}

static mica_status next_fails(void *user, mica_queue *queue, mica_batch *batch) {
  (void)user, (void)queue, (void)batch;
  return MICA_E_IO;
}

static mica_status next_gives_none(void *user, mica_queue *queue, mica_batch *batch) {
  (void)user, (void)queue;
  *batch = (mica_batch){0};
  return MICA_OK;
}

static mica_status next_says_why(void *user, mica_queue *queue, mica_batch *batch) {
  (void)batch, (void)user;
  ck_assert_int_eq(mica_error_status(), MICA_OK);
  const mica_status status = mica_tensor_upload(queue, NULL, NULL, 0);
  ck_assert_int_eq(mica_error_status(), MICA_E_INVALID);
  return status;
}

static const mica_batch_column rating[] = {{"rating", MICA_F32, {1, {MICA_DYNAMIC}}}};

/* Sources of the caller's may be anything; before the first case an older failure leaves its sentence. */
START_TEST(wrong_sources_are_named) {
  static const struct {
    mica_status (*next)(void *user, mica_queue *queue, mica_batch *batch);
    mica_status (*seek)(void *user, uint64_t epoch, uint64_t batch);
    mica_status status;
    const char *sentence;
  } cases[] = {{NULL, seek, MICA_E_INVALID, "the source's function next is NULL"},
               {next, NULL, MICA_E_INVALID, "the source's function seek is NULL"},
               {next_fails, seek, MICA_E_IO, "the source of batches failed in next"},
               {next_says_why, seek, MICA_E_INVALID, "mica_tensor_upload: a pointer is NULL"},
               {next_gives_none, seek, MICA_E_INVALID, "gave no batch in epoch 1, but its field batches is 8"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static source nothing;
    const mica_trainer_config config = {.step = takes_the_mean, .columns = rating, .column_count = 1};
    const mica_batch_source batches = {
        .user = &nothing, .batches = BATCHES, .samples = SAMPLES, .next = cases[i].next, .seek = cases[i].seek};
    mica_trainer *t = NULL;
    ck_assert_int_eq(mica_tensor_upload(NULL, NULL, NULL, 12), MICA_E_INVALID);
    ck_ok(mica_trainer_create(test_engine(), &config, &t));
    ck_assert_int_eq(mica_trainer_fit(t, &batches, NULL), cases[i].status);
    ck_assert_msg(strstr(mica_error_message(), cases[i].sentence), "%s", mica_error_message());
    mica_trainer_destroy(t);
  }
}
END_TEST

/* The folder is looked at before the first step, and what was made for that is gone. */
START_TEST(a_folder_that_cannot_be_written) {
  static source nothing;
  char file[] = "/tmp/mica-own-steps-XXXXXX", folder[sizeof file + 8];
  const mica_batch_source batches = {
      .user = &nothing, .batches = BATCHES, .samples = SAMPLES, .next = next_fails, .seek = seek};
  mica_trainer_config config = {.step = takes_the_mean, .columns = rating, .column_count = 1, .folder = folder};
  int made = mkstemp(file);
  ck_assert_int_ge(made, 0);
  close(made);
  for (int i = 0; i < 3; i++) {
    mica_trainer *t = NULL;
    snprintf(folder, sizeof folder, "%s%s", file, i == 0 ? "" : i == 1 ? "/run" : ".d/run");
    ck_ok(mica_trainer_create(test_engine(), &config, &t));
    ck_assert_int_eq(mica_trainer_fit(t, &batches, NULL), MICA_E_IO);
    ck_assert_msg((strstr(mica_error_message(), file) != NULL) == (i < 2), "%s", mica_error_message());
    mica_trainer_destroy(t);
  }
  snprintf(folder, sizeof folder, "%s.d", file);
  ck_assert_int_ne(access(folder, F_OK), 0);
  unlink(file);
}
END_TEST

START_TEST(a_pattern_that_freezes_nothing) {
  const mica_trainer_config config = {.step = takes_the_mean, .columns = rating, .column_count = 1, .freeze = "fd.*"};
  mica_trainer *t = NULL;
  ck_assert_int_eq(mica_trainer_create(test_engine(), &config, &t), MICA_E_NOT_FOUND);
  ck_assert_msg(strstr(mica_error_message(), "no weight matches \"fd.*\""), "%s", mica_error_message());
}
END_TEST

START_TEST(a_pattern_that_freezes_everything) {
  const mica_trainer_config config = {.step = takes_the_mean, .columns = rating, .column_count = 1, .freeze = "*"};
  mica_trainer *t = NULL;
  ck_assert_int_eq(mica_trainer_create(test_engine(), &config, &t), MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), "freeze: \"*\" matches every weight"), "%s", mica_error_message());
}
END_TEST

/* Stages times parts beyond 32 bits. */
START_TEST(more_ranks_than_32_bits_count) {
  const mica_trainer_config config = {
      .step = takes_the_mean, .columns = rating, .column_count = 1, .tensor = 65536, .stages = {.count = 65536}};
  mica_trainer *t = NULL;
  ck_assert_int_eq(mica_trainer_create(test_engine(), &config, &t), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "must be a multiple of 4294967296"), "%s", mica_error_message());
}
END_TEST

START_TEST(rates_that_are_none) {
  static const mica_schedule_config schedules[] = {{.rate = -0.1}, {.rate = NAN}, {.rate = INFINITY}, {.every = -3}};
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    const mica_trainer_config config = {
        .step = takes_the_mean, .columns = rating, .column_count = 1, .schedule = schedules[i]};
    mica_trainer *t = NULL;
    ck_assert_int_eq(mica_trainer_create(test_engine(), &config, &t), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), i < 3 ? "the learning rate is" : "every"), "%s", mica_error_message());
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_recommender_of_two_inputs, texts_of_any_length, wrong_steps_are_named,
      wrong_sources_are_named, a_folder_that_cannot_be_written, a_pattern_that_freezes_nothing,
      a_pattern_that_freezes_everything, more_ranks_than_32_bits_count, rates_that_are_none)
