/* Embeddings: ArcFace, triplet or GE2E loss in training; equal error rate and ROC over all pairs in tests. */
#include "task/head/identity.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/predict/compared.h"
#include "run/predict/gallery.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "task/verify/verify.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/metric.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* The most points of a curve in a report, and the most classes in its table. */
#define MOST_POINTS 200
#define MOST_CLASSES 100
/* Added to the square of an embedding's length, so that its root can be a divisor. */
#define LEAST_SQUARE 1e-12
/* The least factor of cosines in the GE2E loss, which must stay above 0. */
#define LEAST_SCALE 1e-6
/* The fewest samples of a batch: two of one class and one of another. */
#define LEAST_BATCH 3

typedef enum identity_loss { ARCFACE, TRIPLET, GE2E } identity_loss;

const char *mica__identity_loss_at(size_t i) {
  static const char *const names[] = {[ARCFACE] = "arcface", [TRIPLET] = "triplet", [GE2E] = "ge2e", NULL};
  return names[i];
}

MICA__SETTINGS_STRUCT(identity, IDENTITY_SETTINGS);
static MICA__SETTINGS_TABLE(identity, IDENTITY_SETTINGS);

MICA__FACTS(identity, IDENTITY_FACTS, 0);

static MICA__SETTINGS_READER(identity, settings_of);

static int64_t width_of(const mica_run *run) { return settings_of(run).embedding; }

/* --- preparation --- */

static bool suits(const mica_column *label) {
  return (label->kind == MICA_COLUMN_KIND_CLASS || label->kind == MICA_COLUMN_KIND_ID) && label->shape.rank == 0;
}

static mica_status note_classes(mica_run *run, const mica_column *label) {
  const mica__identities *ids = mica__identities_of(run->parts->whole);
  if (!ids) return mica__run_note_classes(run, label);
  if (ids->count > ids->trained)
    MICA_TRY(mica__run_note(run, "unseen", (const char *const *)ids->names + ids->trained, ids->count - ids->trained));
  return mica__run_note(run, "classes", (const char *const *)ids->names, ids->trained);
}

/* Refuses a batch that is too small for GE2E or the triplet loss. Adds a remark if about half of the batches or more
 * would teach nothing: the loss is 0 unless a batch has two samples of one class and one of another. */
static mica_status check_batch(mica_run *run) {
  const char *loss = mica__identity_loss_at((size_t)settings_of(run).loss);
  const int64_t batch = mica__common_settings_of(run).batch, ranks = mica__run_replicas(run);
  const int64_t count = batch / ranks;
  const double classes = (double)facts_of(run).classes.count;
  double distinct = 1;
  if (settings_of(run).loss == ARCFACE) return MICA_OK;
  if (count < LEAST_BATCH)
    return mica__fail(MICA_E_INVALID,
                      "a batch of %lld%s is too small for the loss %s, which needs two samples of one class and one of "
                      "another; set --batch to %d%s or more, better to several times the number of classes (%.0f)",
                      (long long)count, ranks > 1 ? " per rank" : "", loss, LEAST_BATCH,
                      ranks > 1 ? " times the number of ranks" : "", classes);
  for (int64_t i = 1; i < count && distinct > 0; i++) distinct *= fmax(0, 1 - (double)i / classes);
  if (distinct <= 0.5) return MICA_OK;
  return mica__run_remark(
      run,
      "about %.0f %% of the batches of %lld have no two samples of one class and teach nothing; set "
      "--batch to several times the number of classes (%.0f)",
      100 * distinct, (long long)count, classes);
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  mica_augment_config augment;
  if (!suits(label))
    return mica__fail(MICA_E_FORMAT,
                      "%s: the task %s needs a column with a class for each sample; name it with --label", run->data,
                      run->task->name);
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (augment.mixup > 0 || augment.cutmix > 0)
    return mica__fail(MICA_E_INVALID,
                      "%s blends classes, and the task %s learns to tell them apart; leave it out of augment",
                      augment.mixup > 0 ? "mixup" : "cutmix", run->task->name);
  MICA_TRY(note_classes(run, label));
  return check_batch(run);
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  (void)run;
  if (label && suits(label)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column with a class for each sample", mica_dataset_name(data));
}

/* --- the step --- */

/* x as f32, with each row divided by its Euclidean length. */
static mica_value normed(mica_value x) {
  if (!x.graph) return x;
  x = mica_cast(x, MICA_F32);
  return mica_div(x, mica_sqrt(mica_affine(mica_sum(mica_square(x), MICA_AXES(1), true), 1, LEAST_SQUARE)));
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = normed(z), out->output_names[0] = "embedding";
}

static mica_value arcface(mica_nn *nn, const mica_run *run, mica_value e, mica_value y) {
  const mica__identity_settings settings = settings_of(run);
  const mica_init_config init = {.kind = MICA_INIT_NORMAL, .value = 0.1};
  const size_t classes = facts_of(run).classes.count;
  mica_value w = mica_nn_parameter(nn, "arcface", MICA_SHAPE((int64_t)classes, settings.embedding), &init);
  mica_value cosines = mica_matmul(e, mica_transpose(normed(w), MICA_AXES(1, 0)));
  const double margin = settings.margin > 0 ? settings.margin : MICA_ZERO;
  return mica_arcface(cosines, y, &(mica_arcface_config){.scale = settings.scale, .margin = margin});
}

/* The GE2E loss of each sample; *counts as in mica_ge2e. */
static mica_value ge2e(mica_nn *nn, const mica_run *run, mica_value e, mica_value y, mica_value *counts) {
  const mica_init_config init = {.kind = MICA_INIT_CONSTANT, .value = settings_of(run).scale};
  mica_value scale = mica_nn_parameter(nn, "ge2e", MICA_SHAPE(1), &init);
  return mica_ge2e(e, y, (int64_t)facts_of(run).classes.count, mica_clip(scale, LEAST_SCALE, INFINITY), counts);
}

/* ArcFace and GE2E know only the classes of training, so tests use the triplet loss. */
static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  const bool training = mica_nn_is_training(nn);
  const mica__identity_settings settings = settings_of(run);
  mica_value e = normed(z), counts = {0};
  if (!training) out->outputs[0] = e, out->output_names[0] = "embedding";
  if (!mica_batch_has(batch, label) || !e.graph) return;
  mica_value y = mica_batch_value(batch, label);
  if (training && settings.loss == ARCFACE) {
    out->loss = arcface(nn, run, e, y);
    return;
  }
  mica_value losses =
      training && settings.loss == GE2E ? ge2e(nn, run, e, y, &counts) : mica_triplet(e, y, settings.margin, &counts);
  if (!losses.graph) return;
  /* If all triplets of a batch are right, or no two samples have the same class, the loss is 0. */
  mica_value number = mica_sum(counts, MICA_ALL_AXES, false);
  out->loss = mica_div(mica_sum(losses, MICA_ALL_AXES, false), mica_maximum(number, mica_full_like(number, 1)));
}

/* --- tests --- */

void mica__identity_close(mica_run *run) {
  mica__compared_free(run->task_state);
  run->task_state = NULL;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  mica__compared *c = NULL;
  mica__compared_pairs p = {0};
  mica_roc_scores scores;
  mica_status status = mica__compared_take(run, source, width_of(run), &c);
  if (status == MICA_OK) status = mica__compared_pair(c, &p);
  if (status == MICA_OK) status = mica_roc(p.cosines, p.same, p.count, NULL, NULL, &scores);
  if (status == MICA_OK) status = mica_metrics_add(m, "eer", scores.eer);
  if (status == MICA_OK) status = mica_metrics_add(m, "threshold", scores.threshold);
  if (status == MICA_OK) status = mica_metrics_add(m, "auc", scores.auc);
  if (status == MICA_OK) status = mica_metrics_add(m, "tar_1", scores.true_rate_1);
  if (status == MICA_OK) status = mica_metrics_add(m, "nearest", p.nearest);
  mica__compared_pairs_free(&p);
  mica__compared_free(run->task_state);
  run->task_state = c;
  return status;
}

/* --- the report --- */

static mica_status add_curve(mica_report *report, const mica_roc_point *curve, size_t points) {
  static const char *const columns[] = {"accepted, other class", "accepted, same class"};
  double numbers[MOST_POINTS][2];
  const size_t rows = points < MOST_POINTS ? points : MOST_POINTS;
  for (size_t i = 0; i < rows; i++) {
    const mica_roc_point *at = &curve[rows > 1 ? i * (points - 1) / (rows - 1) : 0];
    numbers[i][0] = at->false_rate;
    numbers[i][1] = at->true_rate;
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_CURVE,
                          .name = "roc",
                          .rows = rows,
                          .columns = 2,
                          .column_names = columns,
                          .numbers = numbers[0]};
  return mica_report_add(report, &item);
}

/* Adds a table with the number of samples of each class, and their mean cosines to the same class and to others. */
static mica_status add_classes(mica_report *report, const mica__identities *ids, const mica__compared *c,
                               const mica__compared_pairs *p) {
  static const char *const columns[] = {"samples", "same class", "other class"};
  const char *names[MOST_CLASSES];
  double numbers[MOST_CLASSES][3];
  int32_t classes[MOST_CLASSES];
  size_t rows = 0;
  MICA_TRY(mica__compared_classes(c, p, ids->count, MOST_CLASSES, classes, numbers, &rows));
  if (!rows) return MICA_OK;
  for (size_t k = 0; k < rows; k++) names[k] = ids->names[classes[k]];
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "similarities",
                           .rows = rows,
                           .columns = 3,
                           .row_names = names,
                           .column_names = columns,
                           .numbers = numbers[0]};
  return mica_report_add(report, &table);
}

static mica_status report(mica_run *run, mica_report *r) {
  const mica__compared *c = run->task_state;
  const mica__identities *ids = mica__identities_of(run->evaluation->data);
  mica__compared_pairs p = {0};
  mica_roc_scores scores;
  size_t points = 0;
  if (!c || c->count < 2) return MICA_OK;
  mica_status status = mica__compared_pair(c, &p);
  mica_roc_point *curve = status == MICA_OK ? malloc((p.count + 1) * sizeof *curve) : NULL;
  if (status == MICA_OK && !curve) status = mica__fail_nomem("a report");
  if (status == MICA_OK) status = mica_roc(p.cosines, p.same, p.count, curve, &points, &scores);
  if (status == MICA_OK) status = mica_report_begin(r, "Pairs");
  if (status == MICA_OK) status = mica_report_add_number(r, "compared", (double)p.count);
  if (status == MICA_OK && ids) status = add_classes(r, ids, c, &p);
  if (status == MICA_OK && points) status = add_curve(r, curve, points);
  free(curve);
  mica__compared_pairs_free(&p);
  return status;
}

const mica__head mica__head_identity = {
    .name = "identity",
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .output = "embedding",
    .outputs = width_of,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.predict = mica__gallery_compare,
    .shows.report = report,
};
