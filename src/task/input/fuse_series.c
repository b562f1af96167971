/* A series in a cell of a table: numbers between blanks or semicolons, as in "0.5 0.7 1.1". */
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/columns.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "task/input/fuse.h"

#include <mica/model.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* How many cells decide whether a column holds series, and the most numbers of a series. */
#define LOOKED_AT 16
#define LONGEST (1 << 20)

#define BETWEEN " ;\t"

/* Numbers of all series, one after another; offsets[i] is the first number of sample i. */
typedef struct lists {
  float *numbers;
  int64_t *offsets, longest;
  size_t count, capacity, cut;
} lists;

static void free_lists(lists *l) {
  free(l->numbers);
  free(l->offsets);
}

/* Reads the number at the beginning of a text, as in a cell of a table, and moves past it. False if it is not a finite
 * decimal number (0x1F and inf are refused). */
static bool next_number(const char **text, double *number) {
  *text += strspn(*text, BETWEEN);
  const mica__cell cell = {.text = *text, .length = strcspn(*text, BETWEEN)};
  *text += cell.length;
  return mica__cell_number(cell, number);
}

static bool is_over(const char *text) { return !text[strspn(text, BETWEEN)]; }

/* How many numbers a text holds; 0 if it holds anything else. */
static size_t count_numbers(const char *text) {
  size_t count = 0;
  double number;
  while (!is_over(text)) {
    if (!next_number(&text, &number)) return 0;
    count++;
  }
  return count;
}

bool mica__fuse_is_series(const mica_dataset *data, size_t column) {
  if (mica_dataset_column(data, column)->kind != MICA_COLUMN_KIND_TEXT || data->store->columns[column].paths)
    return false;
  mica__texts texts = {.data = data, .column = column};
  const uint64_t all = mica_dataset_count(data), most = all < LOOKED_AT ? all : LOOKED_AT;
  bool holds = most > 0;
  while (holds && texts.at < most) holds = mica__texts_read(&texts) == MICA_OK && count_numbers(texts.text) > 1;
  mica__texts_free(&texts);
  return holds;
}

bool mica__fuse_is_text(const mica_run *run, const mica_dataset *data, size_t column) {
  return run && !strcmp(mica_dataset_column(data, column)->name, mica__fuse_settings_of(run).text);
}

/* The first column of series that is not the one in the setting "text"; SIZE_MAX: not found. */
static size_t find_series(const mica_run *run, const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i) != mica__run_find_label(data) && !mica__fuse_is_text(run, data, i) &&
        mica__fuse_is_series(data, i))
      return i;
  return SIZE_MAX;
}

bool mica__fuse_has_series(const mica_run *run, const mica_dataset *data) { return find_series(run, data) != SIZE_MAX; }

/* --- numbers --- */

static mica_status add(lists *l, double number) {
  if (l->count == l->capacity) {
    const size_t capacity = 2 * l->capacity + 256;
    float *grown = realloc(l->numbers, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("series");
    l->numbers = grown;
    l->capacity = capacity;
  }
  l->numbers[l->count++] = (float)number;
  return MICA_OK;
}

/* Adds the first `most` numbers of a sample's text. */
static mica_status add_series(const mica_dataset *data, const mica__texts *texts, int64_t most, lists *l) {
  const uint64_t sample = texts->at - 1, line = mica_dataset_line(data, sample);
  const char *text = texts->text, *name = mica_dataset_column(data, texts->column)->name;
  const size_t before = l->count;
  double number;
  while (!is_over(text) && l->count - before < (size_t)most) {
    if (!next_number(&text, &number))
      return mica__fail(MICA_E_FORMAT, "%s line %llu: number %zu of the series in column \"%s\" is not a finite number",
                        mica_dataset_name(data), (unsigned long long)line, l->count - before + 1, name);
    MICA_TRY(add(l, number));
  }
  if (l->count == before)
    return mica__fail(MICA_E_FORMAT, "%s line %llu: the series in column \"%s\" is empty", mica_dataset_name(data),
                      (unsigned long long)line, name);
  l->cut += !is_over(text);
  if ((int64_t)(l->count - before) > l->longest) l->longest = (int64_t)(l->count - before);
  l->offsets[sample + 1] = (int64_t)l->count;
  return MICA_OK;
}

static mica_status read_lists(const mica_dataset *data, const char *column, int64_t most, lists *l) {
  mica__texts texts = {.data = data, .column = mica_dataset_column_index(data, column)};
  const uint64_t all = mica_dataset_count(data);
  *l = (lists){.offsets = calloc((size_t)all + 1, sizeof *l->offsets)};
  mica_status status = l->offsets ? MICA_OK : mica__fail_nomem("series");
  while (status == MICA_OK && texts.at < all) {
    status = mica__texts_read(&texts);
    if (status == MICA_OK) status = add_series(data, &texts, most, l);
  }
  mica__texts_free(&texts);
  return status;
}

/* --- the part --- */

static mica_status prepare(mica_run *run) {
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  const mica_dataset *data = run->parts->whole;
  MICA_TRY(mica__task_check_heads(mica__common_settings_of(run).model, s.width, s.heads));
  if (!data) return MICA_OK;
  return mica__run_note_text(run, "series_column", mica_dataset_column(data, find_series(run, data))->name);
}

/* Sets the facts with mean, deviation and length of the training part's series. */
static mica_status complete(mica_run *run, const mica_column *label) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  double sum = 0, squares = 0;
  lists l;
  (void)label;
  mica_status status = read_lists(data, mica__fuse_facts_of(run).series_column, LONGEST, &l);
  for (size_t i = 0; status == MICA_OK && i < l.count; i++) sum += (double)l.numbers[i];
  const double mean = l.count ? sum / (double)l.count : 0, longest = (double)l.longest;
  for (size_t i = 0; status == MICA_OK && i < l.count; i++)
    squares += ((double)l.numbers[i] - mean) * ((double)l.numbers[i] - mean);
  const double found = l.count ? sqrt(squares / (double)l.count) : 0, deviation = found > 0 ? found : 1;
  free_lists(&l);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "series_mean", &mean, 1);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "series_deviation", &deviation, 1);
  return status == MICA_OK ? mica__run_note_numbers(run, "series_length", &longest, 1) : status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *name = mica__fuse_facts_of(run).series_column;
  const mica_column *column = mica_dataset_column(data, mica_dataset_column_index(data, name));
  if (column && column->kind == MICA_COLUMN_KIND_TEXT) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of series, which the network was trained on",
                    mica_dataset_name(data), name);
}

/* Adds the column "series"; the dataset owns its memory. */
static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const mica__fuse_facts facts = mica__fuse_facts_of(run);
  mica_dataset *made = NULL;
  lists l;
  (void)part;
  mica_status status = read_lists(data, facts.series_column, (int64_t)facts.series_length, &l);
  const size_t texts = (size_t)mica_dataset_count(data), cut = l.cut;
  const mica_column_data column = {
      .column = {.name = "series", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {MICA_DYNAMIC}}},
      .data = l.numbers,
      .offsets = l.offsets};
  if (status == MICA_OK) status = mica_dataset_derive(data, &column, 1, &made);
  if (status != MICA_OK) {
    free_lists(&l);
    return status;
  }
  status = mica__store_own(made->store, l.numbers, free);
  if (status == MICA_OK)
    status = mica__store_own(made->store, l.offsets, free);
  else
    free(l.offsets);
  if (status == MICA_OK && cut)
    status = mica__run_remark(run,
                              "%zu of %zu series are longer than the longest of training, %g: their ends are not "
                              "read",
                              cut, texts, facts.series_length);
  if (status == MICA_OK)
    *out = made;
  else
    mica_dataset_destroy(made);
  return status;
}

/* The network of the setting "model" over the numbers, one per step. */
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
