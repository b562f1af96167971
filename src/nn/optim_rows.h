/* nn/optim_rows.h: gradients of tables by rows: the rows that a step reads, and their gradients. */
#ifndef MICA_NN_OPTIM_ROWS_H
#define MICA_NN_OPTIM_ROWS_H

#include <mica/graph.h>

/* Rows of a table, (M) i64, each at most once. Unused entries hold the table's number of rows; nothing is read or
 * written there. gradient: (M, ...) of the table's dtype, 0 for unused entries. */
typedef struct mica__table_rows {
  mica_value rows, gradient;
} mica__table_rows;

/* True if the table's gradient is a sum of gradients of rows gathered along axis 0; then fills *out. The cost does not
 * depend on the table's size. */
bool mica__table_gradient(mica_value table, mica_value gradient, mica__table_rows *out);
/* Assigns rows of the table in place: next (M, ...). */
void mica__table_assign(mica_value table, mica_value rows, mica_value next);

#endif
