/* run/predict/truths.h: what samples are known to be, in the numbers and units of a run. */
#ifndef MICA_RUN_PREDICT_TRUTHS_H
#define MICA_RUN_PREDICT_TRUTHS_H

#include "base/error.h"

#include <mica/run.h>

struct mica__records;
struct mica__cell;

/* Numbers of a truth: one class or number, or one per number or label (0 or 1) of several. */
size_t mica__truth_count(const mica_run *run);

/* The name of such a number's column in a table; "" if it has none. */
const char *mica__truth_name(const mica_run *run, size_t k);

/* A walk over the truths of a dataset, which fits the run. Zeros are to be closed too. */
typedef struct mica__truths {
  const mica_dataset *data;
  size_t column, count;
  int32_t *map;
  void *row;
  double base;
} mica__truths;

mica_status mica__truths_open(const mica_run *run, const mica_dataset *data, mica__truths *truths);
/* NaN: unknown. */
mica_status mica__truths_read(const mica__truths *truths, uint64_t sample, double *truth);
void mica__truths_close(mica__truths *truths);
/* The truth of a cell: a class, a number, or 0 or 1 of a label. NaN: the cell is missing. MICA_E_FORMAT names file,
 * line and cell. */
mica_status mica__truth_of_cell(const mica_run *run, const struct mica__records *records, const struct mica__cell *cell,
                                double *truth);

#endif
