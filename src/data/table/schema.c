/* The columns of a table: names, kinds, classes. */
#include "data/table/schema.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many records are searched for numbers to tell a header from values. */
#define JUDGED_RECORDS 20
/* If all cells are words, a header is recognised by words that do not recur (recognise_words). This needs at least
 * FEWEST_WORDS records, inspects at most JUDGED_WORDS records, and is not tried with more than MOST_WORD_COLUMNS
 * columns. */
#define JUDGED_WORDS 200
#define FEWEST_WORDS 10
#define MOST_WORD_COLUMNS 1000

/* --- schemas --- */

void mica__schema_release(void *object) {
  mica__schema *schema = object;
  if (!schema) return;
  for (size_t i = 0; i < schema->count; i++) {
    mica__dictionary_free(&schema->fields[i].classes);
    free(schema->fields[i].name);
    free(schema->fields[i].words);
  }
  free(schema->fields);
  free(schema->lines);
  free(schema->extras);
  free(schema);
}

/* True for a number. If cells are not separated by commas, a number with a decimal comma counts too; it is refused
 * later, with a message of its own. */
static bool is_numeric(const mica__records *r, mica__cell cell) {
  double value;
  return mica__cell_is_numeric(cell, &value) || (r->delimiter != ',' && mica__cell_has_comma(cell));
}

static bool is_yaml(const char *name) {
  const char *end = strrchr(name, '.');
  return end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml"));
}

/* Checks whether the first record is a header: some text is above numbers, and no number is above a number. */
static mica_status find_header(mica__inference *in) {
  mica__records *r = in->records;
  bool found = false, named = false, numbered = false;
  MICA_TRY(mica__records_next(r, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s is empty, or has only blank lines and comments (#)", r->name);
  const size_t n = in->schema->columns = r->count;
  if (n < 2 && !in->config->like && is_yaml(r->name))
    return mica__fail(MICA_E_FORMAT,
                      "%s is not a table; --data takes the folder that holds it beside images and labels", r->name);
  if (n < 2 && !in->config->like)
    return mica__fail(MICA_E_FORMAT, "%s is not a table: line %zu has one column", r->name, r->line);
  in->schema->fields = calloc(n, sizeof *in->schema->fields);
  in->columns = calloc(n, sizeof *in->columns);
  in->column_count = n;
  char *is_text = calloc(n, 1), *is_number = calloc(n, 1);
  mica_status status = in->schema->fields && in->columns && is_text && is_number ? MICA_OK : mica__fail_nomem(r->name);
  for (size_t i = 0; status == MICA_OK && i < n; i++) {
    in->schema->count = i + 1;
    is_number[i] = is_numeric(r, r->cells[i]);
    is_text[i] = !is_number[i] && !mica__cell_is_missing(r->cells[i]);
    char *name = calloc(1, r->cells[i].length + 1);
    if (name) mica__cell_unquote(r->cells[i], name);
    in->schema->fields[i].name = name ? mica__name_printable(name) : NULL;
    in->schema->fields[i].at = i;
    free(name);
    if (!in->schema->fields[i].name) status = mica__fail_nomem(r->name);
  }
  for (int k = 0; status == MICA_OK && k < JUDGED_RECORDS; k++) {
    status = mica__records_next(r, &found);
    if (status != MICA_OK || !found) break;
    for (size_t i = 0; i < n && i < r->count; i++) {
      const bool number = is_numeric(r, r->cells[i]);
      named = named || (is_text[i] && number);
      numbered = numbered || (is_number[i] && number);
    }
  }
  in->schema->header = named && !numbered;
  in->words = status == MICA_OK && !memchr(is_text, 0, n) && !named;
  free(is_text);
  free(is_number);
  return status;
}

static const char *const customary[] = {"label", "class", "target"};

static bool is_customary(const char *name) {
  for (size_t k = 0; k < sizeof customary / sizeof *customary; k++)
    if (!strcasecmp(name, customary[k])) return true;
  return false;
}

/* A header above texts is recognised by the name of the label, or of a column whose kind is given. */
static mica_status recognise_header(mica__inference *in) {
  const char *wanted = in->config->label_column;
  for (size_t i = 0; i < in->schema->count; i++) {
    const char *name = in->schema->fields[i].name;
    mica_column_kind kind;
    double number;
    bool stated = false;
    MICA_TRY(mica__kinds_find(in->config->kinds, name, &kind, &stated));
    /* A number is no sign of a header: without a header, config->kinds names columns by their positions, and a cell
     * of the first record may hold the same number. */
    if (stated && !mica__cell_is_numeric((mica__cell){.text = name, .length = strlen(name)}, &number))
      in->schema->header = true;
    if (wanted ? !strcmp(name, wanted) || mica__list_has(wanted, name) : is_customary(name)) in->schema->header = true;
  }
  return MICA_OK;
}

/* A header above texts in several languages consists only of language names, each once. */
static mica_status recognise_languages(mica__inference *in) {
  mica__records *r = in->records;
  bool found = false, languages = true;
  mica__records_rewind(r);
  MICA_TRY(mica__records_next(r, &found));
  for (size_t i = 0; i < r->count && languages; i++) {
    languages = mica__cell_is_language(r->cells[i]);
    for (size_t k = 0; k < i && languages; k++)
      languages = strcasecmp(in->schema->fields[i].name, in->schema->fields[k].name) != 0;
  }
  if (found && languages) in->schema->header = true;
  return MICA_OK;
}

/* Adds the class of each cell in a record to the column's dictionary; the first record's class is number 0. *again is
 * set if a later record has that class too. */
static mica_status judge_words(mica__inference *in, mica__dictionary *words, bool *again) {
  const mica__records *r = in->records;
  for (size_t i = 0; i < in->schema->count && i < r->count; i++) {
    MICA_TRY(mica__class_name(r->cells[i], false, &in->name, &in->capacity));
    *again = *again || mica__name_table_find(&words[i].table, in->name) == 0;
    MICA_TRY(mica__dictionary_add(&words[i], in->name));
  }
  return MICA_OK;
}

/* Recognises a header above texts. No word of the header occurs again in its column, while in some column the other
 * words occur at least TEXT_REPEATS times on average. A single line of texts is a header too, unless config->like says
 * what the columns are. */
static mica_status recognise_words(mica__inference *in) {
  mica__records *r = in->records;
  const size_t n = in->schema->count;
  mica__dictionary *words = n <= MOST_WORD_COLUMNS ? calloc(n, sizeof *words) : NULL;
  size_t rows = 0;
  bool found = true, again = false, few = false;
  if (!words) return n <= MOST_WORD_COLUMNS ? mica__fail_nomem(r->name) : MICA_OK;
  mica__records_rewind(r);
  mica_status status = mica__records_next(r, &found);
  if (status == MICA_OK && found) status = judge_words(in, words, &again);
  for (again = false; status == MICA_OK && rows < JUDGED_WORDS && !again; rows++) {
    status = mica__records_next(r, &found);
    if (status != MICA_OK || !found) break;
    status = judge_words(in, words, &again);
  }
  for (size_t i = 0; i < n; i++) {
    few = few || (size_t)(words[i].count - 1) * TEXT_REPEATS <= rows;
    mica__dictionary_free(&words[i]);
  }
  free(words);
  const bool alone = rows == 0 && !in->config->like;
  if (status == MICA_OK && (alone || (few && !again && rows >= FEWEST_WORDS))) in->schema->header = true;
  return status;
}

/* Names a column without a name by its number i, and the second column "a" as "a.1", as pandas does. */
static mica_status number_field(mica__inference *in, const mica__name_table *names, mica__field *field, size_t i) {
  const int32_t first = in->schema->header && *field->name ? mica__name_table_find(names, field->name) : -1;
  mica__text text = {0};
  do {
    text.length = 0;
    if (first >= 0) mica__text_addf(&text, "%s.", field->name);
    mica__text_addf(&text, "%zu", first >= 0 ? ++in->columns[first].repeats : i);
  } while (first >= 0 && !text.failed && mica__name_table_find(names, text.data) >= 0);
  if (mica__text_status(&text) != MICA_OK) {
    mica__text_free(&text);
    return mica__fail_nomem(in->records->name);
  }
  in->columns[i].unnamed = in->schema->header && first < 0;
  free(field->name);
  field->name = text.data;
  field->repeated = first >= 0;
  return MICA_OK;
}

/* Names columns without names, and those whose name occurred before; *names receives the column of each name. */
static mica_status name_fields(mica__inference *in, mica__name_table *names) {
  mica__schema *schema = in->schema;
  for (size_t i = 0; i < schema->count; i++) {
    mica__field *field = &schema->fields[i];
    field->slot = -1;
    if (!schema->header || !*field->name || mica__name_table_find(names, field->name) >= 0)
      MICA_TRY(number_field(in, names, field, i));
    if (mica__name_table_find(names, field->name) >= 0)
      return mica__fail(MICA_E_FORMAT, "%s has two columns \"%s\"", in->records->name, field->name);
    MICA_TRY(mica__name_table_add(names, field->name, (int32_t)i));
  }
  return MICA_OK;
}

/* Finds the columns in a list such as "a,b,c"; each may be named once. */
static mica_status find_labels(mica__inference *in, const char *list) {
  mica__schema *schema = in->schema;
  for (const char *at = list; *at; at += strspn(at, ",")) {
    const size_t n = strcspn(at, ",");
    size_t i = 0;
    while (i < schema->count && (strlen(schema->fields[i].name) != n || strncmp(schema->fields[i].name, at, n) != 0))
      i++;
    if (i == schema->count)
      return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%.*s\" for labels", in->records->name, (int)n, at);
    if (schema->fields[i].label)
      return mica__fail(MICA_E_INVALID, "%s: column \"%s\" is named twice for labels", in->records->name,
                        schema->fields[i].name);
    if (mica__list_has(in->config->ignore, schema->fields[i].name))
      return mica__fail(MICA_E_INVALID, "%s: column \"%s\" holds the answers, so it cannot be ignored",
                        in->records->name, schema->fields[i].name);
    schema->fields[i].label = true;
    schema->answers++;
    at += n;
  }
  /* Numbers the labels in the order of the table; outlines use the same order. */
  for (size_t i = 0, part = 0; i < schema->count; i++)
    if (schema->fields[i].label) schema->fields[i].part = part++;
  if (schema->answers == 1)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%s\" for labels", in->records->name, list);
  if (schema->answers > MICA__MOST_ANSWERS)
    return mica__fail(MICA_E_INVALID, "%s: a sample may have at most %d labels, not %zu", in->records->name,
                      MICA__MOST_ANSWERS, schema->answers);
  return MICA_OK;
}

/* True if the table has a column of the list. */
static bool names_some(const mica__schema *schema, const char *list) {
  for (size_t i = 0; i < schema->count; i++)
    if (mica__list_has(list, schema->fields[i].name)) return true;
  return false;
}

static mica_status find_label(mica__inference *in) {
  const char *wanted = in->config->label_column;
  mica__schema *schema = in->schema;
  size_t label = schema->count;
  char *end = NULL;
  const unsigned long number = wanted ? strtoul(wanted, &end, 10) : 0;
  for (int any_case = 0; wanted && any_case < 2; any_case++)
    for (size_t i = 0; i < schema->count && label == schema->count; i++)
      if (any_case ? !strcasecmp(schema->fields[i].name, wanted) : !strcmp(schema->fields[i].name, wanted)) label = i;
  if (wanted && label == schema->count && *wanted >= '0' && *wanted <= '9' && !*end && number < schema->count)
    label = number;
  if (label < schema->count && mica__list_has(in->config->ignore, schema->fields[label].name))
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\" holds the answers, so it cannot be ignored", in->records->name,
                      schema->fields[label].name);
  if (wanted && label == schema->count && in->config->label_optional && !names_some(schema, wanted)) return MICA_OK;
  if (wanted && label == schema->count && strchr(wanted, ',')) return find_labels(in, wanted);
  if (wanted && label == schema->count)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no column \"%s\" for labels", in->records->name, wanted);
  for (size_t i = 0; !wanted && schema->header && i < schema->count && label == schema->count; i++)
    if (is_customary(schema->fields[i].name)) label = i;
  in->label_is_last = label == schema->count;
  while (label == schema->count ||
         (in->label_is_last && mica__list_has(in->config->ignore, schema->fields[label].name)))
    if (label-- == 0) return mica__fail(MICA_E_INVALID, "%s: all columns are ignored", in->records->name);
  schema->fields[label].label = true;
  return MICA_OK;
}

/* --- columns matched with those of another table --- */

static mica_status copy_field(const mica__field *from, mica__field *to) {
  *to = *from;
  to->classes = (mica__dictionary){.texts = from->classes.texts};
  to->words = NULL;
  to->missing = to->unseen = 0;
  to->at = SIZE_MAX;
  if (!(to->name = mica__strdup(from->name))) return mica__fail_nomem("a column");
  for (int32_t i = 0; i < from->classes.count; i++)
    MICA_TRY(mica__dictionary_add(&to->classes, from->classes.names[i]));
  return MICA_OK;
}

/* Finds each column of the known table in the table that is read: by name if both tables have a header, else by
 * position. The columns of labels, and those that are not used, may be missing. */
static mica_status locate_fields(mica__inference *in, const mica__schema *known, const mica__name_table *names,
                                 mica__schema *own) {
  const char *name = in->records->name;
  const bool named = in->schema->header && known->header, header = in->schema->header;
  bool label = true, unused = true;
  const size_t labels = known->answers ? known->answers : 1;
  if (known->outline && !named)
    MICA_TRY(mica__schema_layout(in->records, header, in->schema->columns, known, &label, &unused));
  else
    label = in->schema->columns + labels != known->columns;
  for (size_t i = 0, at = 0; i < known->count; i++) {
    mica__field *field = &own->fields[i];
    own->count = i + 1;
    MICA_TRY(copy_field(&known->fields[i], field));
    const int32_t found = named ? mica__name_table_find(names, field->name) : -1;
    if (found >= 0) field->at = (size_t)found;
    if (!named && (label || !field->label) && (unused || !field->unused)) field->at = at++;
    if (field->unused) field->at = SIZE_MAX;
    if (field->at == SIZE_MAX && !field->label && !field->unused)
      return mica__fail(MICA_E_FORMAT, "%s has no column \"%s\", but %s", name, field->name,
                        known->outline ? "the network was trained on it" : "the training data has it");
    if (field->at != SIZE_MAX && field->at >= in->schema->columns)
      return mica__fail(MICA_E_FORMAT, "%s has %zu columns, but the training data has %zu", name, in->schema->columns,
                        known->columns);
  }
  return MICA_OK;
}

/* Keeps the names of columns that the known table does not have. */
static mica_status keep_extras(const mica__inference *in, const mica__schema *known, mica__schema *own) {
  mica__text text = {0};
  for (size_t i = 0; i < in->schema->count; i++) {
    size_t k = 0;
    while (k < known->count && strcmp(known->fields[k].name, in->schema->fields[i].name) != 0) k++;
    if (k == known->count) mica__text_addf(&text, text.length ? ", '%s'" : "'%s'", in->schema->fields[i].name);
  }
  own->extras = text.data;
  return mica__text_status(&text);
}

/* Either all of the several labels must be there, or none. */
static mica_status check_answers(const mica__inference *in, const mica__schema *own) {
  size_t there = 0;
  const mica__field *lacks = NULL;
  for (size_t i = 0; own->answers && i < own->count; i++) {
    const mica__field *field = &own->fields[i];
    if (!field->label) continue;
    there += field->at != SIZE_MAX;
    if (field->at == SIZE_MAX) lacks = field;
  }
  return there && lacks ? mica__fail(MICA_E_FORMAT, "%s has some columns of labels, but not \"%s\"", in->records->name,
                                     lacks->name)
                        : MICA_OK;
}

/* Counts what is missing in a record, and values that the known table does not have. */
static mica_status note_known(mica__schema *own, const mica__records *r) {
  for (size_t i = 0; i < own->count; i++) {
    mica__field *field = &own->fields[i];
    int32_t class_index = 0;
    if (field->at == SIZE_MAX || field->label) continue;
    const mica__cell cell = r->cells[field->at];
    if (field->kind == MICA_COLUMN_KIND_CLASS) MICA_TRY(mica__dictionary_find(&field->classes, cell, &class_index));
    if (class_index >= 0 && (field->slot >= 0 || field->kind == MICA_COLUMN_KIND_CLASS)) {
      field->missing += mica__field_lacks(field, cell);
    } else if (class_index < 0 && field->unseen++ == 0) {
      snprintf(field->first_unseen, sizeof field->first_unseen, "%.*s", mica__cell_shown(cell), cell.text);
    }
  }
  return MICA_OK;
}

static mica_status count_known(mica__inference *in, mica__schema *own) {
  mica__records *r = in->records;
  bool found = false;
  mica__records_rewind(r);
  if (own->header) MICA_TRY(mica__records_next(r, &found));
  for (;;) {
    MICA_TRY(mica__records_next(r, &found));
    if (!found) break;
    if (r->count != own->columns) return mica__schema_fail_columns(in);
    const bool lacks = own->missing != MICA_MISSING_REFUSE && mica__schema_lacks(own, r);
    own->unlabelled += lacks;
    if (lacks && own->leaves_out) continue;
    own->samples++;
    MICA_TRY(note_known(own, r));
  }
  own->passed = r->passed;
  if (own->samples || !own->unlabelled) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: column \"%s\" is empty: no sample has a label", r->name,
                    own->fields[own->label].name);
}

/* Takes the columns from the schema of config->like. The first record is a header if all its names are known, or if it
 * has all known names; one exception is allowed, but at least one name must match. If the schema is a network's
 * outline, texts above numbers are a header too, so that unknown names are not read as values. */
static mica_status follow(mica__inference *in, const mica__schema *known, mica__name_table *names) {
  const size_t fewer = in->schema->count < known->count ? in->schema->count : known->count;
  const bool looks_named = known->outline && in->schema->header;
  size_t matches = 0;
  in->schema->header = true;
  MICA_TRY(name_fields(in, names));
  for (size_t k = 0; known->header && k < known->count; k++)
    matches += mica__name_table_find(names, known->fields[k].name) >= 0;
  in->schema->header = looks_named || (matches > 0 && matches + 1 >= fewer);
  mica__schema *own = calloc(1, sizeof *own);
  const bool left_out = in->config->missing != MICA_MISSING_REFUSE && !in->config->keep_unlabelled;
  if (own) own->fields = calloc(known->count, sizeof *own->fields);
  if (!own || !own->fields) {
    free(own);
    return mica__fail_nomem(in->records->name);
  }
  own->header = in->schema->header;
  own->columns = in->schema->columns;
  own->numbers = known->numbers;
  own->missing = in->config->missing;
  own->leaves_out = left_out;
  own->label = known->label;
  own->answers = known->answers;
  own->flags = known->flags;
  mica_status status = locate_fields(in, known, names, own);
  if (status == MICA_OK && own->header && known->header) status = keep_extras(in, known, own);
  for (size_t i = 0; status == MICA_OK && i < own->count; i++)
    if (own->fields[i].label) own->fields[i].open = in->config->keep_unlabelled;
  if (status == MICA_OK) status = check_answers(in, own);
  if (status == MICA_OK) status = count_known(in, own);
  mica__schema_release(in->schema);
  in->schema = own;
  return status;
}

/* If config->like is not a table, makes its classes the classes of the table's label. */
static mica_status adopt_classes(mica__inference *in) {
  const mica__column *label = mica__store_label(in->config->like->store);
  for (size_t i = 0; label && label->class_names && i < in->schema->count; i++) {
    mica__field *field = &in->schema->fields[i];
    if (!field->label || field->kind != MICA_COLUMN_KIND_CLASS) continue;
    mica__dictionary_free(&field->classes);
    field->classes = (mica__dictionary){0};
    field->numbered = false;
    field->classes.texts =
        mica__classes_are_texts((const char *const *)label->class_names, (size_t)label->about.classes);
    for (int32_t k = 0; k < label->about.classes; k++)
      MICA_TRY(mica__dictionary_add(&field->classes, label->class_names[k]));
  }
  return MICA_OK;
}

static mica_status infer(mica__inference *in, mica__name_table *names) {
  const mica__schema *known = in->config->like ? in->config->like->store->schema : NULL;
  MICA_TRY(mica__records_find_delimiter(in->records));
  MICA_TRY(find_header(in));
  if (known) return follow(in, known, names);
  mica_column_kind others = MICA_COLUMN_KIND_NUMBER;
  MICA_TRY(mica__kinds_find(in->config->kinds, "*", &others, &in->texts));
  if (in->texts && others != MICA_COLUMN_KIND_TEXT)
    return mica__fail(MICA_E_INVALID, "kinds of columns: the only kind for * is text, as in *=text");
  MICA_TRY(recognise_header(in));
  if (in->texts && !in->schema->header) MICA_TRY(recognise_languages(in));
  if (in->words && !in->schema->header) MICA_TRY(recognise_words(in));
  MICA_TRY(name_fields(in, names));
  MICA_TRY(find_label(in));
  MICA_TRY(mica__schema_decide_kinds(in));
  return in->config->like ? adopt_classes(in) : MICA_OK;
}

mica_status mica__schema_infer(mica__records *records, const mica_dataset_config *config, mica__schema **schema) {
  mica__inference in = {.records = records, .config = config, .schema = calloc(1, sizeof *in.schema)};
  mica__name_table names = {0};
  mica_status status = in.schema ? infer(&in, &names) : mica__fail_nomem(records->name);
  mica__name_table_free(&names);
  for (size_t i = 0; in.columns && i < in.column_count; i++) {
    mica__dictionary_free(&in.columns[i].seen);
    mica__dictionary_free(&in.columns[i].word_names);
    free(in.columns[i].values);
  }
  free(in.columns);
  free(in.name);
  if (in.schema) in.schema->files = config->files;
  if (status == MICA_OK)
    *schema = in.schema;
  else
    mica__schema_release(in.schema);
  return status;
}
