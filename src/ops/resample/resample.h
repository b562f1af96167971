/* ops/resample/resample.h: axes whose elements become weighted sums of others: averages over windows, resizing, and the
 * backward passes of both.
 *
 * A map says which elements of an axis output o sums, and with which weights. For the shape of a value it becomes two
 * tables (K, outputs), which are constants once the shape is known:
 *
 *    index    the elements of each output, at most K; an index outside the axis means no element
 *    weight   the weights of these elements
 *
 * The gradient is the same op with the tables of the transposed map. */
#ifndef MICA_OPS_RESAMPLE_RESAMPLE_H
#define MICA_OPS_RESAMPLE_RESAMPLE_H

#include "ops/resample/window.h"

typedef enum mica__map_kind { MICA__MAP_IDENTITY, MICA__MAP_WINDOW, MICA__MAP_RESIZE } mica__map_kind;

/* What a window's sum is divided by: 1, the number of its elements inside the axis, or their number with padding. */
typedef enum mica__map_divisor {
  MICA__DIVIDE_BY_ONE,
  MICA__DIVIDE_BY_ELEMENTS,
  MICA__DIVIDE_BY_PADDED,
} mica__map_divisor;

/* The struct has no pointers, because it is stored in a node's attributes. */
typedef struct mica__axis_map {
  int64_t kind;
  mica__resample_window window; /* for WINDOW */
  int64_t divisor;
  int64_t outputs; /* for RESIZE; 0 means floor(n scale) */
  int64_t mode, coordinates, nearest, exclude_outside, antialias;
  double scale, cubic_a, crop_start, crop_end; /* a scale of 0 means outputs / n */
} mica__axis_map;

/* Sets *outputs to the number of outputs for an axis of n elements. MICA_E_SHAPE if a window does not fit, or if a
 * resizing would give 2^40 or more. */
mica_status mica__map_outputs(const mica__axis_map *map, int64_t n, int64_t *outputs);

/* Sets *taps to the most elements that any output sums, at least 1; for the transposed map, to the most outputs that
 * use one element. */
mica_status mica__map_taps(const mica__axis_map *map, int64_t n, bool transposed, int64_t *taps);
/* Fills the tables, taps x outputs (for the transposed map taps x n); either may be NULL. */
mica_status mica__map_tables(const mica__axis_map *map, int64_t n, bool transposed, int64_t taps, double *index,
                             double *weight);

extern const mica__op mica__op_resample, mica__op_resample_index, mica__op_resample_weight;

/* Adds a node that computes a table of the map for an axis of x; `table` is resample_index or resample_weight. */
mica_value mica__axis_table(const mica__op *table, mica_value x, int32_t axis, const mica__axis_map *map);

/* mica__resample resamples every axis k of x, which is floating, by maps[k]; mica__resample_axis only one. */
mica_value mica__resample(mica_value x, const mica__axis_map *maps);
mica_value mica__resample_axis(mica_value x, int32_t axis, const mica__axis_map *map);

#endif
