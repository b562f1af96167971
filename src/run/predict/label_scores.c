/* Scores of labels in a test. */
#include "run/predict/label_scores.h"
#include "run/common_facts.h"
#include "run/predict/batches.h"

#include <mica/metric.h>
#include <stdlib.h>
#include <string.h>

/* The predicted probabilities (shares) and true labels of all samples of a source, row-major. */
typedef struct ranking {
  float *shares, *truths, *ranked; /* ranked has the shares of one label, for sorting */
  uint8_t *column;                 /* true answers for that label */
  size_t rows, labels, most;       /* most is the number of rows that fit */
} ranking;

static mica_status take_batch(mica_run *run, const mica_batch *batch, const float *shares, void *user) {
  ranking *r = user;
  const size_t count = (size_t)batch->count * r->labels, at = r->rows * r->labels;
  if (r->rows + (size_t)batch->count > r->most)
    return mica__fail(MICA_E_STATE, "the source of batches gave more samples than it announced");
  memcpy(r->shares + at, shares, count * sizeof *shares);
  r->rows += (size_t)batch->count;
  return mica__batch_read(run, batch, mica__common_facts_of(run).label_column, r->truths + at, count * sizeof(float));
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static mica_status score_label(ranking *r, size_t label, double threshold, double scores[MICA__LABEL_SCORES]) {
  double hits = 0, said = 0, there = 0;
  for (size_t i = 0; i < r->rows; i++) {
    const float share = r->shares[i * r->labels + label];
    const bool is = r->truths[i * r->labels + label] > 0.5f, says = (double)share > threshold;
    r->column[i] = is;
    r->ranked[i] = share;
    hits += is && says;
    said += says;
    there += is;
  }
  scores[MICA__LABEL_SAMPLES] = there;
  scores[MICA__LABEL_PRECISION] = ratio(hits, said);
  scores[MICA__LABEL_RECALL] = ratio(hits, there);
  scores[MICA__LABEL_F1] = ratio(2 * hits, said + there);
  return mica_average_precision(r->ranked, r->column, r->rows, &scores[MICA__LABEL_AP]);
}

mica_status mica__label_scores(mica_run *run, const mica_batch_source *source, size_t labels, double threshold,
                               double *scores) {
  const size_t rows = (size_t)source->samples;
  ranking r = {.shares = malloc((rows * labels + 1) * sizeof(float)),
               .truths = malloc((rows * labels + 1) * sizeof(float)),
               .ranked = malloc((rows + 1) * sizeof(float)),
               .column = malloc(rows + 1),
               .labels = labels,
               .most = rows};
  mica_status status = r.shares && r.truths && r.ranked && r.column ? MICA_OK : mica__fail_nomem("scores of labels");
  if (status == MICA_OK) status = mica__test_batches(run, source, (int64_t)labels, take_batch, &r);
  for (size_t k = 0; status == MICA_OK && k < labels; k++)
    status = score_label(&r, k, threshold, scores + k * MICA__LABEL_SCORES);
  free(r.shares);
  free(r.truths);
  free(r.ranked);
  free(r.column);
  return status;
}
