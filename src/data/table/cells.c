/* Reads the cells of a table's record according to the schema: classes, numbers, times. */
#include "base/number.h"
#include "base/text.h"
#include "data/table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the base of a field according to `bases`, which has lines of the form "NAME=NUMBER" or is MICA_BASES_AUTO; 0:
 * none. */
double mica__field_base(const char *bases, const mica__field *field) {
  const size_t length = strlen(field->name);
  if (bases && !strcmp(bases, MICA_BASES_AUTO)) return field->coarse ? field->least : 0;
  for (const char *line = bases; line && *line; line += strspn(line, "\n")) {
    if (!strncmp(line, field->name, length) && line[length] == '=') {
      char *end = NULL;
      const double base = mica__strtod(line + length + 1, &end);
      if (end > line + length + 1 && (*end == '\n' || !*end) && isfinite(base)) return base;
    }
    line += strcspn(line, "\n");
  }
  return 0;
}

static mica_status fail_cell(const mica__field *field, const mica__records *r, const char *what) {
  const mica__cell cell = r->cells[field->at];
  return mica__fail(MICA_E_FORMAT, "%s line %zu: column \"%s\" holds \"%.*s\", which %s", r->name, r->line, field->name,
                    (int)(cell.length < 40 ? cell.length : 40), cell.text, what);
}

/* True if the names of all classes are numbers: a message then adds OR_REGRESS, because they may be meant as
 * numbers. */
#define OR_REGRESS "; to predict numbers, pass --task regress"
static bool are_numbers(const mica__dictionary *d) {
  double value = 0;
  for (int32_t i = 0; i < d->count; i++)
    if (!mica__cell_is_numeric((mica__cell){.text = d->names[i], .length = strlen(d->names[i])}, &value)) return false;
  return d->count > 0;
}

static mica_status fail_name(const mica__field *field, const mica__records *r) {
  mica__text what = {0};
  mica__text_add(&what, "is not one of the classes: ");
  for (int32_t i = 0; i < field->classes.count && i < 20; i++)
    mica__text_addf(&what, i ? ", %s" : "%s", field->classes.names[i]);
  if (field->classes.count > 20) mica__text_add(&what, ", ...");
  if (are_numbers(&field->classes)) mica__text_add(&what, OR_REGRESS);
  mica_status status = fail_cell(field, r, what.data ? what.data : "is not one of the classes");
  mica__text_free(&what);
  return status;
}

mica_status mica__field_class(const mica__field *field, const mica__records *r, int32_t *class_index) {
  char what[120];
  double value = 0;
  *class_index = -1;
  if (field->open && mica__field_lacks(field, r->cells[field->at])) return MICA_OK;
  if (field->numbered) {
    if (!mica__cell_number(r->cells[field->at], &value) || value != floor(value) || value < 0 ||
        value >= (double)field->limit) {
      snprintf(what, sizeof what, "is not a class, a whole number from 0 to %d" OR_REGRESS, (int)field->limit - 1);
      return fail_cell(field, r, what);
    }
    *class_index = (int32_t)value;
    return MICA_OK;
  }
  MICA_TRY(mica__dictionary_find(&field->classes, r->cells[field->at], class_index));
  return *class_index >= 0 || !field->label ? MICA_OK : fail_name(field, r);
}

mica_status mica__field_number(const mica__field *field, const mica__records *r, float *value) {
  const mica__cell cell = r->cells[field->at];
  double number = field->open ? (double)NAN : field->fill;
  if (!mica__cell_number(cell, &number) && !((field->fills || field->open) && mica__cell_is_missing(cell)))
    return fail_cell(field, r, "is not a number from -3.4e38 to 3.4e38");
  *value = (float)(number - field->base);
  return MICA_OK;
}

mica_status mica__field_answers(const mica__schema *schema, const mica__records *r, void *answers) {
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    float number = 0;
    if (!field->label || field->at == SIZE_MAX) continue;
    MICA_TRY(mica__field_number(field, r, &number));
    if (!schema->flags)
      ((float *)answers)[field->part] = number;
    else if (isnan(number) || number == 0 || number == 1)
      ((uint8_t *)answers)[field->part] = isnan(number) ? UINT8_MAX : (uint8_t)number;
    else
      return fail_cell(field, r, "is neither 0 nor 1");
  }
  return MICA_OK;
}

mica_status mica__field_time(const mica__field *field, const mica__records *r, int64_t *seconds) {
  double value = 0;
  if (field->days && mica__cell_day(r->cells[field->at], seconds)) return MICA_OK;
  if (mica__cell_time(r->cells[field->at], seconds)) return MICA_OK;
  if (!mica__cell_number(r->cells[field->at], &value) || value != floor(value) || fabs(value) > 1e15)
    return fail_cell(field, r, "is not a time");
  *seconds = (int64_t)value;
  return MICA_OK;
}
