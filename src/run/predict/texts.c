/* Reads texts to predict from (lines, tables or datasets), runs them through the network, and shows texts in
 * reports. */
#include "run/predict/texts.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/table/table.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/predict/batches.h"
#include "run/predict/document.h"
#include "run/predict/truths.h"
#include "run/predict/visits.h"
#include "run/run.h"
#include "run/tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* LOOKED_AT: how many samples of a dataset a report runs through the network at most, to choose the few that it shows.
 * SHOWN: the most bytes of a text that a report shows. AT_A_TIME: how many texts the network reads at once. */
#define LOOKED_AT 5000
#define SHOWN 300
#define AT_A_TIME 64
/* Texts are padded to multiples of this many tokens, so that few plans are needed. */
#define PADDED 64

/* Texts as token ids, with their names and true answers. */
typedef struct texts {
  mica__text_samples from;
  mica__ids ids;
  mica_encoding work;
  char **names;
  double *truths; /* `answers` numbers per text; NaN if unknown */
  size_t answers, count, capacity;
} texts;

static void free_texts(texts *t) {
  for (size_t i = 0; i < t->count; i++) free(t->names[i]);
  free(t->names);
  free(t->truths);
  mica__ids_free(&t->ids);
  mica_encoding_free(&t->work);
}

/* Adds a text. It is called "WHERE WHAT NUMBER" in messages, as in "mails.txt line 3", and "WHAT NUMBER" in
 * predictions. */
static mica_status add_text(const mica_run *run, texts *t, const char *where, const char *what, uint64_t number,
                            const char *text, size_t bytes, const double *truths) {
  mica__text name = {0};
  if (t->count == t->capacity) {
    const size_t capacity = 2 * t->capacity + 16;
    char **names = realloc(t->names, capacity * sizeof *names);
    if (names) t->names = names;
    double *grown = names ? realloc(t->truths, capacity * t->answers * sizeof *grown) : NULL;
    if (!grown) return mica__fail_nomem("texts");
    t->truths = grown;
    t->capacity = capacity;
  }
  mica__text_addf(&name, "%s %s %llu", where, what, (unsigned long long)number);
  mica_status status = mica__text_status(&name);
  if (status == MICA_OK)
    status = mica__ids_add(run, name.data, text, bytes, true, t->from.length, true, &t->work, &t->ids);
  if (status == MICA_OK) t->names[t->count] = mica__strdup(name.data + strlen(where) + 1);
  mica__text_free(&name);
  MICA_TRY(status);
  if (!t->names[t->count]) return mica__fail_nomem("texts");
  for (size_t k = 0; k < t->answers; k++) t->truths[t->count * t->answers + k] = truths ? truths[k] : (double)NAN;
  t->count++;
  return MICA_OK;
}

/* --- inference --- */

static mica_status upload(mica_run *run, const texts *t, size_t from, int64_t count, mica_feed feeds[2]) {
  int64_t row = PADDED;
  for (size_t i = from; i < from + (size_t)count; i++)
    while (t->ids.offsets[i + 1] - t->ids.offsets[i] > row) row += PADDED;
  int32_t *ids = calloc((size_t)(count * row), sizeof *ids), *lengths = calloc((size_t)count, sizeof *lengths);
  mica_status status = ids && lengths ? MICA_OK : mica__fail_nomem("texts");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    const int64_t begin = t->ids.offsets[from + (size_t)i];
    lengths[i] = (int32_t)(t->ids.offsets[from + (size_t)i + 1] - begin);
    memcpy(ids + i * row, t->ids.ids + begin, (size_t)lengths[i] * sizeof *ids);
  }
  mica_tensor *tensors[2] = {NULL, NULL};
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(count, row), ids, &tensors[0]);
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(count), lengths, &tensors[1]);
  feeds[0] = (mica_feed){"tokens", tensors[0]};
  feeds[1] = (mica_feed){"tokens.length", tensors[1]};
  free(ids);
  free(lengths);
  return status;
}

/* Calls fn with the texts from `from` on and their outputs. */
static mica_status visit_some(mica_run *run, const texts *t, size_t from, size_t count, mica__sample_fn *fn,
                              void *user) {
  const int64_t width = run->task->head->outputs(run);
  mica_feed feeds[2] = {{0}};
  const mica_batch batch = {.count = (int64_t)count, .tensors = feeds, .tensor_count = 2};
  float *outputs = NULL;
  mica_status status = upload(run, t, from, (int64_t)count, feeds);
  if (status == MICA_OK) status = mica__batch_infer(run, &batch, width, &outputs);
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    const mica__sample sample = {.name = t->names[from + i], .truths = t->truths + (from + i) * t->answers};
    status = fn(run, &sample, outputs + i * (size_t)width, user);
  }
  for (int i = 0; i < 2; i++) mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  free(outputs);
  return status;
}

static mica_status each(mica_run *run, const texts *t, mica__sample_fn *fn, void *user) {
  mica_status status = MICA_OK;
  for (size_t from = 0; status == MICA_OK && from < t->count; from += AT_A_TIME)
    status = visit_some(run, t, from, t->count - from < AT_A_TIME ? t->count - from : AT_A_TIME, fn, user);
  return status;
}

/* --- where texts come from --- */

/* Adds each line as a text, without its line break. */
static mica_status add_lines(const mica_run *run, const char *name, const char *content, size_t size, texts *t) {
  uint64_t line = 0;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(content + at, '\n', size - at);
    const size_t stop = end ? (size_t)(end - content) : size;
    const size_t length = stop - at - (stop > at && content[stop - 1] == '\r');
    MICA_TRY(add_text(run, t, name, "line", ++line, content + at, length, NULL));
    at = stop + 1;
  }
  return t->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is empty", name);
}

/* The columns of a table. */
typedef struct columns {
  size_t text, *answers; /* indices; SIZE_MAX for a column that is missing */
  size_t count;          /* columns of the first record; all others must have the same number */
  bool header;
} columns;

/* The number in a name that consists only of a column number; SIZE_MAX for other names, and for "". */
static size_t position_of(const char *name) {
  return !*name || name[strspn(name, "0123456789")] ? SIZE_MAX : (size_t)strtoul(name, NULL, 10);
}

/* Finds the columns by the names in the first record, or by number if the run's table had no names. False if there is
 * no column of texts or, by number, not every column of answers. */
static bool find_columns(const mica_run *run, const mica__records *r, const char *text, size_t answers, columns *c) {
  bool there = true;
  c->text = SIZE_MAX;
  c->count = r->count;
  c->header = true;
  for (size_t k = 0; k < answers; k++) c->answers[k] = SIZE_MAX;
  for (size_t i = 0; i < r->count; i++) {
    if (mica__cell_is(r->cells[i], text, false)) c->text = i;
    for (size_t k = 0; k < answers; k++)
      if (*mica__truth_name(run, k) && mica__cell_is(r->cells[i], mica__truth_name(run, k), false)) c->answers[k] = i;
  }
  if (c->text != SIZE_MAX) return true;
  c->header = false;
  c->text = position_of(text);
  for (size_t k = 0; k < answers; k++) {
    const char *name = mica__truth_name(run, k);
    c->answers[k] = position_of(name);
    there = there && (!*name || c->answers[k] < r->count);
  }
  return c->text < r->count && there;
}

static mica_status add_record(const mica_run *run, const mica__records *r, const columns *c, texts *t) {
  /* A record with another number of cells is refused. It probably has an unquoted separator in its text, which would be
   * cut off there. */
  if (r->count != c->count)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the rows before have %zu", r->name, r->line,
                      r->count, c->count);
  double *truths = calloc(t->answers + 1, sizeof *truths);
  char *text = malloc(r->cells[c->text].length + 1);
  mica_status status = text && truths ? MICA_OK : mica__fail_nomem("a text");
  for (size_t k = 0; status == MICA_OK && k < t->answers; k++) {
    truths[k] = (double)NAN;
    if (c->answers[k] < r->count) status = mica__truth_of_cell(run, r, &r->cells[c->answers[k]], &truths[k]);
  }
  if (status == MICA_OK) {
    const size_t bytes = mica__cell_unquote(r->cells[c->text], text);
    status = add_text(run, t, r->name, "line", r->line, text, bytes, truths);
  }
  free(text);
  free(truths);
  return status;
}

/* Adds the texts of a table. *table is false, and nothing is added, if the first record shows no column of texts. */
static mica_status add_table(const mica_run *run, mica__records *r, texts *t, bool *table) {
  columns c = {.answers = calloc(t->answers + 1, sizeof *c.answers)};
  bool found = false;
  mica_status status = c.answers ? mica__records_find_delimiter(r) : mica__fail_nomem("a table");
  if (status == MICA_OK) status = mica__records_next(r, &found);
  *table = status == MICA_OK && found && find_columns(run, r, t->from.column, t->answers, &c);
  if (*table && c.header) status = mica__records_next(r, &found);
  while (*table && status == MICA_OK && found) {
    status = add_record(run, r, &c, t);
    if (status == MICA_OK) status = mica__records_next(r, &found);
  }
  free(c.answers);
  if (status != MICA_OK || !*table) return status;
  return t->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s holds no row", r->name);
}

/* Reads a table if the file's name or first line shows that it is one, and otherwise lines. */
static mica_status add_content(const mica_run *run, const char *name, char *content, size_t size, texts *t) {
  const bool must = mica__name_ends(name, ".csv") || mica__name_ends(name, ".tsv");
  const bool may = !mica__name_ends(name, ".txt");
  bool table = false;
  if (!size) return mica__fail(MICA_E_FORMAT, "%s is empty", name);
  if (memchr(content, '\0', size))
    return mica__fail(MICA_E_FORMAT, "%s holds a zero byte; if it is a text in UTF-16, save it as UTF-8", name);
  if (may) {
    mica__records r = mica__records_in(name, content, size);
    mica__attempt_begin();
    mica_status status = add_table(run, &r, t, &table);
    mica__records_free(&r);
    if (status != MICA_OK && (must || table)) return mica__attempt_pass(status);
    mica__attempt_end();
  }
  if (table) return MICA_OK;
  if (must)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts, but the network was trained on it", name,
                      t->from.column);
  return add_lines(run, name, content, size, t);
}

/* Adds the texts of a file, or of the text that was given if path is NULL. */
static mica_status add_given(const mica_run *run, const mica_run_input *input, const char *path, texts *t) {
  mica__document document;
  MICA_TRY(mica__document_read(input, path, &document));
  mica_status status = add_content(run, document.name, document.content, document.size, t);
  free(document.content);
  return status;
}

/* Adds the first `count` samples of a dataset. */
static mica_status add_samples(const mica_run *run, const mica_dataset *data, uint64_t count, texts *t) {
  mica__truths truths = {0};
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, t->from.column)};
  double *truth = calloc(t->answers + 1, sizeof *truth);
  mica_status status = truth ? mica__truths_open(run, data, &truths) : mica__fail_nomem("texts");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    status = mica__texts_read(&walk);
    if (status == MICA_OK) status = mica__truths_read(&truths, i, truth);
    if (status == MICA_OK)
      status = add_text(run, t, mica_dataset_name(data), "sample", i, walk.text, walk.bytes, truth);
  }
  mica__texts_free(&walk);
  mica__truths_close(&truths);
  free(truth);
  return status;
}

static mica_status add_input(mica_run *run, const mica_run_input *input, texts *t) {
  if (input->text) return add_given(run, input, NULL, t);
  for (size_t i = 0; i < input->file_count; i++) MICA_TRY(add_given(run, input, input->files[i], t));
  return t->count ? MICA_OK : mica__fail(MICA_E_INVALID, "give a file, data or a text to predict from");
}

/* --- samples of an input --- */

/* Visits the texts that were added, unless `status` is a failure, and frees them. */
static mica_status visit_all(mica_run *run, texts *t, mica_status status, mica__sample_fn *fn, void *user) {
  if (status == MICA_OK) status = each(run, t, fn, user);
  free_texts(t);
  return status;
}

static mica_status remark_cut(mica_run *run, const texts *t) {
  return mica__run_remark_cut(run, t->ids.cut, t->count, t->from.length);
}

static texts begin(const mica_run *run, const mica__text_samples *from) {
  return (texts){.from = *from, .answers = mica__truth_count(run)};
}

/* What visit_data needs besides the data. */
typedef struct visiting {
  const mica__text_samples *from;
  void *user;
} visiting;

/* A mica__data_visit_fn for mica__visit_data; `user` is a struct visiting. */
static mica_status visit_data(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                              void *user) {
  const visiting *w = user;
  texts t = begin(run, w->from);
  mica_status status = add_samples(run, data, count, &t);
  if (status == MICA_OK) status = remark_cut(run, &t);
  return visit_all(run, &t, status, fn, w->user);
}

mica_status mica__text_samples_visit(mica_run *run, const mica__text_samples *from, const mica_run_input *given,
                                     mica__sample_fn *fn, void *user) {
  visiting w = {from, user};
  if (given->data) return mica__visit_data(run, given, visit_data, fn, &w);
  texts t = begin(run, from);
  mica_status status = add_input(run, given, &t);
  if (status == MICA_OK) status = remark_cut(run, &t);
  return visit_all(run, &t, status, fn, user);
}

mica_status mica__text_samples_look(mica_run *run, const mica__text_samples *from, const mica_dataset *data,
                                    mica__sample_fn *fn, void *user) {
  const uint64_t all = mica_dataset_count(data);
  texts t = begin(run, from);
  mica_status status = add_samples(run, data, all < LOOKED_AT ? all : LOOKED_AT, &t);
  return visit_all(run, &t, status, fn, user);
}

/* Adds at most the first SHOWN bytes of a text, without a part of a character at the end. Spaces replace control
 * characters, which could disturb a terminal. */
static void add_beginning(mica__text *to, const mica__texts *t) {
  size_t bytes = t->bytes < SHOWN ? t->bytes : SHOWN;
  while (bytes < t->bytes && bytes > 0 && ((unsigned char)t->text[bytes] & 0xc0) == 0x80) bytes--;
  for (size_t i = 0; i < bytes; i++) mica__text_add_bytes(to, (unsigned char)t->text[i] < ' ' ? " " : &t->text[i], 1);
  if (bytes < t->bytes) mica__text_add(to, "...");
}

mica_status mica__text_samples_show(const mica__text_samples *from, mica_report *report, const mica_dataset *data,
                                    uint64_t sample, const char *caption) {
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, from->column), .at = sample};
  mica__text text = {0};
  mica_status status = mica__texts_read(&walk);
  if (status == MICA_OK) add_beginning(&text, &walk);
  mica__text_add(&text, "");
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_report_add_text(report, caption, text.data);
  mica__texts_free(&walk);
  mica__text_free(&text);
  return status;
}
