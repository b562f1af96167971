/* What a trained network translates: scored, for the user, and in reports. */
#include "run/columns/columns.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/ranks.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "task/input/pairs.h"

#include "base/file.h"
#include "base/text.h"
#include "data/source.h"
#include "data/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Texts of a part that BLEU is of at most, at even distances; and those that a report shows. */
#define JUDGED 3000
#define SHOWN 12
/* Texts of a user's that are translated together. */
#define MOST_LINES 1000000

/* Texts to be translated, as they were and as ids, and what they mean where that is known. */
typedef struct texts {
  mica__ids ids;
  mica_encoding work;
  char **names, **sources, **truths; /* truths NULL, or each one */
  size_t count, capacity;
} texts;

static void free_texts(texts *t) {
  for (size_t i = 0; i < t->count; i++) {
    free(t->names[i]);
    free(t->sources[i]);
    free(t->truths[i]);
  }
  free(t->names);
  free(t->sources);
  free(t->truths);
  mica__ids_free(&t->ids);
  mica_encoding_free(&t->work);
}

static mica_status make_room(texts *t) {
  if (t->count < t->capacity) return MICA_OK;
  const size_t capacity = 2 * t->capacity + 64;
  char ***lists[] = {&t->names, &t->sources, &t->truths};
  for (int i = 0; i < 3; i++) {
    char **grown = realloc(*lists[i], capacity * sizeof **lists[i]);
    if (!grown) return mica__fail_nomem("texts");
    *lists[i] = grown;
  }
  t->capacity = capacity;
  return MICA_OK;
}

/* Adds a text; "WHERE WHAT NUMBER" is its name in sentences, "WHAT NUMBER" in what is shown. */
static mica_status add_text(const mica_run *run, texts *t, const char *where, const char *what, uint64_t number,
                            const char *text, size_t bytes, const char *truth) {
  mica__text name = {0}, source = {0};
  MICA_TRY(make_room(t));
  mica__text_addf(&name, "%s %s %llu", where, what, (unsigned long long)number);
  mica__text_add_bytes(&source, text, bytes);
  mica__text_add(&source, "");
  mica_status status = mica__text_status(&name);
  if (status == MICA_OK) status = mica__text_status(&source);
  if (status == MICA_OK) status = mica__translate_add(run, name.data, text, bytes, &t->work, &t->ids);
  char *shown = status == MICA_OK ? mica__strdup(name.data + strlen(where) + 1) : NULL;
  char *meant = status == MICA_OK && truth ? mica__strdup(truth) : NULL;
  mica__text_free(&name);
  if (status == MICA_OK && (!shown || (truth && !meant))) status = mica__fail_nomem("texts");
  if (status != MICA_OK) {
    free(shown);
    free(meant);
    mica__text_free(&source);
    return status;
  }
  t->names[t->count] = shown;
  t->sources[t->count] = source.data;
  t->truths[t->count++] = meant;
  return MICA_OK;
}

/* Which of a dataset's pairs: the first ones, some at even distances, or of these the rank's own. */
typedef enum pairs { PAIRS_FIRST, PAIRS_EVEN, PAIRS_OWN } pairs;

/* Adds `most` of a dataset's pairs (0: all). */
static mica_status add_pairs(const mica_run *run, const mica_dataset *data, uint64_t most, pairs which, texts *t) {
  const uint64_t all = mica_dataset_count(data), count = most && most < all ? most : all;
  mica__texts from = {.data = data, .column = mica__translate_column(data, mica__run_fact_text(run, "from"))};
  mica__texts to = {.data = data, .column = mica__translate_column(data, mica__run_fact_text(run, "to"))};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    if (which == PAIRS_OWN && !mica__run_decodes(run, i)) continue;
    from.at = to.at = which == PAIRS_FIRST ? i : (uint64_t)((double)i * (double)all / (double)count);
    const uint64_t number = from.at + 1;
    status = mica__texts_read(&from);
    if (status == MICA_OK) status = mica__texts_read(&to);
    if (status == MICA_OK)
      status = add_text(run, t, mica_dataset_name(data), "line", number, from.text, from.bytes, to.text);
  }
  mica__texts_free(&from);
  mica__texts_free(&to);
  return status;
}

/* --- scores --- */

/* The counts of all ranks' translations. */
static mica_status join(const mica_run *run, mica_bleu *sums) {
  int64_t all[2 * MICA_BLEU_ORDER + 2] = {sums->length, sums->reference_length};
  int64_t *counts = all + 2, *totals = counts + MICA_BLEU_ORDER;
  memcpy(counts, sums->counts, sizeof sums->counts);
  memcpy(totals, sums->totals, sizeof sums->totals);
  MICA_TRY(mica__run_add_ranks(run, all, sizeof all / sizeof *all));
  memcpy(sums->counts, counts, sizeof sums->counts);
  memcpy(sums->totals, totals, sizeof sums->totals);
  sums->length = all[0];
  sums->reference_length = all[1];
  return MICA_OK;
}

static mica_status score(mica_run *run, const texts *t, int64_t beams, double *bleu) {
  mica__translations made;
  mica_bleu sums = {.length = 0};
  MICA_TRY(mica__translate(run, &t->ids, beams, mica_run_number(run, "length-penalty"), &made));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < t->count; i++)
    status = mica_bleu_add(&sums, made.texts[i], (const char *const *)&t->truths[i], 1, NULL);
  if (status == MICA_OK) status = join(run, &sums);
  *bleu = mica_bleu_score(&sums, NULL, NULL);
  mica__translations_free(&made);
  return status;
}

/* An epoch is judged by greedy translations of some texts; a part that is evaluated by all of its, and by beams too. */
mica_status mica__translate_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const int64_t beams = (int64_t)mica_run_number(run, "beam");
  const mica_dataset *data = run->evaluation->data ? run->evaluation->data : run->parts->at[MICA_PART_VALIDATION].data;
  texts t = {.count = 0};
  double bleu = 0;
  (void)source;
  MICA_TRY(mica_metrics_add(m, "perplexity", exp(m->loss)));
  if (!data) return MICA_OK;
  mica_status status = add_pairs(
      run, data, run->evaluation->data ? JUDGED : (uint64_t)mica_run_number(run, "bleu-samples"), PAIRS_OWN, &t);
  if (status == MICA_OK) status = score(run, &t, 1, &bleu);
  if (status == MICA_OK) status = mica_metrics_add(m, "bleu", bleu);
  if (status == MICA_OK && run->evaluation->data && beams > 1) {
    status = score(run, &t, beams, &bleu);
    if (status == MICA_OK) status = mica_metrics_add(m, "bleu_beam", bleu);
  }
  free_texts(&t);
  return status;
}

/* --- predictions --- */

static mica_status add_translation(mica_report *p, const texts *t, const mica__translations *made, size_t i) {
  MICA_TRY(mica_report_begin(p, t->names[i]));
  MICA_TRY(mica_report_add_text(p, "source", t->sources[i]));
  MICA_TRY(mica_report_add_text(p, "translation", made->texts[i]));
  if (t->truths[i]) MICA_TRY(mica_report_add_text(p, "truth", t->truths[i]));
  return *made->texts[i] ? mica_report_add_number(p, "score", made->scores[i]) : MICA_OK;
}

/* A text a line, without its end. */
static mica_status add_lines(const mica_run *run, const char *name, const char *content, size_t size, texts *t) {
  uint64_t line = 0;
  bool any = false;
  for (size_t at = 0; at < size;) {
    const char *end = memchr(content + at, '\n', size - at);
    const size_t stop = end ? (size_t)(end - content) : size;
    const size_t length = stop - at - (stop > at && content[stop - 1] == '\r');
    if (line == MOST_LINES) return mica__fail(MICA_E_FORMAT, "%s has more than %d lines", name, MOST_LINES);
    MICA_TRY(add_text(run, t, name, "line", ++line, content + at, length, NULL));
    any = any || length;
    at = stop + 1;
  }
  return any ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is empty: there is nothing to translate", name);
}

/* --- tables --- */

/* A cell as the text that it is, the caller's to free; NULL: the host has no memory. */
static char *cell_text(mica__cell cell) {
  char *text = calloc(1, cell.length + 1);
  if (text) mica__cell_unquote(cell, text);
  return text;
}

/* Where the columns of the run's two languages are in a table; SIZE_MAX: not there. `header` is true where the first
 * record names them. */
typedef struct sides {
  size_t from, to;
  bool header;
} sides;

/* The column that the first record gives a name. */
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

/* A run of columns without names takes them by their positions; the first record may name languages all the same. */
static mica_status find_sides(const mica_run *run, const mica__records *r, sides *s) {
  const char *from = mica__run_fact_text(run, "from"), *to = mica__run_fact_text(run, "to");
  if (mica__is_position(from) && mica__is_position(to)) {
    s->from = strtoul(from, NULL, 10);
    s->to = strtoul(to, NULL, 10);
    s->header = true;
    for (size_t i = 0; i < r->count; i++) s->header = s->header && mica__cell_is_language(r->cells[i]);
    if (s->from < r->count) return MICA_OK;
    return mica__fail(MICA_E_FORMAT,
                      "%s line %zu: there is no column %s, counted from 0, which the run translates from", r->name,
                      r->line, from);
  }
  s->header = true;
  MICA_TRY(find_named(r, from, &s->from));
  MICA_TRY(find_named(r, to, &s->to));
  if (s->from != SIZE_MAX) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s line %zu: there is no column '%s', which the run translates from; the first line of a table "
                    "names the columns",
                    r->name, r->line, from);
}

static mica_status add_row(const mica_run *run, const mica__records *r, const sides *s, texts *t) {
  const bool known = s->to < r->count && r->cells[s->to].length;
  char *source = cell_text(r->cells[s->from]), *truth = known ? cell_text(r->cells[s->to]) : NULL;
  mica_status status = source && (truth || !known)
                           ? add_text(run, t, r->name, "line", r->line, source, strlen(source), truth)
                           : mica__fail_nomem(r->name);
  free(source);
  free(truth);
  return status;
}

static mica_status add_rows(mica_run *run, mica__records *r, texts *t) {
  sides s = {0};
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s is empty: there is nothing to translate", r->name);
  const size_t width = r->count;
  MICA_TRY(find_sides(run, r, &s));
  if (s.header) MICA_TRY(mica__records_next(r, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s holds the names of columns alone: nothing to translate", r->name);
  for (size_t rows = 0; found; rows++) {
    if (rows == MOST_LINES) return mica__fail(MICA_E_FORMAT, "%s has more than %d lines", r->name, MOST_LINES);
    if (r->count != width)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu has %zu columns, the first one %zu; a text that has commas in it is quoted",
                        r->name, r->line, r->count, width);
    MICA_TRY(add_row(run, r, &s, t));
    MICA_TRY(mica__records_next(r, &found));
  }
  return mica__run_remark_passed(run, r->name, r->passed);
}

static mica_status add_table(mica_run *run, const char *name, char *content, size_t size, texts *t) {
  mica__records records = mica__records_in(name, content, size);
  mica_status status = add_rows(run, &records, t);
  mica__records_free(&records);
  return status;
}

/* True by the ending alone: what is in a plain text may look like a table. */
static bool is_table(const char *path) {
  static const char *const endings[] = {".csv", ".tsv", ".CSV", ".TSV"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (mica__name_ends(path, endings[i])) return true;
  return false;
}

/* --- what is given --- */

static mica_status add_file(mica_run *run, const char *path, texts *t) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = is_table(path) ? add_table(run, path, (char *)content, size, t)
                                      : add_lines(run, path, (const char *)content, size, t);
  free(content);
  return status;
}

static mica_status add_data(mica_run *run, const mica_run_input *input, texts *t) {
  mica_dataset *data = NULL;
  bool whole = false;
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &whole, &data));
  mica_status status = run->task->fits(run, data);
  if (status == MICA_OK) status = add_pairs(run, data, (uint64_t)input->count, PAIRS_FIRST, t);
  mica_dataset_destroy(data);
  return status;
}

static mica_status add_input(mica_run *run, const mica_run_input *input, texts *t) {
  if (input->data) return add_data(run, input, t);
  if (input->text) return add_lines(run, input->name ? input->name : "the text", input->text, strlen(input->text), t);
  for (size_t i = 0; i < input->file_count; i++) MICA_TRY(add_file(run, input->files[i], t));
  return MICA_OK;
}

mica_status mica__translate_predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  const bool given = input->length_penalty != 0 || signbit(input->length_penalty);
  const double penalty = given ? fabs(input->length_penalty) : mica_run_number(run, "length-penalty");
  mica__translations made = {0};
  texts t = {.count = 0};
  mica_status status = add_input(run, input, &t);
  const int64_t most = (int64_t)mica_run_number(run, "length") - 1;
  if (status == MICA_OK) status = mica__run_remark_cut(run, t.ids.cut, t.count, most);
  if (status == MICA_OK) status = mica__translate(run, &t.ids, input->beams ? input->beams : 1, penalty, &made);
  for (size_t i = 0; status == MICA_OK && i < t.count; i++) status = add_translation(p, &t, &made, i);
  mica__translations_free(&made);
  free_texts(&t);
  return status;
}

mica_status mica__translate_answers(mica_run *run) {
  mica__translations made = {0};
  texts t = {.count = 0};
  mica_status status = add_pairs(run, run->evaluation->data, 1, PAIRS_FIRST, &t);
  if (status == MICA_OK) status = mica__translate(run, &t.ids, 1, 0, &made);
  mica__translations_free(&made);
  free_texts(&t);
  return status;
}

/* --- the report --- */

mica_status mica__translate_report(mica_run *run, mica_report *report) {
  static const char *const columns[] = {"source", "truth", "translation"};
  mica__translations made = {0};
  const char *cells[3 * SHOWN];
  texts t = {.count = 0};
  mica_status status = add_pairs(run, run->evaluation->data, SHOWN, PAIRS_EVEN, &t);
  if (status == MICA_OK) status = mica__translate(run, &t.ids, 1, 0, &made);
  for (size_t i = 0; status == MICA_OK && i < t.count; i++) {
    cells[3 * i] = t.sources[i];
    cells[3 * i + 1] = t.truths[i];
    cells[3 * i + 2] = made.texts[i];
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "translations",
                           .rows = t.count,
                           .columns = 3,
                           .column_names = columns,
                           .texts = cells};
  if (status == MICA_OK) status = mica_report_begin(report, "Translations");
  if (status == MICA_OK) status = mica_report_add(report, &table);
  if (status == MICA_OK && t.count) status = mica__translate_show_attention(run, t.sources[0], made.texts[0], report);
  mica__translations_free(&made);
  free_texts(&t);
  return status;
}
