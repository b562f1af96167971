/* Texts to translate, from files, tables and data. */
#include "run/predict/pairs.h"
#include "base/file.h"
#include "base/text.h"
#include "data/source.h"
#include "data/table/table.h"
#include "run/columns/columns.h"
#include "run/predict/visits.h"
#include "run/ranks.h"

#include <stdlib.h>
#include <string.h>

/* A report shows SHOWN evenly spaced texts. A file or text of more than MOST_LINES lines is refused. */
#define SHOWN 12
#define MOST_LINES 1000000

/* State while texts are visited. */
typedef struct walk {
  mica_run *run;
  const mica__pair_samples *pairs;
  mica__sample_fn *fn;
  void *user;
  mica_encoding work;
  mica__ids ids; /* of the current text */
  size_t count;
} walk;

/* Visits a text; it is called "WHERE line NUMBER" in messages and "line NUMBER" where it is shown. */
static mica_status visit_text(walk *w, const char *where, uint64_t number, const char *text, size_t bytes,
                              const char *meaning) {
  mica__text name = {0};
  mica__text_addf(&name, "%s line %llu", where, (unsigned long long)number);
  mica_status status = mica__text_status(&name);
  w->ids.count = w->ids.texts = 0;
  if (status == MICA_OK) status = w->pairs->add(w->run, name.data, text, bytes, &w->work, &w->ids);
  if (status == MICA_OK) {
    const mica__sample sample = {.name = name.data + strlen(where) + 1,
                                 .text = text,
                                 .meaning = meaning,
                                 .bytes = bytes,
                                 .ids = w->ids.ids,
                                 .id_count = w->ids.count};
    status = w->fn(w->run, &sample, NULL, w->user);
  }
  w->count++;
  mica__text_free(&name);
  return status;
}

static void end_walk(walk *w) {
  mica__ids_free(&w->ids);
  mica_encoding_free(&w->work);
}

/* --- data --- */

static mica_status visit_pairs(walk *w, const mica_dataset *data, uint64_t most, mica__pair_choice which) {
  const uint64_t all = mica_dataset_count(data), count = most && most < all ? most : all;
  mica__texts from = mica__texts_of(data, w->pairs->from), to = mica__texts_of(data, w->pairs->to);
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    if (which == MICA__PAIR_CHOICE_OWN && !mica__run_decodes(w->run, i)) continue;
    from.at = to.at = which == MICA__PAIR_CHOICE_FIRST ? i : (uint64_t)((double)i * (double)all / (double)count);
    const uint64_t number = from.at + 1;
    status = mica__texts_read(&from);
    if (status == MICA_OK) status = mica__texts_read(&to);
    if (status == MICA_OK) status = visit_text(w, mica_dataset_name(data), number, from.text, from.bytes, to.text);
  }
  mica__texts_free(&from);
  mica__texts_free(&to);
  return status;
}

mica_status mica__pair_samples_walk(mica_run *run, const mica__pair_samples *pairs, const mica_dataset *data,
                                    uint64_t most, mica__pair_choice which, mica__sample_fn *fn, void *user) {
  walk w = {.run = run, .pairs = pairs, .fn = fn, .user = user};
  mica_status status = visit_pairs(&w, data, most, which);
  end_walk(&w);
  return status;
}

mica_status mica__pair_samples_look(mica_run *run, const mica__pair_samples *pairs, const mica_dataset *data,
                                    mica__sample_fn *fn, void *user) {
  return mica__pair_samples_walk(run, pairs, data, SHOWN, MICA__PAIR_CHOICE_EVEN, fn, user);
}

/* --- lines --- */

/* Visits each line as a text, without its line break. */
static mica_status visit_lines(walk *w, const char *name, const char *content, size_t size) {
  uint64_t line = 0;
  bool any = false;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(content + at, '\n', size - at);
    const size_t stop = end ? (size_t)(end - content) : size;
    const size_t length = stop - at - (stop > at && content[stop - 1] == '\r');
    if (line == MOST_LINES) return mica__fail(MICA_E_FORMAT, "%s has more than %d lines", name, MOST_LINES);
    MICA_TRY(visit_text(w, name, ++line, content + at, length, NULL));
    any = any || length;
    at = stop + 1;
  }
  return any ? MICA_OK
             : mica__fail(MICA_E_FORMAT, "%s is empty, or has only empty lines: there is nothing to translate", name);
}

/* --- tables --- */

/* The text of a cell, freed by the caller; NULL if memory is short. */
static char *cell_text(mica__cell cell) {
  char *text = calloc(1, cell.length + 1);
  if (text) mica__cell_unquote(cell, text);
  return text;
}

/* The positions of the columns of the run's two languages in a table; SIZE_MAX for one that is missing. `header` is
 * true if the first record names them. */
typedef struct sides {
  size_t from, to;
  bool header;
} sides;

/* Sets *at to the column whose name in the first record is `wanted`, or to SIZE_MAX if there is none. */
static mica_status find_named(const mica__records *r, const char *wanted, size_t *at) {
  *at = SIZE_MAX;
  for (size_t i = 0; i < r->count && *at == SIZE_MAX; i++) {
    char *plain = cell_text(r->cells[i]), *name = plain ? mica__name_printable(plain) : NULL;
    const bool same = name && !strcmp(name, wanted);
    const bool made = name != NULL;
    free(plain);
    free(name);
    if (!made) return mica__fail_nomem(r->name);
    if (same) *at = i;
  }
  return MICA_OK;
}

/* Finds the columns of the two languages by name. If the columns of the run's table had no names, finds them by
 * position; the first record may then still name the languages. */
static mica_status find_sides(const mica__pair_samples *pairs, const mica__records *r, sides *s) {
  const char *from = pairs->from, *to = pairs->to;
  if (mica__is_position(from) && mica__is_position(to)) {
    s->from = strtoul(from, NULL, 10);
    s->to = strtoul(to, NULL, 10);
    s->header = true;
    for (size_t i = 0; i < r->count; i++) s->header = s->header && mica__cell_is_language(r->cells[i]);
    if (s->from < r->count) return MICA_OK;
    return mica__fail(MICA_E_FORMAT,
                      "%s line %zu: there is no column %s, counted from 0, but the run translates from it", r->name,
                      r->line, from);
  }
  s->header = true;
  MICA_TRY(find_named(r, from, &s->from));
  MICA_TRY(find_named(r, to, &s->to));
  if (s->from != SIZE_MAX) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s line %zu: there is no column '%s', but the run translates from it; the first row of a table "
                    "names the columns",
                    r->name, r->line, from);
}

static mica_status visit_row(walk *w, const mica__records *r, const sides *s) {
  const bool known = s->to < r->count && r->cells[s->to].length;
  char *source = cell_text(r->cells[s->from]), *truth = known ? cell_text(r->cells[s->to]) : NULL;
  mica_status status = source && (truth || !known) ? visit_text(w, r->name, r->line, source, strlen(source), truth)
                                                   : mica__fail_nomem(r->name);
  free(source);
  free(truth);
  return status;
}

static mica_status visit_rows(walk *w, mica__records *r) {
  sides s = {0};
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &found));
  if (!found)
    return mica__fail(MICA_E_FORMAT,
                      "%s is empty, or has only blank lines and comments (#): there is nothing to translate", r->name);
  const size_t width = r->count;
  MICA_TRY(find_sides(w->pairs, r, &s));
  if (s.header) MICA_TRY(mica__records_next(r, &found));
  if (!found)
    return mica__fail(MICA_E_FORMAT, "%s holds only the names of columns: there is nothing to translate", r->name);
  for (size_t rows = 0; found; rows++) {
    if (rows == MOST_LINES) return mica__fail(MICA_E_FORMAT, "%s has more than %d lines", r->name, MOST_LINES);
    if (r->count != width)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu has %zu columns, but the first row has %zu; a text with commas must be quoted",
                        r->name, r->line, r->count, width);
    MICA_TRY(visit_row(w, r, &s));
    MICA_TRY(mica__records_next(r, &found));
  }
  return mica__run_remark_passed(w->run, r->name, r->passed);
}

static mica_status visit_table(walk *w, const char *name, char *content, size_t size) {
  mica__records records = mica__records_in(name, content, size);
  mica_status status = visit_rows(w, &records);
  mica__records_free(&records);
  return status;
}

/* True for a table, by the ending of its name only, because the lines of a plain text may look like a table. */
static bool is_table(const char *path) {
  static const char *const endings[] = {".csv", ".tsv", ".CSV", ".TSV"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (mica__name_ends(path, endings[i])) return true;
  return false;
}

/* --- what is given --- */

static mica_status visit_file(walk *w, const char *path) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status =
      is_table(path) ? visit_table(w, path, (char *)content, size) : visit_lines(w, path, (const char *)content, size);
  free(content);
  return status;
}

/* A mica__data_visit_fn for mica__visit_data; `user` is a struct walk. */
static mica_status visit_data(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                              void *user) {
  (void)run, (void)fn;
  return visit_pairs(user, data, count, MICA__PAIR_CHOICE_FIRST);
}

static mica_status visit_given(walk *w, const mica_run_input *given) {
  if (given->data) return mica__visit_data(w->run, given, visit_data, w->fn, w);
  if (given->text) return visit_lines(w, given->name ? given->name : "the text", given->text, strlen(given->text));
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_file(w, given->files[i]));
  return MICA_OK;
}

mica_status mica__pair_samples_visit(mica_run *run, const mica__pair_samples *pairs, const mica_run_input *given,
                                     mica__sample_fn *fn, void *user) {
  walk w = {.run = run, .pairs = pairs, .fn = fn, .user = user};
  mica_status status = visit_given(&w, given);
  if (status == MICA_OK) status = mica__run_remark_cut(run, w.ids.cut, w.count, pairs->length);
  end_walk(&w);
  return status;
}
