/* Learns to predict, after each token of a text, the next one. Measures how well a whole text is predicted. */
#include "task/head/next_token.h"
#include "data/dataset.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/token_texts.h"
#include "task/input/contexts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define READ_FACTS(X, S)                                                                                               \
  X(S, NUMBER, vocabulary, .needed = true)                                                                             \
  X(S, TEXTS, tokenizer, .needed = false)
MICA__FACTS(next_token, READ_FACTS, 0);

/* The column of tokens or, if the text is not split into tokens yet, of text. A text is its own answer: each token is
 * to be predicted from those before it. */
static const mica_column *label_of(const mica_dataset *data) {
  const mica_column *tokens = mica_dataset_column(data, mica_dataset_column_index(data, "tokens"));
  return tokens ? tokens : mica__dataset_find(data, MICA_COLUMN_KIND_TEXT);
}

static bool suits(const mica_column *label) {
  return label->kind == MICA_COLUMN_KIND_TOKENS || label->kind == MICA_COLUMN_KIND_TEXT;
}

static int64_t outputs(const mica_run *run) {
  const double vocabulary = facts_of(run).vocabulary;
  return vocabulary > 0 ? (int64_t)vocabulary : MICA__CONTEXTS_BYTES;
}

/* --- the step --- */

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  if (!z.graph) return;
  const int64_t context = mica_value_shape(z).dim[1];
  mica_value tokens = mica_batch_value(batch, "tokens");
  mica_value target = mica_reshape(mica_slice(tokens, 1, 1, context + 1, 1), MICA_SHAPE(MICA_DYNAMIC));
  mica_value rows = mica_flatten(z, 2);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                                  .value = mica_value_dtype(rows) == MICA_F32 ? rows : mica_cast(rows, MICA_F32)};
  if (mica_nn_is_training(nn)) {
    out->loss = mica_cross_entropy(rows, target, NULL);
    return;
  }
  const mica_cross_entropy_config each = {.reduction = MICA_LOSS_REDUCTION_NONE};
  mica_value losses = mica_cast(mica_cross_entropy(rows, target, &each), MICA_F32);
  out->loss = mica_mean(losses, MICA_ALL_AXES, false);
  if (run->tokenizer)
    out->metrics[0] =
        mica_metric_mean("bytes_per_token", mica_gather(mica__token_lengths(run->tokenizer, rows.graph), target, 0));
  mica_value likeliest = mica_cast(mica_argmax(out->answers[0].value, 1, false), MICA_I32);
  out->outputs[0] = mica_reshape(losses, MICA_SHAPE(MICA_DYNAMIC, context));
  out->output_names[0] = MICA__NEXT_TOKEN_LOSSES;
  out->outputs[1] = mica_reshape(likeliest, MICA_SHAPE(MICA_DYNAMIC, context));
  out->output_names[1] = MICA__NEXT_TOKEN_LIKELIEST;
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = z;
  out->output_names[0] = "logits";
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const double bytes = run->tokenizer ? mica_metrics_get(m, "bytes_per_token") : 1;
  (void)source;
  MICA_TRY(mica_metrics_add(m, "perplexity", exp(m->loss)));
  return mica_metrics_add(m, "bits_per_byte", bytes > 0 ? m->loss / log(2) / bytes : (double)NAN);
}

/* --- the loss of a text --- */

/* Adds the length, the perplexity and the bits per byte of a text. Its first token has no loss; for bits per byte, the
 * mean loss is taken for it. */
static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *losses,
                           const mica_run_input *given) {
  const double count = (double)sample->id_count, bytes = (double)sample->bytes;
  double sum = 0;
  (void)given;
  for (size_t i = 0; i + 1 < sample->id_count; i++) sum += (double)losses[i];
  const double mean = sum / (count - 1);
  MICA_TRY(mica_report_add_number(report, "bytes", bytes));
  if (run->tokenizer) MICA_TRY(mica_report_add_number(report, "tokens", count));
  MICA_TRY(mica_report_add_number(report, "perplexity", exp(mean)));
  return mica_report_add_number(report, "bits_per_byte", mean / log(2) * count / bytes);
}

/* --- comparing two models --- */

/* True if an id means the same token in both runs: their vocabularies have the same size, and both have the same
 * tokeniser or none. */
static bool have_same_tokens(const mica_run *a, const mica_run *b) {
  const mica__next_token_facts is = facts_of(a), other = facts_of(b);
  if (is.tokenizer.count != other.tokenizer.count || is.vocabulary != other.vocabulary) return false;
  /* The last text of the stored value "tokenizer" is the tokeniser's hash. */
  const size_t last = is.tokenizer.count - 1;
  return !is.tokenizer.count || !strcmp(is.tokenizer.list[last], other.tokenizer.list[last]);
}

mica_status mica__next_token_agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count) {
  const mica_dataset *data = run->evaluation->data;
  const size_t column = mica_dataset_column_index(data, "tokens");
  const int64_t n = mica__contexts_settings_of(run).context + 1;
  int64_t same = 0;
  *share = (double)NAN;
  *count = 0;
  if (!have_same_tokens(run, other)) return MICA_OK;
  int32_t *ids = calloc(3 * (size_t)n, sizeof *ids), *own = ids ? ids + n : NULL, *others = ids ? own + n : NULL;
  mica_status status = ids ? MICA_OK : mica__fail_nomem("a comparison");
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data) && *count < most; i++, ++*count) {
    status = mica_dataset_read(data, column, i, ids, (size_t)n * sizeof *ids);
    if (status == MICA_OK) status = mica__contexts_read(run, ids, n, MICA__NEXT_TOKEN_LIKELIEST, own);
    if (status == MICA_OK) status = mica__contexts_read(other, ids, n, MICA__NEXT_TOKEN_LIKELIEST, others);
    for (int64_t k = 0; status == MICA_OK && k + 1 < n; k++) same += own[k] == others[k];
  }
  free(ids);
  if (status == MICA_OK && *count) *share = (double)same / (double)(*count * (n - 1));
  return status;
}

const mica__head mica__head_next_token = {
    .name = "next_token",
    .label = label_of,
    .suits = suits,
    .output = MICA__NEXT_TOKEN_LOSSES,
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = mica__next_token_report,
};
