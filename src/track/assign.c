/* Assignments of least cost (Kuhn 1955, with shortest augmenting paths as in Jonker and Volgenant 1987), and overlaps
 * of boxes. */
#include "track/track.h"

#include <math.h>
#include <stdlib.h>

bool mica__box_is_sound(const double box[4]) {
  for (int k = 0; k < 4; k++)
    if (!(fabs(box[k]) <= MICA__TRACK_FAR)) return false;
  return box[2] - box[0] >= MICA__TRACK_THIN && box[3] - box[1] >= MICA__TRACK_THIN;
}

double mica__box_overlap(const double a[4], const double b[4]) {
  const double width = fmin(a[2], b[2]) - fmax(a[0], b[0]), height = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height;
  return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

/* An assignment under construction. Lines are the rows or the columns of the matrix, whichever are fewer; cells are the
 * others. Both are numbered from 1. Cell 0 has the line that is being added. */
typedef struct assignment {
  const double *cost;
  size_t lines, cells, line_step, cell_step;
  double *line_potential, *cell_potential, *shortest;
  size_t *line_of, *before; /* per cell: its line (0: none), and the cell before it on the shortest path */
  bool *reached;
} assignment;

/* Finds the shortest path from cell 0 to a free cell, and changes the potentials so that all steps of the path have
 * reduced cost 0. Returns the free cell. */
static size_t find_path(assignment *a) {
  size_t at = 0;
  for (size_t j = 0; j <= a->cells; j++) a->shortest[j] = INFINITY, a->reached[j] = false;
  do {
    const size_t line = a->line_of[at];
    double least = INFINITY;
    size_t next = 0;
    a->reached[at] = true;
    for (size_t j = 1; j <= a->cells; j++) {
      if (a->reached[j]) continue;
      const double reduced =
          a->cost[(line - 1) * a->line_step + (j - 1) * a->cell_step] - a->line_potential[line] - a->cell_potential[j];
      if (reduced < a->shortest[j]) a->shortest[j] = reduced, a->before[j] = at;
      if (!next || a->shortest[j] < least) least = a->shortest[j], next = j;
    }
    for (size_t j = 0; j <= a->cells; j++) {
      if (a->reached[j])
        a->line_potential[a->line_of[j]] += least, a->cell_potential[j] -= least;
      else
        a->shortest[j] -= least;
    }
    at = next;
  } while (a->line_of[at]);
  return at;
}

mica_status mica__assign(const double *cost, size_t rows, size_t columns, int64_t *column_of) {
  const bool flip = columns < rows;
  assignment a = {.cost = cost,
                  .lines = flip ? columns : rows,
                  .cells = flip ? rows : columns,
                  .line_step = flip ? 1 : columns,
                  .cell_step = flip ? columns : 1};
  for (size_t i = 0; i < rows; i++) column_of[i] = -1;
  a.line_potential = calloc(a.lines + 1, sizeof(double));
  a.cell_potential = calloc(a.cells + 1, sizeof(double));
  a.shortest = calloc(a.cells + 1, sizeof(double));
  a.line_of = calloc(a.cells + 1, sizeof(size_t));
  a.before = calloc(a.cells + 1, sizeof(size_t));
  a.reached = calloc(a.cells + 1, sizeof(bool));
  const bool good = a.line_potential && a.cell_potential && a.shortest && a.line_of && a.before && a.reached;
  for (size_t line = 1; good && line <= a.lines; line++) {
    a.line_of[0] = line;
    for (size_t at = find_path(&a); at; at = a.before[at]) a.line_of[at] = a.line_of[a.before[at]];
  }
  for (size_t j = 1; good && j <= a.cells; j++) {
    if (!a.line_of[j]) continue;
    const size_t line = a.line_of[j] - 1;
    column_of[flip ? j - 1 : line] = (int64_t)(flip ? line : j - 1);
  }
  free(a.line_potential);
  free(a.cell_potential);
  free(a.shortest);
  free(a.line_of);
  free(a.before);
  free(a.reached);
  return good ? MICA_OK : mica__fail_nomem("an assignment");
}
