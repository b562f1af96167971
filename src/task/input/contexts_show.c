/* Texts that a language model reads window by window: what they cost, and what two models expect next. */
#include "run/facts.h"
#include "run/state/evaluation.h"
#include "task/input/contexts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Windows of a text that are looked at together. */
#define AT_A_TIME 16

/* What the network gives of some positions, in order; `at`: the first one's number in the text. */
typedef void take_fn(void *user, const void *values, int64_t at, int64_t count);

/* An output of `count` windows of `row` tokens, of four bytes a position. */
static mica_status infer(mica_run *run, const int32_t *tokens, int64_t count, int64_t row, const char *output,
                         void *values) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_tensor *tensor = NULL;
  MICA_TRY(mica_tensor_create(run->engine, MICA_I32, MICA_SHAPE(count, row), &tensor));
  const mica_feed feed = {"tokens", tensor};
  mica_status status = mica_tensor_upload(queue, tensor, tokens, mica_tensor_bytes(tensor));
  if (status == MICA_OK)
    status = mica_trainer_predict(run->trainer, &(mica_batch){.count = count, .tensors = &feed, .tensor_count = 1});
  const mica_tensor *result = status == MICA_OK ? mica_trainer_output(run->trainer, output) : NULL;
  if (status == MICA_OK && !result) status = mica__fail(MICA_E_STATE, "the network has no %s", output);
  if (status == MICA_OK) status = mica_tensor_download(queue, result, values, mica_tensor_bytes(result));
  mica_tensor_destroy(tensor);
  return status;
}

/* Hands on what the network gives of all tokens but the last, each in its window; the last window is filled up. */
static mica_status read_windows(mica_run *run, const int32_t *ids, int64_t n, const char *output, take_fn *take,
                                void *user) {
  const int64_t context = (int64_t)mica_run_number(run, "context"), row = context + 1, all = n - 1;
  const int64_t windows = (all + context - 1) / context;
  int32_t *tokens = calloc((size_t)(AT_A_TIME * row), sizeof *tokens);
  void *values = malloc((size_t)(AT_A_TIME * context) * sizeof(int32_t));
  mica_status status = tokens && values ? MICA_OK : mica__fail_nomem("a text");
  for (int64_t from = 0; status == MICA_OK && from < windows; from += AT_A_TIME) {
    const int64_t count = windows - from < AT_A_TIME ? windows - from : AT_A_TIME, at = from * context;
    memset(tokens, 0, (size_t)(count * row) * sizeof *tokens);
    for (int64_t w = 0; w < count; w++)
      for (int64_t i = 0; i < row && at + w * context + i < n; i++) tokens[w * row + i] = ids[at + w * context + i];
    status = infer(run, tokens, count, row, output, values);
    if (status == MICA_OK) take(user, values, at, all - at < count * context ? all - at : count * context);
  }
  free(tokens);
  free(values);
  return status;
}

static void add_losses(void *user, const void *values, int64_t at, int64_t count) {
  const float *losses = values;
  (void)at;
  for (int64_t i = 0; i < count; i++) *(double *)user += (double)losses[i];
}

mica_status mica__language_mean_loss(mica_run *run, const mica__ids *ids, double *mean) {
  double sum = 0;
  MICA_TRY(read_windows(run, ids->ids, (int64_t)ids->count, MICA__LANGUAGE_LOSSES, add_losses, &sum));
  *mean = sum / (double)(ids->count - 1);
  return MICA_OK;
}

/* --- two models --- */

static void keep(void *user, const void *values, int64_t at, int64_t count) {
  memcpy((int32_t *)user + at, values, (size_t)count * sizeof(int32_t));
}

/* Bytes, or tokens of one tokeniser; a number stands for the same token in both. */
static bool have_same_tokens(const mica_run *a, const mica_run *b) {
  size_t count = 0, other_count = 0;
  const char *const *is = mica_run_fact(a, "tokenizer", &count), *const *other =
                                                                     mica_run_fact(b, "tokenizer", &other_count);
  if (count != other_count || mica__run_fact_number(a, "vocabulary", 0) != mica__run_fact_number(b, "vocabulary", 0))
    return false;
  /* The last one is its hash. */
  return !count || !strcmp(is[count - 1], other[count - 1]);
}

mica_status mica__language_agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count) {
  const mica_dataset *data = run->evaluation->data;
  const size_t column = mica_dataset_column_index(data, "tokens");
  const int64_t n = (int64_t)mica_run_number(run, "context") + 1;
  int64_t same = 0;
  *share = (double)NAN;
  *count = 0;
  if (!have_same_tokens(run, other)) return MICA_OK;
  int32_t *ids = calloc(3 * (size_t)n, sizeof *ids), *own = ids ? ids + n : NULL, *others = ids ? own + n : NULL;
  mica_status status = ids ? MICA_OK : mica__fail_nomem("a comparison");
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data) && *count < most; i++, ++*count) {
    status = mica_dataset_read(data, column, i, ids, (size_t)n * sizeof *ids);
    if (status == MICA_OK) status = read_windows(run, ids, n, MICA__LANGUAGE_NEXT, keep, own);
    if (status == MICA_OK) status = read_windows(other, ids, n, MICA__LANGUAGE_NEXT, keep, others);
    for (int64_t k = 0; status == MICA_OK && k + 1 < n; k++) same += own[k] == others[k];
  }
  free(ids);
  if (status == MICA_OK && *count) *share = (double)same / (double)(*count * (n - 1));
  return status;
}
