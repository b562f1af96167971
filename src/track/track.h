/* track/track.h: what the files of this folder share. */
#ifndef MICA_TRACK_TRACK_H
#define MICA_TRACK_TRACK_H

#include "base/error.h"

#include <mica/track.h>
#include <stdbool.h>

/* Coordinates beyond this, and sides below this, are refused, so that areas and their ratios are finite and above 0. */
#define MICA__TRACK_FAR 1e9
#define MICA__TRACK_THIN 1e-9

/* True if x0 y0 x1 y1 have an area and are not too far away. */
bool mica__box_is_sound(const double box[4]);
/* Intersection over union of two boxes with an area. */
double mica__box_overlap(const double a[4], const double b[4]);

/* The Hungarian method with potentials, O(n n m) for n <= m. Assigns a column of its own to each row, so that the sum
 * of costs is smallest. If there are fewer columns than rows, each column gets a row of its own.
 * cost: rows x columns, finite; column_of[row] receives the column, or -1. MICA_E_NOMEM. */
mica_status mica__assign(const double *cost, size_t rows, size_t columns, int64_t *column_of);

/* Reads the lines of a file's text, which need not end with a NUL. `name` is for messages. The caller frees *boxes. */
mica_status mica__track_parse(const char *name, const char *text, size_t size, mica_track_box **boxes, size_t *count);

#endif
