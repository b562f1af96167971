/* data/table/listed.h: samples without labels: the rows of a table that names them (nodes, SMILES strings) but lacks a
 * column of labels, or the lines of a text. */
#ifndef MICA_DATA_TABLE_LISTED_H
#define MICA_DATA_TABLE_LISTED_H

#include "base/error.h"

#include <mica/data.h>

/* Makes a dataset with the texts of one or two columns of the table at `path`. *data is NULL if the table lacks one of
 * `columns` or has all of `answers`, the columns of labels. */
mica_status mica__listed_open(const char *path, const char *const *columns, size_t count, const char *const *answers,
                              size_t answer_count, mica_dataset **data);
/* Makes a dataset with one column of texts, one per line of `text`. Empty lines are skipped. */
mica_status mica__listed_lines(const char *name, const char *text, const char *column, mica_dataset **data);

#endif
