#include "run/columns/scale.h"
#include "base/number.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <mica/data.h>
#include <stdlib.h>
#include <string.h>

/* Reads the next number of a list and moves *at past the comma. False if it is not a number, or a deviation that is not
 * above 0. */
static bool take_number(const char **at, bool above, double *number) {
  char *end = NULL;
  *number = mica__strtod(*at, &end);
  if (end == *at || strspn(*at, " \t\n\v\f\r") || (*end && *end != ',') || (*end == ',' && !end[1])) return false;
  *at = *end ? end + 1 : end;
  /* Converts numbers to f32, the type that loaders take. */
  return above ? (float)*number > 0 && *number < 1e30 : *number > -1e30 && *number < 1e30;
}

/* Numbers of a list, at most `most` of them into `numbers`; 0 if something is wrong. */
static size_t take_list(const char *list, bool above, double *numbers, size_t most) {
  size_t count = 0;
  double number = 0;
  while (*list) {
    if (!take_number(&list, above, &number)) return 0;
    if (count < most) numbers[count] = number;
    count++;
  }
  return count;
}

mica_status mica__scale_check(const char *name, const char *value) {
  const bool above = !strcmp(name, "deviation");
  double first;
  if (!*value || take_list(value, above, &first, 1)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s must be a list of numbers%s, as in 0.485,0.456,0.406, not \"%s\"", name,
                    above ? " above 0" : "", value);
}

static mica_status note_list(mica_run *run, const char *name, size_t channels) {
  const bool deviation = !strcmp(name, "deviation");
  double *numbers = calloc(channels + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a run");
  const size_t count = take_list(mica_run_setting(run, name), deviation, numbers, channels);
  mica_status status = MICA_OK;
  if (count != 1 && count != channels)
    status = mica__fail(MICA_E_INVALID, "%s has %zu numbers, but %s has %zu channels or columns of inputs", name, count,
                        run->data ? run->data : "the dataset", channels);
  for (size_t i = 1; i < channels && count == 1; i++) numbers[i] = numbers[0];
  /* The loader's inputs have the bases of their columns subtracted. */
  for (size_t i = 0; i < channels && !deviation; i++) numbers[i] -= mica__run_number_base(run, i);
  if (status == MICA_OK) status = mica__run_note_numbers(run, name, numbers, channels);
  free(numbers);
  return status;
}

mica_status mica__run_note_given_scale(mica_run *run, bool *given) {
  const bool mean = *mica__common_settings_of(run).mean, deviation = *mica__common_settings_of(run).deviation;
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  *given = mean || deviation;
  if (!*given) return MICA_OK;
  if (!mean || !deviation) return mica__fail(MICA_E_INVALID, "give both mean and deviation, or neither");
  if (run->task->input->traits.own_input || run->task->input->onnx.input || (shape.rank != 1 && shape.rank != 3))
    return mica__fail(MICA_E_INVALID, "mean and deviation are for pictures and rows of numbers");
  MICA_TRY(note_list(run, "mean", (size_t)shape.dim[0]));
  return note_list(run, "deviation", (size_t)shape.dim[0]);
}

bool mica__run_is_unscaled(const mica_run *run) {
  const mica__fact_numbers mean = mica__common_facts_of(run).mean;
  const mica__fact_numbers deviation = mica__common_facts_of(run).deviation;
  bool same = mean.list && deviation.list && mean.count == deviation.count;
  for (size_t i = 0; same && i < mean.count; i++)
    same = mean.list[i] + mica__run_number_base(run, i) == 0 && deviation.list[i] == 1;
  return same;
}
