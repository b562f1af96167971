/* labels: device
 *
 * 100 steps of training an adapter beside peft's (adapter_oracle.py): the same rows, AdamW, schedule and clipping give
 * the same losses. Rows hold several texts, the loss counts a part of each, and logits are made in pieces. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, LENGTH = 64, VOCABULARY = 131, STEPS = 100, COLUMNS = 3 };

static const char *const names[COLUMNS] = {"ids", "labels", "starts"};
typedef int32_t rows_of_ids[ROWS][LENGTH];

/* A source with one batch per epoch, another one each time. */
typedef struct source {
  uint64_t epoch;
  bool given;
  mica_tensor *tensors[COLUMNS];
  mica_feed feeds[COLUMNS];
  mica_batch_column columns[COLUMNS];
} source;

static void fill_row(int32_t r, int32_t step, rows_of_ids *batch) {
  const int32_t ends[] = {20 + r, 45 - r, LENGTH};
  int32_t start = 0, text = 0;
  for (int32_t t = 0; t < LENGTH; t++) {
    while (t >= ends[text]) start = ends[text++];
    const int32_t first = r * 13 + step % 5 * 29 + t;
    batch[2][r][t] = start;
    batch[0][r][t] = (t > start ? batch[0][r][t - 1] * 17 + 31 + (t * t + r) % 5 : first) % VOCABULARY;
    batch[1][r][t] = -1;
    if (t > start && t - start > (ends[text] - start) / 3) batch[1][r][t - 1] = batch[0][r][t];
  }
}

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  static rows_of_ids values[COLUMNS];
  source *s = user;
  *batch = (mica_batch){0};
  s->given = !s->given;
  if (!s->given) {
    s->epoch++;
    return MICA_OK;
  }
  for (int32_t r = 0; r < ROWS; r++) fill_row(r, (int32_t)s->epoch, values);
  for (int k = 0; k < COLUMNS; k++) {
    ck_ok(mica_tensor_upload(queue, s->tensors[k], values[k], sizeof values[k]));
    s->feeds[k] = (mica_feed){names[k], s->tensors[k]};
  }
  *batch = (mica_batch){.count = ROWS, .tensors = s->feeds, .tensor_count = COLUMNS};
  return MICA_OK;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  source *s = user;
  s->epoch = epoch;
  s->given = batch > 0;
  return MICA_OK;
}

static mica_batch_source open_source(source *s) {
  for (int k = 0; k < COLUMNS; k++) {
    ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(ROWS, LENGTH), &s->tensors[k]));
    s->columns[k] = (mica_batch_column){names[k], MICA_I32, MICA_SHAPE(MICA_DYNAMIC, LENGTH)};
  }
  return (mica_batch_source){.user = s,
                             .batches = 1,
                             .samples = ROWS,
                             .next = next,
                             .seek = seek,
                             .columns = s->columns,
                             .column_count = COLUMNS};
}

static bool note(void *user, const mica_train_progress *p) {
  double *losses = user;
  if (p->event == MICA_TRAIN_EVENT_EPOCH && p->epoch < STEPS) losses[p->epoch] = p->training.loss;
  return true;
}

static const char *model_path(const char *file, char path[600]) {
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, 600, "%s/tests/golden/foundation/llama/%s", root ? root : ".", file);
  return path;
}

static void read_losses(double losses[STEPS]) {
  char path[600], line[64], *end = NULL;
  FILE *file = fopen(model_path("adapter.losses.txt", path), "r");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < STEPS; i++) {
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    losses[i] = mica__strtod(line, &end);
  }
  fclose(file);
}

START_TEST(losses_as_peft) {
  static double losses[STEPS], want[STEPS];
  source s = {0};
  char path[600];
  mica_foundation *model = NULL;
  mica_adapter *adapter = NULL;
  ck_ok(mica_foundation_open(model_path("", path), NULL, &model));
  ck_ok(mica_foundation_adapter_open(model, model_path("adapter", path), &adapter));
  const mica_finetune_config config = {.training = open_source(&s),
                                       .epochs = STEPS,
                                       .rate = 3e-3,
                                       .weight_decay = 0.01,
                                       .recompute = _i == 1,
                                       .report = note,
                                       .user = losses};
  ck_ok(mica_finetune(test_engine(), model, adapter, &config));
  read_losses(want);
  ck_assert_double_lt(want[STEPS - 1], want[0] - 2);
  /* In f64 the losses differ from those in f32 by up to 1.1e-5. */
  for (int i = 0; i < STEPS; i++)
    ck_assert_msg(fabs(losses[i] - want[i]) <= 1e-4, "step %d: %.6f, not %.6f", i, losses[i], want[i]);
  for (int k = 0; k < COLUMNS; k++) mica_tensor_destroy(s.tensors[k]);
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
}
END_TEST

TESTS(BOTH(DEVICE, NEEDS(CJSON)), NULL, NULL, LOOP(losses_as_peft, 0, 2))
