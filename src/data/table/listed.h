/* data/table/listed.h: samples that are given only by name, in tables without answers or one per line. */
#ifndef MICA_DATA_TABLE_LISTED_H
#define MICA_DATA_TABLE_LISTED_H

#include "base/error.h"

#include <mica/data.h>

/* Reads one or two columns of texts of the table at path, by names, if it has them and lacks one of the columns of
 * answers; else *data is NULL. */
mica_status mica__listed_open(const char *path, const char *const *columns, size_t count, const char *const *answers,
                              size_t answer_count, mica_dataset **data);
/* Makes a dataset with the lines of a text as a column; empty ones are skipped. */
mica_status mica__listed_lines(const char *name, const char *text, const char *column, mica_dataset **data);

#endif
