/* run/columns/kinds.h: the kinds of columns, and the bases that are subtracted from their numbers. */
#ifndef MICA_RUN_COLUMNS_KINDS_H
#define MICA_RUN_COLUMNS_KINDS_H

#include "base/text.h"

#include <mica/run.h>

/* The kinds that a table's column may have; NULL after the last. */
const char *mica__kind_at(size_t i);
/* MICA_E_INVALID if the text is not a list of NAME=KIND, or has a name twice. */
mica_status mica__kinds_check(const char *kinds);
/* MICA_E_INVALID, naming the column, if the setting "kinds" names a column that the data do not have. */
mica_status mica__run_check_kinds(const mica_run *run);
/* Collects the kinds of columns that settings and facts state, for tables that are opened from now on. */
mica_status mica__run_note_kinds(mica_run *run);
/* Turns the bases of the table's columns (bases.c) into a fact, and a fact into run->facts->bases. */
mica_status mica__run_note_bases(mica_run *run);
mica_status mica__run_take_bases(mica_run *run);
/* The name of the answer's column in a table; "label" for arrays, "" if there is none. */
const char *mica__run_label_name(const mica_run *run);
/* The bases as a JSON object of names and numbers. */
void mica__run_bases_text(const mica_run *run, mica__text *json);
/* Reads the JSON object of bases, or the lines of older models, from a model's metadata into the form that
 * mica_dataset_config takes. `columns` is the list of names in the metadata; NULL: there is none. */
mica_status mica__bases_parse(const char *bases, const char *columns, mica__text *lines);
/* Adds the base to a number from which it was subtracted. Several decimals round to the same f32; the result is the one
 * with the fewest digits. */
double mica__run_above_base(float number, double base);
/* The base of the column of this name, of the k-th input number, or of the answer; 0: none. */
double mica__run_base(const mica_run *run, const char *name);
double mica__run_number_base(const mica_run *run, size_t k);
double mica__run_label_base(const mica_run *run);

#endif
