/* Texts that are classified, and the mistakes that a report shows. */
#include "data/dataset.h"
#include "data/source.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/state/evaluation.h"
#include "run/tokens.h"
#include "task/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Samples of the judged part that are looked at for mistakes, and bytes of a text that are shown. */
#define LOOKED_AT 5000
#define SHOWN 300
#define AT_A_TIME 64
/* Texts are padded to multiples of so many tokens, so that plans are few. */
#define PADDED 64

/* Texts to be classified, as ids. */
typedef struct texts {
  mica__ids ids;
  mica_encoding work;
  char **names;
  int64_t *truths; /* -1: unknown */
  size_t count, capacity;
} texts;

static void free_texts(texts *t) {
  for (size_t i = 0; i < t->count; i++) free(t->names[i]);
  free(t->names);
  free(t->truths);
  mica__ids_free(&t->ids);
  mica_encoding_free(&t->work);
}

/* Adds a text; its name is "WHERE WHAT NUMBER" in sentences, "WHAT NUMBER" in what is predicted. */
static mica_status add_text(const mica_run *run, texts *t, const char *where, const char *what, uint64_t number,
                            const char *text, size_t bytes, int64_t truth) {
  mica__text name = {0};
  if (t->count == t->capacity) {
    const size_t capacity = 2 * t->capacity + 16;
    char **names = realloc(t->names, capacity * sizeof *names);
    if (names) t->names = names;
    int64_t *truths = names ? realloc(t->truths, capacity * sizeof *truths) : NULL;
    if (!truths) return mica__fail_nomem("texts");
    t->truths = truths;
    t->capacity = capacity;
  }
  mica__text_addf(&name, "%s %s %llu", where, what, (unsigned long long)number);
  mica_status status = mica__text_status(&name);
  if (status == MICA_OK)
    status = mica__ids_add(run, name.data, text, bytes, true, (int64_t)mica_run_number(run, "length"), true, &t->work,
                           &t->ids);
  if (status == MICA_OK) t->names[t->count] = mica__strdup(name.data + strlen(where) + 1);
  mica__text_free(&name);
  MICA_TRY(status);
  if (!t->names[t->count]) return mica__fail_nomem("texts");
  t->truths[t->count++] = truth;
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

/* The shares of texts `from` and following. */
static mica_status infer(mica_run *run, const texts *t, size_t from, int64_t count, size_t classes, float *shares) {
  mica_feed feeds[2] = {{0}};
  const mica_batch batch = {.count = count, .tensors = feeds, .tensor_count = 2};
  mica_status status = upload(run, t, from, count, feeds);
  if (status == MICA_OK) status = mica_trainer_predict(run->trainer, &batch);
  if (status == MICA_OK)
    status = mica_tensor_download(mica_engine_queue(run->engine), mica_trainer_output(run->trainer, "shares"), shares,
                                  (size_t)count * classes * sizeof *shares);
  for (int i = 0; i < 2; i++) mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  return status;
}

typedef mica_status share_fn(mica_run *run, const texts *t, size_t text, const float *shares, void *user);

/* Calls fn with the shares of each text. */
static mica_status each(mica_run *run, const texts *t, share_fn *fn, void *user) {
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  float *shares = calloc(AT_A_TIME * classes + 1, sizeof *shares);
  mica_status status = shares ? MICA_OK : mica__fail_nomem("predictions");
  for (size_t from = 0; status == MICA_OK && from < t->count; from += AT_A_TIME) {
    const size_t count = t->count - from < AT_A_TIME ? t->count - from : AT_A_TIME;
    status = infer(run, t, from, (int64_t)count, classes, shares);
    for (size_t i = 0; status == MICA_OK && i < count; i++) status = fn(run, t, from + i, shares + i * classes, user);
  }
  free(shares);
  return status;
}

/* --- where texts come from --- */

/* A text a line, without its end. */
static mica_status add_lines(const mica_run *run, const char *name, const char *content, size_t size, texts *t) {
  uint64_t line = 0;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(content + at, '\n', size - at);
    const size_t stop = end ? (size_t)(end - content) : size;
    const size_t length = stop - at - (stop > at && content[stop - 1] == '\r');
    MICA_TRY(add_text(run, t, name, "line", ++line, content + at, length, -1));
    at = stop + 1;
  }
  return t->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is empty", name);
}

/* The columns of a table. */
typedef struct columns {
  size_t text, label; /* SIZE_MAX: not there */
  size_t count;       /* of the first record, which all others have */
  bool header;
} columns;

/* Finds them by the names of the first record, or by the numbers that stand for names where the run's table had none.
 * False where there are no texts. */
static bool find_columns(const mica_run *run, const mica__records *r, columns *c) {
  const char *text = mica__run_fact_text(run, "text_column"), *label = mica__run_fact_text(run, "label_name");
  *c = (columns){.text = SIZE_MAX, .label = SIZE_MAX, .count = r->count, .header = true};
  for (size_t i = 0; i < r->count; i++) {
    if (mica__cell_is(r->cells[i], text, false)) c->text = i;
    if (mica__cell_is(r->cells[i], label, false)) c->label = i;
  }
  if (c->text != SIZE_MAX) return true;
  c->header = false;
  if (text[strspn(text, "0123456789")] || label[strspn(label, "0123456789")]) return false;
  c->text = strtoul(text, NULL, 10);
  c->label = strtoul(label, NULL, 10);
  return c->text < r->count && c->label < r->count;
}

static mica_status add_record(const mica_run *run, const mica__records *r, const columns *c, texts *t) {
  size_t classes = 0;
  const char *const *names = mica_run_fact(run, "classes", &classes);
  char *cell = NULL;
  size_t capacity = 0;
  int64_t truth = -1;
  /* A separator within a text that is not quoted would cut it off. */
  if (r->count != c->count)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, those before have %zu", r->name, r->line, r->count,
                      c->count);
  if (c->label < r->count && !mica__cell_is_empty(r->cells[c->label])) {
    size_t index = 0;
    const bool missing = mica__cell_is_missing(r->cells[c->label]);
    MICA_TRY(mica__run_find_class(&r->cells[c->label], names, classes, &cell, &capacity, &index));
    truth = index == classes && missing ? -1 : (int64_t)index;
    if ((size_t)truth == classes)
      mica__fail(MICA_E_FORMAT, "%s line %zu: the class '%s' is none of the %zu that the network was trained on",
                 r->name, r->line, cell, classes);
    free(cell);
    if ((size_t)truth == classes) return MICA_E_FORMAT;
  }
  char *text = malloc(r->cells[c->text].length + 1);
  if (!text) return mica__fail_nomem("a text");
  const size_t bytes = mica__cell_unquote(r->cells[c->text], text);
  mica_status status = add_text(run, t, r->name, "line", r->line, text, bytes, truth);
  free(text);
  return status;
}

/* *table is false where the first record names no column of texts. */
static mica_status add_table(const mica_run *run, mica__records *r, texts *t, bool *table) {
  columns c;
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &found));
  *table = found && find_columns(run, r, &c);
  if (!*table) return MICA_OK;
  if (c.header) MICA_TRY(mica__records_next(r, &found));
  for (; found;) {
    MICA_TRY(add_record(run, r, &c, t));
    MICA_TRY(mica__records_next(r, &found));
  }
  return t->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s holds no row", r->name);
}

/* A table where the name or the first line says so, else lines. */
static mica_status add_content(const mica_run *run, const char *name, char *content, size_t size, texts *t) {
  const bool must = mica__name_ends(name, ".csv") || mica__name_ends(name, ".tsv");
  const bool may = !mica__name_ends(name, ".txt");
  bool table = false;
  if (!size) return mica__fail(MICA_E_FORMAT, "%s is empty", name);
  if (memchr(content, '\0', size)) return mica__fail(MICA_E_FORMAT, "%s is no text", name);
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
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts, which the network was trained on", name,
                      mica__run_fact_text(run, "text_column"));
  return add_lines(run, name, content, size, t);
}

static mica_status add_file(const mica_run *run, const char *path, texts *t) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = add_content(run, path, (char *)content, size, t);
  free(content);
  return status;
}

/* Samples `from` and following of a dataset. */
static mica_status add_samples(const mica_run *run, const mica_dataset *data, uint64_t count, texts *t) {
  int32_t *map = NULL;
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, mica__run_fact_text(run, "text_column"))};
  mica_status status = mica__run_map_classes(run, data, &map);
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    const int32_t label = mica_dataset_label(data, i);
    status = mica__texts_read(&walk);
    if (status == MICA_OK)
      status = add_text(run, t, mica_dataset_name(data), "sample", i, walk.text, walk.bytes,
                        label < 0 || !map ? label : map[label]);
  }
  mica__texts_free(&walk);
  free(map);
  return status;
}

static mica_status add_part(mica_run *run, const mica_run_input *input, texts *t) {
  mica_dataset *data = NULL;
  bool all = false;
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &all, &data));
  const uint64_t there = mica_dataset_count(data);
  mica_status status = run->task->fits(run, data);
  if (status == MICA_OK)
    status =
        add_samples(run, data, input->count > 0 && (uint64_t)input->count < there ? (uint64_t)input->count : there, t);
  mica_dataset_destroy(data);
  return status;
}

static mica_status add_input(mica_run *run, const mica_run_input *input, texts *t) {
  if (input->data) return add_part(run, input, t);
  if (!input->text) {
    for (size_t i = 0; i < input->file_count; i++) MICA_TRY(add_file(run, input->files[i], t));
    return t->count ? MICA_OK : mica__fail(MICA_E_INVALID, "there is nothing to predict from");
  }
  char *copy = mica__strdup(input->text);
  if (!copy) return mica__fail_nomem("a text");
  mica_status status = add_content(run, input->name ? input->name : "the text", copy, strlen(copy), t);
  free(copy);
  return status;
}

/* --- predictions --- */

typedef struct prediction {
  mica_report *report;
  int64_t top;
} prediction;

static mica_status add_prediction(mica_run *run, const texts *t, size_t text, const float *shares, void *user) {
  const prediction *p = user;
  const char *const *names = mica_run_fact(run, "classes", NULL);
  MICA_TRY(mica_report_begin(p->report, t->names[text]));
  if (t->truths[text] >= 0) MICA_TRY(mica_report_add_text(p->report, "truth", names[t->truths[text]]));
  return mica__run_add_choices(run, p->report, shares, p->top);
}

mica_status mica__text_predict(mica_run *run, const mica_run_input *input, mica_report *report) {
  prediction p = {report, input->top > 0 ? input->top : 3};
  texts t = {0};
  mica_status status = add_input(run, input, &t);
  if (status == MICA_OK)
    status = mica__run_remark_cut(run, t.ids.cut, t.count, (int64_t)mica_run_number(run, "length"));
  if (status == MICA_OK) status = each(run, &t, add_prediction, &p);
  free_texts(&t);
  return status;
}

/* --- the report --- */

typedef struct mistakes {
  mica__mistake list[MICA__MISTAKES];
  size_t count;
} mistakes;

static mica_status find_mistake(mica_run *run, const texts *t, size_t text, const float *shares, void *user) {
  mistakes *m = user;
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  const int64_t guess = mica__likeliest(shares, (int64_t)classes, 0), truth = t->truths[text];
  if (truth >= 0 && truth != guess)
    mica__mistake_add(m->list, &m->count, (mica__mistake){text, guess, truth, shares[guess]});
  return MICA_OK;
}

/* The beginning of a text, without what would command a terminal or cut a character. */
static void add_beginning(mica__text *to, const mica__texts *t) {
  size_t bytes = t->bytes < SHOWN ? t->bytes : SHOWN;
  while (bytes < t->bytes && bytes > 0 && ((unsigned char)t->text[bytes] & 0xc0) == 0x80) bytes--;
  for (size_t i = 0; i < bytes; i++) mica__text_add_bytes(to, (unsigned char)t->text[i] < ' ' ? " " : &t->text[i], 1);
  if (bytes < t->bytes) mica__text_add(to, "...");
}

static mica_status add_mistake(mica_run *run, const mica__mistake *m, const char *const *names, mica_report *report) {
  mica__texts walk = {.data = run->evaluation->data,
                      .column =
                          mica_dataset_column_index(run->evaluation->data, mica__run_fact_text(run, "text_column")),
                      .at = m->sample};
  mica__text text = {0}, name = {0};
  mica_status status = mica__texts_read(&walk);
  mica__text_addf(&name, "%s, taken for %s (%.1f %%)", names[m->truth], names[m->guess], 100 * (double)m->share);
  if (status == MICA_OK) add_beginning(&text, &walk);
  mica__text_add(&text, "");
  if (status == MICA_OK) status = mica__text_status(&name);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_report_add_text(report, name.data, text.data);
  mica__texts_free(&walk);
  mica__text_free(&text);
  mica__text_free(&name);
  return status;
}

static mica_status add_mistakes(mica_run *run, mica_report *report) {
  const uint64_t all = mica_dataset_count(run->evaluation->data);
  const char *const *names = mica_run_fact(run, "classes", NULL);
  mistakes m = {.count = 0};
  texts t = {0};
  mica_status status = add_samples(run, run->evaluation->data, all < LOOKED_AT ? all : LOOKED_AT, &t);
  if (status == MICA_OK) status = each(run, &t, find_mistake, &m);
  free_texts(&t);
  if (status == MICA_OK && m.count) status = mica_report_begin(report, "Wrong with the most confidence");
  for (size_t i = 0; status == MICA_OK && i < m.count; i++) status = add_mistake(run, &m.list[i], names, report);
  return status;
}

mica_status mica__text_report(mica_run *run, mica_report *report) {
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  if (classes > MOST_CONFUSED) return MICA_OK;
  MICA_TRY(mica__run_report_classes(run, "Classes", report));
  return add_mistakes(run, report);
}
