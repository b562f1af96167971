/* Missing cells of tables: the values that replace them are computed from the training part, kept as the stored value
 * "fills", and reported. */
#include "run/columns/missing.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How missing numbers are replaced (the setting "missing"). A run of an older version does not have this setting and
 * refuses missing cells. */
static mica_missing missing_of(const mica_run *run) {
  const char *setting =
      mica__common_is_set(run, MICA__SETTING_missing) ? mica__common_typed(run, MICA__SETTING_missing) : "refuse";
  mica_missing how = MICA_MISSING_REFUSE;
  while (how < MICA_MISSING_NAN && strcmp(mica_missing_name(how), setting) != 0) how++;
  /* A value that no version of Mica has written does not say how missing numbers are replaced, so they are refused. */
  return how < MICA_MISSING_NAN ? how : MICA_MISSING_REFUSE;
}

mica_missing mica__run_missing(const mica_run *run) {
  return missing_of(run) == MICA_MISSING_REFUSE ? MICA_MISSING_REFUSE : MICA_MISSING_NAN;
}

mica_status mica__run_begin_missing(mica_run *run) {
  if (run->resumed || mica__common_is_set(run, MICA__SETTING_missing)) return MICA_OK;
  return mica__common_set(run, MICA__SETTING_missing, "mean");
}

static const mica__schema *schema_of(const mica_dataset *data) {
  return data && data->store ? data->store->schema : NULL;
}

/* The numbers of the stored value "fills", or NULL if the run does not have it. */
static const double *fills_of(const mica_run *run, size_t *count) {
  const mica__fact_numbers fills = mica__common_facts_of(run).fills;
  *count = fills.count;
  return fills.count ? fills.list : NULL;
}

static bool has_rows(const mica_run *run) {
  return !run->task->input->traits.own_input || run->task->input->traits.rows;
}

static bool lacks_numbers(const mica__schema *schema) {
  for (size_t i = 0; i < schema->count; i++)
    if (schema->fields[i].slot >= 0 && schema->fields[i].missing) return true;
  return false;
}

mica_status mica__run_fill(const mica_run *run, mica_dataset *data) {
  const mica__schema *schema = schema_of(data);
  size_t count = 0;
  const double *fills = fills_of(run, &count);
  if (!schema || !has_rows(run) || !schema->numbers) return MICA_OK;
  if (!fills)
    return lacks_numbers(schema) && mica__run_missing(run) != MICA_MISSING_REFUSE
               ? mica__fail(
                     MICA_E_FORMAT,
                     "%s has missing cells, but the run has no values to fill in for them; write values into the table",
                     mica_dataset_name(data))
               : MICA_OK;
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return mica__fail_nomem("a run");
  size_t known = 0;
  while (known < count && (names[known] = mica__units_number_name(run, known))) known++;
  /* Tables without a header line are read by position. */
  for (size_t k = 0; !known && k < count; k++)
    names[k] = mica_dataset_number_name(data, mica_dataset_column_index(data, "x"), (int64_t)k);
  if (!known)
    while (known < count && names[known]) known++;
  mica__fills_put(data, names, fills, known);
  free(names);
  return MICA_OK;
}

mica_status mica__run_note_fills(mica_run *run) {
  const mica_dataset *parts[] = {run->parts->whole, run->parts->at[MICA_PART_VALIDATION].data};
  const mica__schema *schema = schema_of(run->parts->whole);
  const size_t numbers = schema && schema->numbers > 0 ? (size_t)schema->numbers : 0;
  size_t count = 0;
  if (!numbers || run->parts->whole == run->config.dataset || !has_rows(run) ||
      mica__run_missing(run) == MICA_MISSING_REFUSE)
    return MICA_OK;
  const double *known = fills_of(run, &count);
  double *fills = calloc(numbers + 1, sizeof *fills);
  const char **names = calloc(numbers + 1, sizeof *names);
  mica_status status = fills && names ? MICA_OK : mica__fail_nomem("a run");
  for (size_t i = 0; status == MICA_OK && i < schema->count; i++)
    if (schema->fields[i].slot >= 0) names[schema->fields[i].slot] = schema->fields[i].name;
  if (status == MICA_OK && known && count == numbers)
    memcpy(fills, known, numbers * sizeof *fills);
  else if (status == MICA_OK)
    status = mica__fills_measure(run->parts->at[MICA_PART_TRAIN].data, missing_of(run), fills);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "fills", fills, numbers);
  for (size_t i = 0; status == MICA_OK && i < 2; i++)
    if (schema_of(parts[i])) mica__fills_put((mica_dataset *)(uintptr_t)parts[i], names, fills, numbers);
  free(fills);
  free(names);
  return status;
}

/* --- remarks --- */

/* True for a column of classes of the run that has no class for missing cells. */
static bool has_no_class_for_missing(const void *user, const char *column) {
  const mica_run *run = user;
  bool lacks = false;
  for (size_t k = 0; k < mica__run_categories(run); k++) {
    const mica__category category = mica__run_category(run, k);
    if (strcmp(category.name, column) != 0) continue;
    lacks = true;
    for (size_t i = 0; i < category.classes; i++)
      lacks = lacks && *category.names[i] && strcmp(category.names[i], "?") != 0;
  }
  return lacks;
}

static mica_status remark_missing(mica_run *run, const mica_dataset *data, const char *part) {
  const mica__schema *schema = schema_of(data);
  char name[300];
  if (schema) snprintf(name, sizeof name, "%.250s%s%s", mica_dataset_name(data), *part ? ", " : "", part);
  mica__text missing = {0};
  if (!schema || data == run->config.dataset) return MICA_OK;
  if (has_rows(run)) mica__missing_text(data, has_no_class_for_missing, run, &missing);
  mica_status status = mica__text_status(&missing);
  for (size_t i = 0; status == MICA_OK && has_rows(run) && i < schema->count; i++)
    if (schema->fields[i].unseen && !schema->fields[i].unread)
      status = mica__run_remark_class(run, name, schema->fields[i].name, schema->fields[i].unseen,
                                      schema->fields[i].first_unseen);
  if (status == MICA_OK && missing.length) status = mica__run_remark(run, "%s: missing cells: %s", name, missing.data);
  if (status == MICA_OK && schema->leaves_out && schema->unlabelled)
    status = mica__run_remark(run, "%s: %zu row%s without an answer %s left out", name, schema->unlabelled,
                              schema->unlabelled == 1 ? "" : "s", schema->unlabelled == 1 ? "is" : "are");
  mica__text_free(&missing);
  return status;
}

mica_status mica__run_remark_class(mica_run *run, const char *table, const char *column, uint64_t count,
                                   const char *first) {
  return mica__run_remark(run, "%s: %llu cell%s of '%s' %s read as no class, because training did not see \"%s\"%s",
                          table, (unsigned long long)count, count == 1 ? "" : "s", column, count == 1 ? "is" : "are",
                          first, count == 1 ? "" : ", ...");
}

mica_status mica__run_remark_missing(mica_run *run, const mica_dataset *data) { return remark_missing(run, data, ""); }

static mica_status remark_unread(mica_run *run) {
  const mica__schema *schema = schema_of(run->parts->whole);
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->unread && !strcmp(field->unread, MICA__ROW_NUMBERS))
      MICA_TRY(mica__run_remark(run,
                                "column '%s' numbers the rows and is not an input; --kinds %s=number makes it an input",
                                field->name, field->name));
  }
  return MICA_OK;
}

mica_status mica__run_remark_parts(mica_run *run) {
  MICA_TRY(remark_unread(run));
  MICA_TRY(remark_missing(run, run->parts->whole, ""));
  for (int part = MICA_PART_VALIDATION; part <= MICA_PART_TEST; part++) {
    const mica_dataset *data = run->parts->at[part].data;
    /* A part that was split off shares its storage with the rest. */
    if (!data || !run->parts->whole || data->store == run->parts->whole->store) continue;
    MICA_TRY(remark_missing(run, data, part == MICA_PART_TEST ? "test part" : "validation part"));
  }
  return MICA_OK;
}

mica_status mica__run_check_ignored(const mica_run *run) {
  const char *list = mica__common_settings_of(run).ignore;
  const mica__schema *schema = schema_of(run->parts->whole);
  if (!*list || run->task->open) return MICA_OK;
  if (run->config.dataset)
    return mica__fail(
        MICA_E_INVALID,
        "ignore applies only when a table is read from a file, but the data are already open; leave it out");
  if (!schema) return mica__fail(MICA_E_INVALID, "ignore is for the columns of tables; %s is not a table", run->data);
  for (const char *at = list; *at; at += strspn(at, ",")) {
    const size_t n = strcspn(at, ",");
    size_t i = 0;
    while (i < schema->count && (strlen(schema->fields[i].name) != n || strncmp(schema->fields[i].name, at, n) != 0))
      i++;
    if (i == schema->count) return mica__fail(MICA_E_INVALID, "ignore: %s has no column '%.*s'", run->data, (int)n, at);
    at += n;
  }
  return MICA_OK;
}

/* Remarks that the answers are taken for numbers if they might be classes. */
mica_status mica__run_remark_regress(mica_run *run) {
  const mica__schema *schema = schema_of(run->parts->whole);
  for (size_t i = 0; schema && i < schema->count; i++)
    if (schema->fields[i].label && schema->fields[i].kind == MICA_COLUMN_KIND_NUMBER && schema->fields[i].unsure)
      return mica__run_remark(run,
                              "the answers in '%s' are taken for numbers: the task is %s; --task classify takes them "
                              "for classes",
                              schema->fields[i].name, run->task->name);
  return MICA_OK;
}
