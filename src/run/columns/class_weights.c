/* Weights of classes, as the setting "class-weights" gives them. */
#include "run/columns/classes.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"

#include "base/number.h"
#include "run/shared_settings.h"
#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the number n of samples of each class by the weight N / (classes n), N being all samples: every class
 * then has the same total weight. A class without samples gets 0. */
static void balance(double *weights, int64_t classes) {
  double all = 0;
  for (int64_t c = 0; c < classes; c++) all += weights[c];
  for (int64_t c = 0; c < classes; c++) weights[c] = weights[c] > 0 ? all / ((double)classes * weights[c]) : 0;
}

static mica_status parse_weights(const char *text, double *weights, int64_t classes) {
  const char *at = text;
  int64_t count = 0;
  for (char *end = NULL; *at; count++) {
    const double weight = mica__strtod(at, &end);
    if (strpbrk(text, " \txX") || end == at || (*end && *end != ',') || !(weight >= 0) || !isfinite(weight))
      return mica__fail(MICA_E_INVALID,
                        "class-weights must be balanced, or numbers of at least 0 as in 1,5,2, not \"%s\"", text);
    if (count < classes) weights[count] = weight;
    if (*end && !end[1])
      return mica__fail(MICA_E_INVALID, "class-weights \"%s\" must end in a number, not in a comma", text);
    at = *end ? end + 1 : end;
  }
  return count == classes ? MICA_OK
                          : mica__fail(MICA_E_INVALID, "class-weights has %lld numbers, but the data have %lld classes",
                                       (long long)count, (long long)classes);
}

mica_status mica__run_note_weights(mica_run *run, int64_t classes,
                                   mica_status (*count)(mica_run *run, double *counts, int64_t classes)) {
  const char *text = mica__shared_settings_of(run).class_weights;
  const bool balanced = !strcmp(text, "balanced");
  if (!*text) return MICA_OK;
  double *weights = calloc((size_t)classes + 1, sizeof *weights);
  if (!weights) return mica__fail_nomem("classes");
  mica_status status = balanced ? count(run, weights, classes) : parse_weights(text, weights, classes);
  if (status == MICA_OK && balanced) balance(weights, classes);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "class_weights", weights, (size_t)classes);
  free(weights);
  return status;
}

mica_value mica__run_class_weights(const mica_run *run, mica_graph *graph) {
  const mica__fact_numbers weights = mica__common_facts_of(run).class_weights;
  if (!weights.list) return (mica_value){0};
  float *numbers = malloc((weights.count + 1) * sizeof *numbers);
  if (!numbers) return mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for the weights of classes");
  for (size_t i = 0; i < weights.count; i++) numbers[i] = (float)weights.list[i];
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE((int64_t)weights.count), numbers);
  free(numbers);
  return value;
}
