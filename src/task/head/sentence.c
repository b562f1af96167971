/* Sentences written token by token: the loss of each token, and BLEU of translations. */
#include "task/head/sentence.h"
#include "data/dataset.h"
#include "run/fields.h"
#include "run/ranks.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "task/input/pairs.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <string.h>

/* The most texts of a part that BLEU is computed on, evenly spaced. */
#define JUDGED 3000
#define OUTPUT "logits"

MICA__SETTINGS_STRUCT(sentence, SENTENCE_SETTINGS);
MICA__SETTINGS(sentence, SENTENCE_SETTINGS);

/* --- the column --- */

static bool suits(const mica_column *column) {
  return column->kind == MICA_COLUMN_KIND_TEXT || (column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0);
}

/* The last column of texts or classes. It only shows that the data have sentences; the settings say which columns are
 * source and target. */
static const mica_column *label_of(const mica_dataset *data) {
  for (size_t i = mica_dataset_column_count(data); i-- > 0;)
    if (suits(mica_dataset_column(data, i))) return mica_dataset_column(data, i);
  return NULL;
}

/* --- the step --- */

static int64_t outputs(const mica_run *run) { return (int64_t)mica__pairs_facts_of(run).vocabulary; }

/* The loss is a mean over the tokens of targets, including their end tokens. */
static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  mica_value rows = mica_flatten(z, 2);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                                  .value = mica_value_dtype(rows) == MICA_F32 ? rows : mica_cast(rows, MICA_F32)};
  if (!mica_batch_has(batch, MICA__PAIRS_TARGET)) return;
  mica_value target = mica_reshape(mica_batch_value(batch, MICA__PAIRS_TARGET), MICA_SHAPE(MICA_DYNAMIC));
  const double smoothing = mica_nn_is_training(nn) ? settings_of(run).label_smoothing : 0;
  const mica_cross_entropy_config how = {.label_smoothing = smoothing, .ignore = true, .ignored = MICA__PAIRS_NOTHING};
  out->loss = mica_cross_entropy(rows, target, &how);
  if (mica_value_dtype(out->loss) != MICA_F32) out->loss = mica_cast(out->loss, MICA_F32);
  out->weight =
      mica_sum(mica_cast(mica_batch_value(batch, MICA__PAIRS_TARGET ".length"), MICA_F32), MICA_ALL_AXES, false);
  out->answers[0].weight = mica_cast(mica_greater_equal(target, mica_full_like(target, 0)), MICA_F32);
  out->answers[0].count = out->weight;
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = z, out->output_names[0] = OUTPUT;
}

/* --- metrics --- */

/* Adds up the n-gram counts and the lengths of all ranks' translations. */
static mica_status join(const mica_run *run, mica_bleu *sums) {
  int64_t all[2 * MICA_BLEU_ORDER + 2] = {sums->length, sums->reference_length};
  int64_t *counts = all + 2, *totals = counts + MICA_BLEU_ORDER;
  memcpy(counts, sums->counts, sizeof sums->counts);
  memcpy(totals, sums->totals, sizeof sums->totals);
  MICA_TRY(mica__run_add_ranks(run, all, sizeof all / sizeof *all));
  memcpy(sums->counts, counts, sizeof sums->counts);
  memcpy(sums->totals, totals, sizeof sums->totals);
  sums->length = all[0];
  sums->reference_length = all[1];
  return MICA_OK;
}

static mica_status score(mica_run *run, const mica__sentences *s, int64_t beams, double *bleu) {
  mica__translations made;
  mica_bleu sums = {.length = 0};
  MICA_TRY(mica__pairs_translate(run, &s->ids, beams, settings_of(run).length_penalty, &made));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < s->count; i++)
    status = mica_bleu_add(&sums, made.texts[i], (const char *const *)&s->truths[i], 1, NULL);
  if (status == MICA_OK) status = join(run, &sums);
  *bleu = mica_bleu_score(&sums, NULL, NULL);
  mica__translations_free(&made);
  return status;
}

/* Adds perplexity and BLEU. After an epoch, up to `bleu_samples` validation texts are translated greedily. An
 * evaluation translates up to JUDGED texts greedily and, if the setting "beam" is above 1, again by beam search. */
static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const mica__sentence_settings settings = settings_of(run);
  const mica_dataset *judged = run->evaluation->data;
  const mica_dataset *data = judged ? judged : run->parts->at[MICA_PART_VALIDATION].data;
  mica__sentences s = {0};
  double bleu = 0;
  (void)source;
  MICA_TRY(mica_metrics_add(m, "perplexity", exp(m->loss)));
  if (!data) return MICA_OK;
  const mica__pair_samples pairs = mica__pairs_samples(run);
  mica_status status = mica__pair_samples_walk(run, &pairs, data, judged ? JUDGED : (uint64_t)settings.bleu_samples,
                                               MICA__PAIR_CHOICE_OWN, mica__sentences_add, &s);
  if (status == MICA_OK) status = score(run, &s, 1, &bleu);
  if (status == MICA_OK) status = mica_metrics_add(m, "bleu", bleu);
  if (status == MICA_OK && judged && settings.beam > 1) {
    status = score(run, &s, settings.beam, &bleu);
    if (status == MICA_OK) status = mica_metrics_add(m, "bleu_beam", bleu);
  }
  mica__sentences_free(&s);
  return status;
}

const mica__head mica__head_sentence = {
    .name = "sentence",
    .label = label_of,
    .suits = suits,
    .output = OUTPUT,
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.predict = mica__sentence_predict,
    .shows.report = mica__sentence_report,
};
