/* nn/optim_rows.h: the gradient of a table of which a step reads a few rows: these rows and their gradients. */
#ifndef MICA_NN_OPTIM_ROWS_H
#define MICA_NN_OPTIM_ROWS_H

#include <mica/graph.h>

/* Rows of a table, (M) i64: each at most once; what is behind them, up to M, is the number of the table's rows, where
 * nothing is read or written. And their gradients, (M, ...) of the table's dtype, 0 behind them. */
typedef struct mica__table_rows {
  mica_value rows, gradient;
} mica__table_rows;

/* True, and *out is filled, if the table's gradient is a sum of gradients of rows gathered along axis 0. The table's
 * size does not matter for what that computes. */
bool mica__table_gradient(mica_value table, mica_value gradient, mica__table_rows *out);
/* Assigns the table's rows, in place: next (M, ...). */
void mica__table_assign(mica_value table, mica_value rows, mica_value next);

#endif
