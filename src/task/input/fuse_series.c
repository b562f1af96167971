/* A series in a cell of a table: numbers between blanks or semicolons, as in "0.5 0.7 1.1". */
#include "data/dataset.h"
#include "data/table/number_lists.h"
#include "run/columns/columns.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "task/input/fuse.h"

#include <mica/model.h>
#include <mica/nodes.h>
#include <string.h>

bool mica__fuse_is_text(const mica_run *run, const mica_dataset *data, size_t column) {
  return run && !strcmp(mica_dataset_column(data, column)->name, mica__fuse_settings_of(run).text);
}

/* The first column of series that is neither the answer nor named by the setting "text"; SIZE_MAX: not found. */
static size_t find_series(const mica_run *run, const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i) != mica__run_find_label(data) && !mica__fuse_is_text(run, data, i) &&
        mica__number_lists_fill(data, i))
      return i;
  return SIZE_MAX;
}

bool mica__fuse_has_series(const mica_run *run, const mica_dataset *data) { return find_series(run, data) != SIZE_MAX; }

static mica_status prepare(mica_run *run) {
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  const mica_dataset *data = run->parts->whole;
  MICA_TRY(mica__task_check_heads(mica__common_settings_of(run).model, s.width, s.heads));
  if (!data) return MICA_OK;
  return mica__run_note_text(run, "series_column", mica_dataset_column(data, find_series(run, data))->name);
}

static mica_status read_series(const mica_run *run, const mica_dataset *data, int64_t most, mica__number_lists *lists) {
  return mica__number_lists_read(data, mica_dataset_column_index(data, mica__fuse_facts_of(run).series_column), most,
                                 lists);
}

/* Stores with the run what the series of the training part are like: the mean and the standard deviation of their
 * numbers, and the length of the longest series. */
static mica_status complete(mica_run *run, const mica_column *label) {
  mica__number_lists lists;
  double mean, deviation;
  (void)label;
  mica_status status = read_series(run, run->parts->at[MICA_PART_TRAIN].data, MICA__LONGEST_LIST, &lists);
  const double longest = (double)lists.longest;
  mica__number_lists_measure(&lists, &mean, &deviation);
  mica__number_lists_free(&lists);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "series_mean", &mean, 1);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "series_deviation", &deviation, 1);
  return status == MICA_OK ? mica__run_note_numbers(run, "series_length", &longest, 1) : status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *name = mica__fuse_facts_of(run).series_column;
  const mica_column *column = mica_dataset_column(data, mica_dataset_column_index(data, name));
  if (column && column->kind == MICA_COLUMN_KIND_TEXT) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of series, but the network was trained on it",
                    mica_dataset_name(data), name);
}

/* Adds the column "series" with the numbers of the cells. A series longer than the longest of training is cut. */
static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const double length = mica__fuse_facts_of(run).series_length;
  mica__number_lists lists;
  mica_dataset *made = NULL;
  (void)part;
  mica_status status = read_series(run, data, (int64_t)length, &lists);
  const size_t cut = lists.cut, all = (size_t)mica_dataset_count(data);
  if (status == MICA_OK) status = mica__number_lists_derive(data, "series", &lists, &made);
  mica__number_lists_free(&lists);
  if (status == MICA_OK && cut)
    status = mica__run_remark(
        run, "%zu of %zu series are longer than the longest of training, %g numbers: their ends are not read", cut, all,
        length);
  if (status == MICA_OK)
    *out = made;
  else
    mica_dataset_destroy(made);
  return status;
}

/* Builds the network that the setting "model" names. Each step reads one number, which is standardised. */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  const mica__fuse_facts facts = mica__fuse_facts_of(run);
  const double deviation = facts.series_deviation.list[0], mean = facts.series_mean.list[0];
  mica_value lengths = mica_batch_value(batch, "series.length"), x = mica_batch_value(batch, "series");
  const mica_model_config config = {.name = mica__common_settings_of(run).model,
                                    .classes = outputs,
                                    .width = s.width,
                                    .dropout = s.dropout,
                                    .sequence = {.context = (int64_t)facts.series_length,
                                                 .layers = s.layers,
                                                 .heads = s.heads,
                                                 .pooled = true,
                                                 .lengths = lengths}};
  x = mica_unsqueeze(mica_affine(x, 1 / deviation, -mean / deviation), MICA_AXES(2));
  return mica__run_answers(run, mica_model_build(nn, x, &config), outputs);
}

const mica__input mica__fuse_series = {.name = "series",
                                       .prepare = prepare,
                                       .complete = complete,
                                       .fits = fits,
                                       .views.derive = derive,
                                       .network = network};
