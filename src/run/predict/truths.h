/* run/predict/truths.h: the known answers of samples, in the numbers and units of a run. */
#ifndef MICA_RUN_PREDICT_TRUTHS_H
#define MICA_RUN_PREDICT_TRUTHS_H

#include "base/error.h"

#include <mica/run.h>

struct mica__records;
struct mica__cell;

/* How many numbers a true answer has: one for a class or a number; for several numbers or labels (0 or 1), one each. */
size_t mica__truth_count(const mica_run *run);

/* The name of the table's column that holds number k of the true answer; "" if it has no name. */
const char *mica__truth_name(const mica_run *run, size_t k);

/* State for reading the true answers of a dataset that fits the run. Zero it before mica__truths_open, and close it
 * even if that fails. */
typedef struct mica__truths {
  const mica_dataset *data;
  size_t column, count;
  int32_t *map;
  void *row;
  double base;
} mica__truths;

mica_status mica__truths_open(const mica_run *run, const mica_dataset *data, mica__truths *truths);
/* Reads a sample's true answer, mica__truth_count numbers; a number is NaN if it is unknown. */
mica_status mica__truths_read(const mica__truths *truths, uint64_t sample, double *truth);
void mica__truths_close(mica__truths *truths);
/* Reads the true answer in a cell: a class, a number, or 0 or 1 for a label; NaN if the cell is empty. If the cell is
 * wrong, MICA_E_FORMAT with a message that names file, line and cell. */
mica_status mica__truth_of_cell(const mica_run *run, const struct mica__records *records, const struct mica__cell *cell,
                                double *truth);

#endif
