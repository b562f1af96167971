/* run/state/parts.h: the parts of the data of a run. */
#ifndef MICA_RUN_STATE_PARTS_H
#define MICA_RUN_STATE_PARTS_H

#include <mica/data.h>

#define MICA__PARTS 3
/* The most columns whose scales are facts of their own. */
#define MICA__SCALES 4

/* The data of a part and their loader. */
typedef struct mica__run_part {
  const mica_dataset *data;
  mica_dataset *shown; /* what tests read instead of the data; NULL: the data */
  mica_loader *loader;
} mica__run_part;

typedef struct mica__run_parts {
  const mica_dataset *whole;      /* the training part, before validation samples are split off it */
  mica__run_part at[MICA__PARTS]; /* by mica_part */
  mica_dataset *outline;          /* for tables: the columns that other tables must have */
  bool outlined;                  /* the outline has a table's columns, not only the number of inputs */
  mica_batch_column *columns;     /* of the batches of tests */
  size_t column_count;
  float *mean, *deviation; /* the facts "mean" and "deviation" in the form that loaders take; NULL: none */
  float *scales;           /* likewise for `scaled`, the columns that have facts of their own */
  mica_column_config scaled[MICA__SCALES];
} mica__run_parts;

#endif
