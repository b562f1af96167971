/* run/columns/kinds.h: the kinds of columns, and the bases that are subtracted from their numbers. */
#ifndef MICA_RUN_COLUMNS_KINDS_H
#define MICA_RUN_COLUMNS_KINDS_H

#include "base/text.h"

#include <mica/run.h>

/* The kinds that a table's column may have; NULL after the last. */
const char *mica__kind_at(size_t i);
/* MICA_E_INVALID if the text is not a list of NAME=KIND, or has a name twice. */
mica_status mica__kinds_check(const char *kinds);
/* Checks that the data have all columns that the setting "kinds" names. If not, MICA_E_INVALID with a message that
 * names the column. */
mica_status mica__run_check_kinds(const mica_run *run);
/* Collects the kinds of columns that settings and stored values state, for tables that are opened from now on. */
mica_status mica__run_note_kinds(mica_run *run);
/* mica__run_note_bases stores the bases of the table's columns (bases.c) with the run. mica__run_take_bases reads them
 * into run->facts->bases. */
mica_status mica__run_note_bases(mica_run *run);
mica_status mica__run_take_bases(mica_run *run);
/* The name of the answer's column in a table; "label" for arrays, "" if there is none. */
const char *mica__run_label_name(const mica_run *run);
/* Appends the bases as a JSON object of names and numbers. */
void mica__run_bases_text(const mica_run *run, mica__text *json);
/* Reads the JSON object of bases, or the lines of older models, from a model's metadata into the form that
 * mica_dataset_config takes. `columns` is the list of names in the metadata, or NULL if they have no such list. */
mica_status mica__bases_parse(const char *bases, const char *columns, mica__text *lines);
/* Adds the base to a number from which it was subtracted. Several decimal numbers become the same f32 when the base is
 * subtracted; of these, returns the one with the fewest digits. */
double mica__run_above_base(float number, double base);
/* The base of the column of this name, of the k-th input number, or of the answer; 0 if nothing is subtracted. */
double mica__run_base(const mica_run *run, const char *name);
double mica__run_number_base(const mica_run *run, size_t k);
double mica__run_label_base(const mica_run *run);

#endif
