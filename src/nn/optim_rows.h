/* nn/optim_rows.h: sparse gradients of tables. Finds the rows that a step reads and their gradients, and writes only
 * these rows. */
#ifndef MICA_NN_OPTIM_ROWS_H
#define MICA_NN_OPTIM_ROWS_H

#include <mica/graph.h>

/* rows (M) i64 are indices of rows of a table, each at most once. Unused entries hold the table's number of rows, and
 * nothing is read or written for them. gradient (M, ...) has the table's dtype and is 0 for unused entries. */
typedef struct mica__table_rows {
  mica_value rows, gradient;
} mica__table_rows;

/* True if the table's gradient is a sum of gradients of rows that were gathered along axis 0. If so, fills *out; the
 * cost then does not depend on the table's size. */
bool mica__table_gradient(mica_value table, mica_value gradient, mica__table_rows *out);
/* Writes the new rows `next` (M, ...) into the table in place. */
void mica__table_assign(mica_value table, mica_value rows, mica_value next);

#endif
