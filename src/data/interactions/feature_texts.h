/* data/interactions/feature_texts.h: features as texts and numbers, for files. Messages name the values in a run's
 * config.json that hold them: "features", "feature_numbers", "feature_values", "user_features" and "item_features". */
#ifndef MICA_DATA_INTERACTIONS_FEATURE_TEXTS_H
#define MICA_DATA_INTERACTIONS_FEATURE_TEXTS_H

#include "base/text.h"
#include "data/interactions/features.h"

/* Writes a column as a text, "category user city", and numbers: how many values it has, the size of its longest set,
 * mean and deviation. */
mica_status mica__feature_write(const mica__feature *one, mica__text *text, double numbers[4]);
/* Adds a row, as in "0.5 3 1,4": a number ("?" for none), a category's id, a set's ids ("-" for none). row -1: an
 * unknown one. */
void mica__features_write_row(const mica__features *f, mica__side side, int32_t row, mica__text *text);
bool mica__features_has_side(const mica__features *f, mica__side side);

/* The columns of features as mica__feature_write wrote them: columns[k] is the text of column k, and numbers[4 k] to
 * numbers[4 k + 3] are its numbers. `values` holds the values of all categories and sets, column after column. */
typedef struct mica__feature_texts {
  const char *const *columns, *const *values;
  const double *numbers;
  size_t count, value_count, number_count; /* count: of columns */
} mica__feature_texts;
/* Reads the columns that mica__feature_write has written. MICA_E_FORMAT if the texts or numbers are damaged. f must be
 * freed, also after a failure. */
mica_status mica__features_read_columns(const mica__feature_texts *texts, mica__features *f);
/* Reads the rows of a side, one text per row, into features whose columns are read. MICA_E_FORMAT if a text is damaged
 * or there are not `wanted` texts. Does nothing if no feature is of that side. */
mica_status mica__features_read_rows(mica__features *f, mica__side side, const char *const *texts, size_t count,
                                     size_t wanted);

#endif
