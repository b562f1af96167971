/* Windows of time series as inputs, and networks that read them. */
#include "task/input/series.h"
#include "data/dataset.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <inttypes.h>
#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static const char *const networks[] = {"lstm", "gru", "tcn", "cnn_gru", "linear", NULL};

#define READ_SETTINGS(X, S) SERIES_SETTINGS(X, S) X(S, TEXT, model, "model", "", "", "")

MICA__SETTINGS_STRUCT(series, READ_SETTINGS);
MICA__SETTINGS(series, READ_SETTINGS);
MICA__FACTS(series, SERIES_FACTS, 0);

/* Returns 0, so that no data select this task by themselves: tables of numbers suit other tasks better. The user must
 * choose this task by name. */
static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 0;
}

/* --- preparation --- */

/* Refuses a series whose first value comes after the rows that training reads. */
static mica_status check_begins(const mica__windows *w, const char *name) {
  for (size_t k = 0; k < w->series.count; k++)
    if (!mica__series_seen(&w->series, k, w->learned))
      return mica__fail(MICA_E_FORMAT,
                        "%s: column '%s' is empty up to row %lld, but training needs values in rows up to %lld", name,
                        w->series.names[k], (long long)mica__series_first(&w->series, k), (long long)w->learned);
  return MICA_OK;
}

static mica_status note_scales(mica_run *run, const mica__windows *w) {
  static const char *const facts[] = {"scale", "level_mean", "level_deviation", "mase_scale"};
  const size_t count = w->series.count;
  double *numbers = calloc(4 * count, sizeof *numbers);
  mica_status status = numbers ? MICA_OK : mica__fail_nomem("a run");
  for (size_t k = 0; status == MICA_OK && k < count; k++)
    mica__windows_measure(w, k, numbers + k, numbers + count + k, numbers + 2 * count + k, numbers + 3 * count + k);
  for (size_t i = 0; status == MICA_OK && i < 4; i++)
    status = mica__run_note_numbers(run, facts[i], numbers + i * count, count);
  free(numbers);
  return status;
}

static mica_status note_sizes(mica_run *run, const mica__windows *w) {
  const struct {
    const char *name;
    double value;
  } sizes[] = {{"horizon", (double)w->horizon},
               {"window", (double)w->window},
               {"season", (double)w->season},
               {"targets", (double)w->targets}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    MICA_TRY(mica__run_note_numbers(run, sizes[i].name, &sizes[i].value, 1));
  return mica__run_note(run, "series", (const char *const *)w->series.names, w->series.count);
}

static mica_status say(mica_run *run, const mica__windows *w) {
  const mica__series *s = &w->series;
  if (w->season > 1)
    MICA_TRY(mica__run_remark(run, "windows of %lld rows, a season of %lld, a horizon of %lld", (long long)w->window,
                              (long long)w->season, (long long)w->horizon));
  else
    MICA_TRY(mica__run_remark(run,
                              "windows of %lld rows, a horizon of %lld, no season; --season N sets a season of N rows",
                              (long long)w->window, (long long)w->horizon));
  MICA_TRY(mica__windows_remark(run, mica_dataset_name(run->parts->whole), w));
  return s->unused ? mica__run_remark(run, "%zu column%s neither numbers nor times and %s not used", s->unused,
                                      s->unused == 1 ? " holds" : "s hold", s->unused == 1 ? "is" : "are")
                   : MICA_OK;
}

/* Checks the sizes of an opened run. */
static mica_status check_facts(const mica_run *run) {
  const mica__series_facts facts = facts_of(run);
  const struct {
    const char *name;
    double value, most;
  } sizes[] = {{"targets", facts.targets, (double)facts.series.count},
               {"horizon", facts.horizon, MICA__LARGEST_ROW},
               {"window", facts.window, MICA__LARGEST_ROW},
               {"season", facts.season, MICA__LARGEST_ROW}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].value != floor(sizes[i].value) || sizes[i].value > sizes[i].most)
      return mica__run_damaged(run, run->data,
                               mica__fail(MICA_E_FORMAT,
                                          "config.json: \"%s\" holds %g, but must be a whole number up to %g",
                                          sizes[i].name, sizes[i].value, sizes[i].most));
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  MICA_TRY(mica__task_check_heads(settings_of(run).model, settings_of(run).width, 0));
  if (!run->parts->whole) return check_facts(run);
  mica__windows *w = mica__windows_of(run->parts->whole);
  if (!w)
    return mica__fail(MICA_E_UNSUPPORTED, "the task %s reads tables from files, not datasets that a program made",
                      run->task->name);
  MICA_TRY(check_begins(w, mica_dataset_name(run->parts->whole)));
  MICA_TRY(note_sizes(run, w));
  MICA_TRY(note_scales(run, w));
  return say(run, w);
}

/* With fewer validation windows than this, the losses of two epochs cannot be compared. */
#define FEW_WINDOWS 10

static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  mica__windows *w = mica__windows_of(data);
  const uint64_t count = mica_dataset_count(data);
  *out = data;
  if (part == MICA_PART_VALIDATION && run->parts->whole && count < FEW_WINDOWS)
    MICA_TRY(mica__run_remark(
        run,
        "only %" PRIu64
        " window%s held out for validation, so the best epoch is found by chance; hold out more (--validation)",
        count, count == 1 ? " is" : "s are"));
  MICA_TRY(mica__windows_remark(run, mica_dataset_name(data), w));
  return mica__windows_scale(run, w);
}

/* Checks that data are series. Their columns were found by name when the data were opened. */
static mica_status fits(const mica_run *run, const mica_dataset *data) {
  if (mica__windows_of(data)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no time series, but the run %s was trained on them", mica_dataset_name(data),
                    run->folder);
}

/* --- the network --- */

/* Returns the last state (N, width) of a recurrent network. At each step, the network reads a row of the window and the
 * level of the window. */
static mica_value recur(mica_nn *nn, const mica__series_settings *s, mica_value window, mica_value level) {
  const mica_nn_rnn_config config = {.kind = !strcmp(s->model, "lstm") ? MICA_RNN_KIND_LSTM : MICA_RNN_KIND_GRU,
                                     .layers = s->layers,
                                     .dropout = s->dropout};
  const mica_value high = mica_add(level, mica_full_like(window, 0));
  const mica_value both[] = {window, high};
  const mica_rnn_results r = mica_nn_rnn(nn, "rnn", mica_concat(both, 2, 2), s->width, &config);
  /* A pruned network has fewer units. */
  const int64_t units = mica_value_is_null(r.h) ? s->width : mica_value_shape(r.h).dim[2];
  return mica_reshape(r.h, MICA_SHAPE(MICA_DYNAMIC, units));
}

/* Returns (N, outputs): a linear function of the window and its level, plus the output of the network that the setting
 * "model" names, unless that is "linear" (Lai et al. 2018). */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  /* The inputs of an exported model are in the order in which they are taken here. */
  const mica_value level = mica_batch_value(batch, "level"), window = mica_batch_value(batch, "window");
  const mica__series_settings s = settings_of(run);
  const mica_dense_config small = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.01}};
  const mica_value seen[] = {mica_flatten(window, 1), mica_flatten(level, 1)};
  mica_value y = mica_nn_dense(nn, "linear", mica_concat(seen, 2, 1), outputs, &small);
  if (!strcmp(s.model, "tcn") || !strcmp(s.model, "cnn_gru")) {
    const mica_model_config config = {.name = s.model,
                                      .classes = outputs,
                                      .width = s.width,
                                      .dropout = s.dropout,
                                      .sequence = {.layers = s.layers, .pooled = true}};
    y = mica_add(y, mica_model_build(nn, window, &config));
  } else if (strcmp(s.model, "linear") != 0) {
    mica_value state = mica_nn_dropout(nn, recur(nn, &s, window, level), s.dropout);
    y = mica_add(y, mica_nn_dense(nn, "head", state, outputs, &small));
  }
  return mica_value_dtype(y) == MICA_F32 ? y : mica_cast(y, MICA_F32);
}

const mica__input mica__input_series = {
    .name = "series",
    .traits.own_input = true,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .views.derive = derive,
    .networks = networks,
    .network = network,
    .samples.visit = mica__series_visit,
    .samples.look = mica__series_look,
};
