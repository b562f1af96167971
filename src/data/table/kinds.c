/* Infers the kinds of a table's columns from their cells: numbers, classes, texts or times. */
#include "base/text.h"
#include "data/table/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Up to this many different texts are classes if each occurs TEXT_REPEATS times on average. */
#define MANY_TEXTS 1000
/* Unless config->classes is set, a label column of whole numbers from 0 up holds classes only if it has at most this
 * many different ones, or if some are padded with zeros. */
#define MOST_NUMBERS 30
/* A column with a longer cell than this holds texts instead of classes. */
#define LONGEST_CLASS 100

mica_status mica__schema_fail_columns(const mica__inference *in) {
  return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the rows before have %zu", in->records->name,
                    in->records->line, in->records->count, in->schema->columns);
}

static void note_first(mica__cells *of, mica__cell cell, size_t line) {
  if (of->count++) return;
  of->line = line;
  snprintf(of->first, sizeof of->first, "%.*s", mica__cell_shown(cell), cell.text);
}

static mica_status keep_value(mica__column_seen *c, double value) {
  if (c->numbers > c->capacity) {
    const size_t capacity = c->capacity ? 2 * c->capacity : 1024;
    double *grown = realloc(c->values, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a column");
    c->values = grown;
    c->capacity = capacity;
  }
  c->values[c->numbers - 1] = value;
  return MICA_OK;
}

static mica_status note_cell(mica__inference *in, mica__column_seen *c, mica__cell cell, bool every) {
  double value;
  int64_t seconds;
  if (cell.length > c->longest) c->longest = cell.length;
  if (mica__cell_number(cell, &value)) {
    c->numbers++;
    c->codes += mica__cell_is_code(cell);
    c->padded += mica__cell_is_padded(cell);
    c->days += mica__cell_day(cell, &seconds);
    c->sum += value;
    c->least = c->numbers == 1 ? value : fmin(c->least, value);
    c->most = c->numbers == 1 ? value : fmax(c->most, value);
    c->whole = c->whole && value >= 0 && value == floor(value);
    c->fraction = c->fraction || value != floor(value);
    if (value != 0 && value != 1) note_first(&c->no_flags, cell, in->records->line);
    if (c->numbers_rows) MICA_TRY(keep_value(c, value));
    if (!every) return MICA_OK;
  } else if (mica__cell_is_empty(cell)) {
    note_first(&c->missing, cell, in->records->line);
    return MICA_OK;
  } else if (mica__cell_is_missing(cell)) {
    note_first(&c->words, cell, in->records->line);
    MICA_TRY(mica__class_name(cell, true, &in->name, &in->capacity));
    return mica__dictionary_add(&c->word_names, in->name);
  } else {
    if (!c->texts.count) {
      MICA_TRY(mica__class_name(cell, true, &in->name, &in->capacity));
      c->holds = mica__file_holds(in->name);
      c->found = c->holds && mica__table_finds(in->records->name, in->name);
    }
    note_first(&c->texts, cell, in->records->line);
    c->times += mica__cell_time(cell, &seconds);
    if (mica__cell_is_no_date(cell)) note_first(&c->no_dates, cell, in->records->line);
    c->commas += mica__cell_has_comma(cell);
    c->huge += mica__cell_is_numeric(cell, &value);
  }
  if (c->seen.count > MICA__MAX_CLASSES || (!every && (c->seen.count > MANY_TEXTS || cell.length > LONGEST_CLASS)))
    return MICA_OK;
  MICA_TRY(mica__class_name(cell, false, &in->name, &in->capacity));
  return mica__dictionary_add(&c->seen, in->name);
}

/* In a column of names, words such as NA are names too, although they usually mean a missing cell. In other columns
 * they are missing cells. */
static mica_status decide_words(mica__inference *in, mica__field *field, mica__column_seen *c) {
  const bool alone = c->texts.count == 0 && (c->word_names.count < 2 || c->numbers > 0);
  const bool names = !alone && (c->numbers == 0 || field->label) && !(field->label && in->config->regression);
  mica__cells *to = names ? &c->texts : &c->missing;
  if (!c->words.count) return MICA_OK;
  if (to->count == 0 || c->words.line < to->line) {
    const size_t count = to->count;
    *to = c->words;
    to->count = count;
  }
  to->count += c->words.count;
  if (!names) return MICA_OK;
  for (int32_t i = 0; i < c->word_names.count; i++) MICA_TRY(mica__dictionary_add(&c->seen, c->word_names.names[i]));
  mica__text text = {0};
  for (int32_t i = 0; i < c->word_names.count && i < 5; i++)
    mica__text_addf(&text, i ? ", '%s'" : "'%s'", c->word_names.names[i]);
  field->words = text.data;
  field->has_words = true;
  return mica__text_status(&text);
}

/* True if the current record lacks one of its several labels. */
static bool lacks_answer(const mica__inference *in) {
  const mica__records *r = in->records;
  for (size_t i = 0; i < in->schema->count && i < r->count; i++)
    if (in->schema->fields[i].label && mica__cell_is_missing(r->cells[i])) return true;
  return false;
}

/* Walks over all records and counts the sorts of cells in each column. */
static mica_status count_cells(mica__inference *in) {
  mica__records *r = in->records;
  bool found = false;
  for (size_t i = 0; i < in->schema->count; i++) {
    mica__column_seen *c = &in->columns[i];
    c->whole = true;
    c->numbers_rows = in->schema->header && (c->unnamed || mica__is_index_name(in->schema->fields[i].name));
  }
  mica__records_rewind(r);
  if (in->schema->header) MICA_TRY(mica__records_next(r, &found));
  for (;;) {
    MICA_TRY(mica__records_next(r, &found));
    if (!found) break;
    if (r->count != in->schema->columns) return mica__schema_fail_columns(in);
    in->schema->unlabelled += in->schema->answers && lacks_answer(in);
    for (size_t i = 0; i < in->schema->count; i++)
      MICA_TRY(note_cell(in, &in->columns[i], r->cells[in->schema->fields[i].at], in->schema->fields[i].label));
    in->schema->samples++;
  }
  in->schema->passed = r->passed;
  return in->schema->samples > 0 ? MICA_OK
                                 : mica__fail(MICA_E_FORMAT, "%s holds no samples, only the names of columns", r->name);
}

/* True for texts, possibly with a number among them, that hardly ever repeat: they are not classes, unless the user
 * names the column so. */
static bool are_no_classes(const mica__inference *in, const mica__column_seen *c) {
  return c->texts.count > 10 * c->numbers && c->seen.count > FEW_TEXTS &&
         (size_t)c->seen.count * TEXT_REPEATS > in->schema->samples;
}

/* A list of "ham<tab>message" without a header has its classes first: the label is the only column with few different
 * texts. */
static void choose_label(mica__inference *in) {
  mica__field *last = &in->schema->fields[in->schema->count - 1];
  size_t found = 0, at = 0;
  if (in->schema->header || !in->label_is_last || in->config->regression ||
      !are_no_classes(in, &in->columns[in->schema->count - 1]))
    return;
  for (size_t i = 0; i + 1 < in->schema->count; i++) {
    const mica__column_seen *c = &in->columns[i];
    if (c->numbers || !c->texts.count || c->missing.count || c->seen.count > FEW_TEXTS || c->longest > LONGEST_CLASS)
      continue;
    if ((size_t)c->seen.count * TEXT_REPEATS <= in->schema->samples) found++, at = i;
  }
  if (found != 1) return;
  last->label = false;
  in->schema->fields[at].label = true;
  in->label_is_last = false;
}

/* Fails because a column holds a text, or a number beyond the range of f32. hints: the message also says how texts
 * can become classes. */
static mica_status fail_text(const mica__inference *in, const mica__field *field, const mica__column_seen *c,
                             bool hints) {
  const bool label = hints && !in->config->label_column;
  const char *first = c->texts.first, *infinity = first + (*first == '-' || *first == '+');
  double value;
  if (mica__cell_is_numeric((mica__cell){.text = first, .length = strlen(first)}, &value) ||
      !strcasecmp(infinity, "inf") || !strcasecmp(infinity, "infinity"))
    return mica__fail(MICA_E_FORMAT,
                      "%s line %zu: column \"%s\" holds \"%s\" instead of a number from -3.4e38 to 3.4e38",
                      in->records->name, c->texts.line, field->name, first);
  return mica__fail(
      MICA_E_FORMAT, "%s line %zu: column \"%s\" holds \"%s\" instead of a number%s%s%s%s", in->records->name,
      c->texts.line, field->name, first, label ? "; if these are the classes, --label names the column" : "",
      hints ? "; if they are classes of an input, --kinds " : "", hints ? field->name : "", hints ? "=class" : "");
}

/* True if some whole numbers of a column begin with a zero (007, a postal code): all of its cells are then names. */
static bool holds_codes(const mica__column_seen *c) { return c->padded > 0 && c->whole && c->texts.count == 0; }

/* Walks again over columns of inputs that hold codes, to count the names. */
static mica_status note_codes(mica__inference *in) {
  mica__records *r = in->records;
  bool found = false, wanted = false;
  for (size_t i = 0; i < in->schema->count; i++)
    wanted = wanted || (!in->schema->fields[i].label && holds_codes(&in->columns[i]));
  mica__records_rewind(r);
  if (in->schema->header) MICA_TRY(mica__records_next(r, &found));
  while (wanted) {
    MICA_TRY(mica__records_next(r, &found));
    if (!found) break;
    for (size_t i = 0; i < in->schema->count && i < r->count; i++) {
      mica__column_seen *c = &in->columns[i];
      if (in->schema->fields[i].label || !holds_codes(c) || c->seen.count > MANY_TEXTS) continue;
      MICA_TRY(mica__class_name(r->cells[i], true, &in->name, &in->capacity));
      MICA_TRY(mica__dictionary_add(&c->seen, in->name));
    }
  }
  return MICA_OK;
}

/* True if all cells have the form of dates, and most of these dates exist. */
static bool are_dates(const mica__column_seen *c, size_t filled) {
  return c->times > c->no_dates.count && c->times + c->no_dates.count == filled;
}

/* True if all cells with a value are days of eight digits (20260131). A single one could be any number. */
static bool are_days(const mica__column_seen *c, size_t filled) { return c->days == filled && filled > 1; }

/* True if labels are numbers to be predicted rather than classes; -1 and 1, or 1.0 and 2.0, are classes. */
static bool are_to_be_predicted(const mica__column_seen *c, bool classes) {
  if (classes) return !c->whole && c->seen.count > FEW_TEXTS;
  return c->fraction || (c->padded == 0 && c->seen.count > (c->whole ? MOST_NUMBERS : FEW_TEXTS));
}

/* The kind that follows from a column's cells. */
static mica_column_kind guess_kind(const mica__inference *in, const mica__field *field, const mica__column_seen *c) {
  const size_t filled = c->numbers + c->texts.count;
  if (in->texts && c->texts.count > c->numbers && !are_dates(c, filled)) return MICA_COLUMN_KIND_TEXT;
  if (field->label && in->schema->answers) return MICA_COLUMN_KIND_NUMBER;
  if (in->texts && field->label && c->texts.count == 0) return MICA_COLUMN_KIND_NUMBER;
  if (field->label && in->config->regression) return MICA_COLUMN_KIND_NUMBER;
  if (field->label && c->texts.count == 0 && c->numbers > 0)
    return are_to_be_predicted(c, in->config->classes) ? MICA_COLUMN_KIND_NUMBER : MICA_COLUMN_KIND_CLASS;
  if (field->label) return MICA_COLUMN_KIND_CLASS;
  if (are_days(c, filled) || are_dates(c, filled)) return MICA_COLUMN_KIND_TIME;
  if ((c->numbers + 2 * c->huge > c->texts.count && !holds_codes(c)) || filled == 0) return MICA_COLUMN_KIND_NUMBER;
  if (mica__field_names_files(field, in->config->files)) return MICA_COLUMN_KIND_TEXT;
  const bool few =
      c->seen.count <= FEW_TEXTS || (c->seen.count <= MANY_TEXTS && (size_t)c->seen.count * TEXT_REPEATS <= filled);
  return few && c->longest <= LONGEST_CLASS ? MICA_COLUMN_KIND_CLASS : MICA_COLUMN_KIND_TEXT;
}

/* Fails because of a missing cell. The message says how many there are and what to do. */
static mica_status fail_missing(const mica__inference *in, const mica__field *field, const mica__column_seen *c,
                                const char *what) {
  const char *word = c->missing.first, *name = in->records->name;
  return mica__fail(MICA_E_FORMAT, "%s line %zu: column \"%s\" has no %s%s%s%s; %zu of %zu lines have none: %s", name,
                    c->missing.line, field->name, what, *word ? ": \"" : "", word,
                    *word ? "\" stands for a missing value" : "", c->missing.count, in->schema->samples,
                    !field->label ? "fill them in, or take the lines or the column out"
                    : *word && field->kind == MICA_COLUMN_KIND_CLASS ? "take them out, or give the class another name"
                                                                     : "take them out");
}

/* True if samples without a label are kept, whether or not missing numbers are refused. */
static bool is_open(const mica__inference *in) { return in->config->keep_unlabelled && in->config->label_optional; }

static bool refuses(const mica__inference *in) { return in->config->missing == MICA_MISSING_REFUSE; }

static mica_status check_label(const mica__inference *in, const mica__field *field, const mica__column_seen *c) {
  const bool own = (size_t)c->seen.count == in->schema->samples ||
                   (!in->schema->header && in->label_is_last && are_no_classes(in, c));
  if (c->missing.count > 0 && !is_open(in) && (refuses(in) || c->missing.count == in->schema->samples))
    return fail_missing(in, field, c, "label");
  if (c->texts.count == 0 || c->seen.count <= FEW_TEXTS) return MICA_OK;
  if (c->numbers > c->texts.count && (own || !c->whole)) return fail_text(in, field, c, false);
  if (!own) return MICA_OK;
  const bool each = (size_t)c->seen.count == in->schema->samples;
  return mica__fail(MICA_E_FORMAT,
                    "%s: in column \"%s\", %s%zu samples ha%s %s, so they are not classes; name the column of labels "
                    "by --label (translate: those of texts by --from and --to)",
                    in->records->name, field->name, each ? "each of " : "", in->schema->samples, each ? "s" : "ve",
                    each ? "a label of its own" : "hardly any labels in common");
}

/* Checks that the cells suit the kind. In a table separated by commas, "1,5" is quoted and may be a list; elsewhere it
 * is a number with a decimal comma, unless the kind is given. */
static mica_status check_kind(mica__inference *in, mica__field *field, const mica__column_seen *c, bool stated) {
  const char *name = in->records->name;
  const bool fractions = field->kind == MICA_COLUMN_KIND_NUMBER || (!stated && in->records->delimiter != ',');
  if (fractions && c->commas > 0 && c->commas == c->texts.count)
    return mica__fail(MICA_E_FORMAT,
                      "%s line %zu: column \"%s\" holds \"%s\"; write numbers with a decimal point, not a comma", name,
                      c->texts.line, field->name, c->texts.first);
  switch (field->kind) {
  case MICA_COLUMN_KIND_NUMBER:
    if (c->texts.count > 0) return fail_text(in, field, c, !field->label && !stated);
    if (c->missing.count > 0 && !(field->label && is_open(in)) && (refuses(in) || (field->label && c->numbers == 0)))
      return fail_missing(in, field, c, in->texts && !c->numbers ? "text" : "number");
    field->fills = !refuses(in) && !field->label;
    field->fill = (double)NAN;
    field->least = c->least;
    field->most = c->most;
    field->coarse = mica__is_coarse(c->least, c->most);
    /* Several labels get no bases: no list of bases includes them. */
    field->coarse = field->coarse && !(field->label && in->schema->answers);
    field->base = field->label && in->schema->answers ? 0 : mica__field_base(in->config->bases, field);
    return MICA_OK;
  case MICA_COLUMN_KIND_TIME:
    field->days = are_days(c, c->numbers + c->texts.count);
    if (c->no_dates.count > 0)
      return mica__fail(MICA_E_FORMAT, "%s line %zu: column \"%s\" holds \"%s\", and there is no such day or time",
                        name, c->no_dates.line, field->name, c->no_dates.first);
    if (c->times == c->texts.count && c->missing.count == 0 && (c->numbers == 0 || c->whole)) return MICA_OK;
    return mica__fail(
        MICA_E_FORMAT,
        "%s: column \"%s\" must hold only times such as 2026-01-31 or 2026-01-31 23:59:59, or only whole numbers", name,
        field->name);
  case MICA_COLUMN_KIND_CLASS: return field->label ? check_label(in, field, c) : MICA_OK;
  default: return MICA_OK;
  }
}

/* Up to this many classes are accepted however few samples there are. With more, the number of classes per sample is
 * limited, unless at most FEW_TEXTS different labels occur, each TEXT_REPEATS times on average. */
#define FEW_CLASSES 1000
#define CLASSES_PER_SAMPLE 10

/* Labels that are whole numbers are classes 0 to the largest; if some of these never occur, the classes are only those
 * that do, named by their numbers. */
static mica_status number_classes(const mica__inference *in, mica__field *field, const mica__column_seen *c) {
  const size_t samples = in->schema->samples, seen = (size_t)c->seen.count;
  const bool named = seen <= FEW_TEXTS && seen * TEXT_REPEATS <= samples;
  if (!named && c->most >= FEW_CLASSES && c->most / CLASSES_PER_SAMPLE > (double)samples)
    return mica__fail(MICA_E_FORMAT,
                      "%s: column \"%s\" has labels up to %.0f, which would be too many classes for %zu samples; "
                      "choose a column of classes with --label, or pass --task regress to predict numbers",
                      in->records->name, field->name, c->most, samples);
  if (!named && c->most >= MICA__MAX_CLASSES)
    return mica__fail(MICA_E_FORMAT, "%s: the label %.0f in column \"%s\" is too large; labels must be at most %d",
                      in->records->name, c->most, field->name, MICA__MAX_CLASSES - 1);
  field->numbered = (double)seen > c->most;
  field->limit = (int32_t)c->most + 1;
  return MICA_OK;
}

/* Collects the classes in a record's cells. If `recount`, also counts its missing cells, except for the label. */
static mica_status collect_record(mica__inference *in, bool recount) {
  const mica__records *r = in->records;
  for (size_t i = 0; i < in->schema->count && i < r->count; i++) {
    mica__field *field = &in->schema->fields[i];
    if (field->unread) continue;
    const bool lacks = mica__field_lacks(field, r->cells[i]);
    if (recount && !field->label) field->missing += lacks;
    if (field->kind != MICA_COLUMN_KIND_CLASS || field->numbered ||
        (field->label && lacks && (!refuses(in) || is_open(in))))
      continue;
    MICA_TRY(mica__class_name(r->cells[i], field->classes.texts, &in->name, &in->capacity));
    MICA_TRY(mica__dictionary_add(&field->classes, in->name));
    if (field->classes.count > MICA__MAX_CLASSES)
      return mica__fail(MICA_E_FORMAT, "%s: column \"%s\" has more than %d different classes", r->name, field->name,
                        MICA__MAX_CLASSES);
  }
  return MICA_OK;
}

/* Walks over the samples again to collect the classes of all columns of classes. If samples without a label are left
 * out, also counts the missing cells of the remaining samples anew. */
static mica_status collect_classes(mica__inference *in) {
  mica__schema *schema = in->schema;
  const bool recount = schema->leaves_out && schema->unlabelled > 0;
  bool found = false, wanted = recount;
  for (size_t i = 0; i < schema->count; i++) {
    wanted = wanted || (schema->fields[i].kind == MICA_COLUMN_KIND_CLASS && !schema->fields[i].numbered);
    if (recount) schema->fields[i].missing = 0;
  }
  mica__records_rewind(in->records);
  if (schema->header) MICA_TRY(mica__records_next(in->records, &found));
  while (wanted) {
    MICA_TRY(mica__schema_next(schema, in->records, &found));
    if (!found) break;
    MICA_TRY(collect_record(in, recount));
  }
  for (size_t i = 0; i < schema->count; i++) MICA_TRY(mica__dictionary_sort(&schema->fields[i].classes));
  return MICA_OK;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* True for whole numbers without repetition, in a column named like row numbers. */
static bool are_row_numbers(mica__column_seen *c, size_t samples) {
  if (!c->numbers_rows || !c->whole || c->numbers != samples || samples < 3) return false;
  qsort(c->values, samples, sizeof *c->values, by_value);
  for (size_t i = 1; i < samples; i++)
    if (c->values[i] == c->values[i - 1]) return false;
  return true;
}

/* Says why a column is not read: the caller ignores it, it numbers the rows, or it is empty. NULL: it is read. */
static const char *why_unread(const mica__inference *in, size_t i, bool stated) {
  mica__column_seen *c = &in->columns[i];
  const char *name = in->schema->fields[i].name;
  const size_t samples = in->schema->samples;
  if (mica__list_has(in->config->ignore, name)) return "ignored";
  if (stated) return NULL;
  if (are_row_numbers(c, samples)) return MICA__ROW_NUMBERS;
  return !refuses(in) && c->missing.count == samples ? "empty" : NULL;
}

static void leave_unread(mica__field *field) {
  field->unused = true;
  field->at = SIZE_MAX;
  free(field->words);
  field->words = NULL;
}

/* Decides whether samples without a label are left out or kept without one. */
static void note_label(mica__inference *in) {
  mica__schema *schema = in->schema;
  schema->missing = in->config->missing;
  schema->flags = schema->answers && !in->config->regression;
  for (size_t i = schema->count; i-- > 0;) {
    if (!schema->fields[i].label) continue;
    const mica__column_seen *c = &in->columns[i];
    schema->label = i;
    schema->fields[i].open = is_open(in) || (!refuses(in) && in->config->keep_unlabelled);
    schema->flags = schema->flags && c->whole && c->most <= 1;
    if (!schema->answers) schema->unlabelled = c->missing.count;
  }
  if (refuses(in)) schema->unlabelled = 0;
  schema->leaves_out = !refuses(in) && !in->config->keep_unlabelled;
  if (schema->leaves_out) schema->samples -= schema->unlabelled;
}

/* Fails if no record has all of its several labels. */
static mica_status check_answers(const mica__inference *in) {
  if (!in->schema->answers || in->schema->samples) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: no sample has all of its %zu labels", in->records->name, in->schema->answers);
}

mica_status mica__schema_decide_kinds(mica__inference *in) {
  MICA_TRY(count_cells(in));
  choose_label(in);
  MICA_TRY(note_codes(in));
  for (size_t i = 0; i < in->schema->count; i++) {
    mica__field *field = &in->schema->fields[i];
    bool stated = false;
    MICA_TRY(decide_words(in, field, &in->columns[i]));
    field->holds = in->columns[i].holds;
    field->found = in->columns[i].found;
    field->no_flag_line = in->columns[i].no_flags.line;
    memcpy(field->no_flag, in->columns[i].no_flags.first, sizeof field->no_flag);
    MICA_TRY(mica__kinds_find(in->config->kinds, field->name, &field->kind, &stated));
    if (!stated) field->kind = guess_kind(in, field, &in->columns[i]);
    field->unsure =
        field->label && !in->schema->answers && (!in->columns[i].fraction || in->columns[i].seen.count <= FEW_TEXTS);
    if (!field->label) field->unread = why_unread(in, i, stated);
    if (field->unread) leave_unread(field);
    if (field->unread) continue;
    MICA_TRY(check_kind(in, field, &in->columns[i], stated));
    field->classes.texts = field->kind == MICA_COLUMN_KIND_CLASS && in->columns[i].codes > 0;
    if (field->kind == MICA_COLUMN_KIND_CLASS && field->label && in->columns[i].texts.count == 0 &&
        in->columns[i].whole && !field->classes.texts)
      MICA_TRY(number_classes(in, field, &in->columns[i]));
    field->missing = in->columns[i].missing.count;
    if (field->kind == MICA_COLUMN_KIND_NUMBER && !field->label) field->slot = in->schema->numbers++;
  }
  note_label(in);
  MICA_TRY(check_answers(in));
  return collect_classes(in);
}
