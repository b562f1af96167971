/* networks/detector.h: a detector that predicts a box at each point of a grid (FCOS, Tian et al. 2019). Computes the
 * targets and losses for training, and turns predictions into boxes.
 *
 * The network's output z is (N, points, classes + 5). Its numbers per point are a score per class and the centre-ness,
 * both before the sigmoid, and the distances in pixels to the left, top, right and bottom side of a box. */
#ifndef MICA_NETWORKS_DETECTOR_H
#define MICA_NETWORKS_DETECTOR_H

#include <mica/nn.h>

/* The numbers of a found box: x0 y0 x1 y1 in pixels of the network's input, score, class. Class -1: no box. */
#define MICA__BOX_NUMBERS 6

/* The points of a frame, with constants of each point, (1, points):
 *
 *   x, y       its position in pixels
 *   low, high  a point is responsible for a box only if the box's farthest side is more than `low` and
 *              at most `high` pixels away
 *   radius     and only if it is within this distance of the box's centre, along each axis */
typedef struct mica__detector_points {
  int64_t count, height, width;
  mica_value x, y, low, high, radius;
} mica__detector_points;

/* Makes the points of a frame of this size. If memory is short, records an error in the graph. */
mica__detector_points mica__detector_points_of(mica_graph *graph, int64_t height, int64_t width);
/* Turns distances (N, points, 4) of each point from the left, top, right and bottom side of a box into the box's
 * corners x0 y0 x1 y1. */
mica_value mica__detector_corners(const mica__detector_points *p, mica_value distances);

/* What the network should predict at each point. */
typedef struct mica__detector_targets {
  mica_value positive; /* (N, points) f32: 1 if the point is to find a box */
  mica_value counts;   /* (N, points) f32: 0 if the point is inside an ignored box and not positive; it then adds to no
                        * loss */
  mica_value label;    /* (N, points) i32: class; meaningless unless positive */
  mica_value box;      /* (N, points, 4): corners; meaningless unless positive */
  mica_value centre;   /* (N, points) f32: centre-ness */
} mica__detector_targets;

/* Finds the targets of each point. boxes (N, M, 4), label (N, M), ignored (N, M) or null. Boxes with `ignored` above 0
 * are not assigned; a point inside such a box has counts 0 unless it is positive.
 *
 * A point is responsible for the smallest box for which all of these hold:
 * - the box contains the point,
 * - the centre of the box is within `radius` of the point along each axis,
 * - the farthest side of the box is between `low` and `high` pixels away. */
mica__detector_targets mica__detector_assign(const mica__detector_points *p, mica_value boxes, mica_value label,
                                             mica_value ignored);

/* Sums over all points of the batch. `positive` is the number of points that are to find a box, `found` the same, but
 * at least 1; `total` is the sum of the three losses, divided by `found`. */
typedef struct mica__detector_losses {
  mica_value of_class, of_box, of_centre, positive, found, total;
} mica__detector_losses;
mica__detector_losses mica__detector_losses_of(const mica__detector_points *p, mica_value z, int32_t classes,
                                               const mica__detector_targets *t);

/* How boxes are chosen. */
typedef struct mica__detector_choice {
  int32_t classes;
  int64_t most;     /* maximum number of boxes per picture */
  double overlap;   /* largest intersection over union of a box with a better one of the same class */
  mica_value sizes; /* (N, 2): width and height of the pictures in their files; null: pictures fill their frames */
} mica__detector_choice;
/* The best boxes, highest score first, then rows with class -1: (N, most, MICA__BOX_NUMBERS). */
mica_value mica__detector_find(const mica__detector_points *p, mica_value z, const mica__detector_choice *choice);

#endif
