/* Tables without names of columns: finds out from the number of columns which of the expected ones are there. */
#include "data/table/table.h"

/* True unless the record has a number at the position of a column that the network does not use, whose cells are
 * expected to be texts. Classes, times and texts may be numbers too, so a number is only a hint that the table does not
 * have that column. `label`: the table has its label columns. */
static bool texts_in_place(const mica__records *r, const mica__schema *known, bool label) {
  double value;
  for (size_t i = 0, at = 0; i < known->count; i++) {
    const mica__field *field = &known->fields[i];
    if (field->label && !label) continue;
    if (at < r->count && field->unused && !field->unread && mica__cell_is_numeric(r->cells[at], &value)) return false;
    at++;
  }
  return true;
}

/* Finds out whether the record can have the known columns, with or without the labels and the unused ones: a column of
 * numbers has a number, and a label has one of its classes, unless the cell is missing. */
static mica_status is_possible(const mica__records *r, const mica__schema *known, bool label, bool unused,
                               bool *possible) {
  double value;
  *possible = true;
  for (size_t i = 0, at = 0; i < known->count && *possible; i++) {
    const mica__field *field = &known->fields[i];
    if ((field->label && !label) || (field->unused && !unused)) continue;
    if (at >= r->count) return MICA_OK;
    const mica__cell cell = r->cells[at++];
    int32_t index = -1;
    if (field->unused || mica__cell_is_missing(cell)) continue;
    if (field->kind == MICA_COLUMN_KIND_CLASS && !field->numbered) {
      MICA_TRY(mica__dictionary_find(&field->classes, cell, &index));
      *possible = index >= 0;
    } else {
      *possible = mica__cell_is_numeric(cell, &value);
    }
  }
  return MICA_OK;
}

mica_status mica__schema_layout(mica__records *records, bool header, size_t columns, const mica__schema *known,
                                bool *label, bool *unused) {
  size_t spare = 0, labels = 0;
  size_t line = 1;
  bool found = false;
  for (size_t i = 0; i < known->count; i++) {
    spare += known->fields[i].unused;
    labels += known->fields[i].label;
  }
  mica__records_rewind(records);
  for (int i = 0; i < 1 + header; i++) {
    MICA_TRY(mica__records_next(records, &found));
    if (i == 0) line = records->line;
  }
  int best = -1;
  for (int i = 0; i < 4; i++) {
    const bool with_label = !(i & 1), with_unused = i < 2;
    bool possible = true;
    if (columns != known->count - (with_label ? 0 : labels) - (with_unused ? 0 : spare)) continue;
    if (found) MICA_TRY(is_possible(records, known, with_label, with_unused, &possible));
    const int rank = 2 * possible + (!with_unused || !found || texts_in_place(records, known, with_label));
    if (rank <= best) continue;
    best = rank;
    *label = with_label;
    *unused = with_unused;
  }
  if (best >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the network was trained on %zu%s", records->name,
                    line, columns, known->count - spare - labels, labels ? " and the answer" : "");
}

mica_status mica__table_width(const char *name, char *content, size_t size, size_t *columns) {
  mica__records records = mica__records_in(name, content, size);
  bool found = false;
  mica_status status = mica__records_find_delimiter(&records);
  if (status == MICA_OK) status = mica__records_next(&records, &found);
  *columns = found ? records.count : 0;
  mica__records_free(&records);
  return status;
}
