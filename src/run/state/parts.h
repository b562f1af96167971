/* run/state/parts.h: the parts of the data of a run. */
#ifndef MICA_RUN_STATE_PARTS_H
#define MICA_RUN_STATE_PARTS_H

#include <mica/data.h>

#define MICA__PARTS 3
/* Maximum number of columns whose mean and deviation are stored under names of their own, such as "target_mean". */
#define MICA__SCALES 4

/* The data of a part and their loader. */
typedef struct mica__run_part {
  const mica_dataset *data;
  mica_dataset *shown; /* what tests read instead of the data; NULL if they read the data */
  mica_loader *loader;
} mica__run_part;

typedef struct mica__run_parts {
  const mica_dataset *whole;      /* the training part, before validation samples are split off it */
  mica__run_part at[MICA__PARTS]; /* by mica_part */
  mica_dataset *outline;          /* for tables: a dataset without rows, with the columns that other tables must have */
  bool outlined;                  /* the outline has a table's columns, not only the number of inputs */
  mica_batch_column *columns;     /* of the batches of tests */
  size_t column_count;
  float *mean, *deviation; /* the stored values "mean" and "deviation" in the form that loaders take, or NULL */
  float *scales; /* means and deviations of the columns in `scaled`, in the same form; NULL if there are none */
  mica_column_config scaled[MICA__SCALES];
} mica__run_parts;

#endif
