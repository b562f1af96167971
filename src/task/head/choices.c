/* Chooses between the heads `classes` and `labels` by the data. */
#include "task/head/choices.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"
#include "task/head/labels.h"

#include <string.h>

static const mica__head *of(const mica_run *run) {
  return mica__common_facts_of(run).several > 0 ? &mica__head_labels : &mica__head_classes;
}

static bool suits(const mica_column *label) {
  return mica__head_classes.suits(label) || mica__head_labels.suits(label);
}

static mica_status prepare_labels(mica_run *run, const mica_column *label) {
  static const char *const single[] = {"class-weights", "label-smoothing", "loss"};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
    const char *is = mica_run_setting(run, single[i]);
    if (*is && strcmp(is, "0") != 0 && strcmp(is, "cross_entropy") != 0)
      return mica__fail(MICA_E_INVALID, "%s %s is for one label per sample, but %s has several", single[i], is,
                        run->data);
  }
  return mica__head_labels.prepare(run, label);
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  return mica__head_labels.suits(label) ? prepare_labels(run, label) : mica__head_classes.prepare(run, label);
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  return of(run)->fits(run, data, label);
}

static int64_t outputs(const mica_run *run) { return of(run)->outputs(run); }

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  of(run)->step(nn, run, z, batch, out);
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) { of(run)->exports(run, z, out); }

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics) {
  return of(run)->evaluate(run, source, metrics);
}

static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *shares,
                           const mica_run_input *given) {
  return of(run)->shows.section(run, report, sample, shares, given);
}

static mica_status report(mica_run *run, mica_report *r) { return of(run)->shows.report(run, r); }

const mica__head mica__head_choices = {
    .name = "choices",
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .output = "shares",
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = report,
};
