/* blocks/rows.cl: y[r, c] = element c of row r of a table in blocks, or of row ids[r]; 0 if that row does not exist.
 *
 * A row of the table is `blocks` blocks in the layout of files, with any alignment. y is (rows, columns).
 *
 *   BLOCK     block type, as a mica_block
 *   Y_T       type of y
 *   I_T       type of ids
 *   INDEXED   1: rows by ids, negative ones from the end; 0: all rows in their order
 *   VW        elements along a row that a work-item computes
 *
 * One dimension of rows * columns / VW work-items. */
#include "common/group.clh"
#include "index/index.clh"

#define BLOCK_WIDTH VW
#include "blocks/block.clh"

RANGE_KERNEL block_rows(__global const uchar *table, const long table_at, __global const STORAGE(I_T) * ids,
                        const long ids_at, __global STORAGE(Y_T) * y, const long y_at, const long rows, const int n,
                        const int blocks) {
  const int columns = blocks * BLOCK_FIELD(elements), pieces = columns / VW;
  const long row = (long)get_global_id(0) / pieces;
  if (row >= rows) return;
  const int c = (int)((long)get_global_id(0) % pieces) * VW, e = c % BLOCK_FIELD(elements);
  y += y_at + row * columns;
#if INDEXED
  const long k = INDEX(I_T, ids, ids_at + row, n);
#else
  const long k = row;
#endif
  block_floats value = 0;
  if (k < n) {
    __global const uchar *p = table + table_at + (k * blocks + c / BLOCK_FIELD(elements)) * BLOCK_FIELD(bytes);
    const float2 scale = block_scale_at(p, e);
    value = block_elements(p, e, scale.x, scale.y);
  }
  STOREV(Y_T, VW, value, y, c);
}
