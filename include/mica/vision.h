/* mica/vision.h: builders for pictures and boxes: suppression of boxes.
 *
 * Letters and stickiness as in mica/nodes.h. A box is x0 y0 x1 y1, in pixels or any other unit. Threads: as
 * mica/graph.h. */
#ifndef MICA_VISION_H
#define MICA_VISION_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

typedef struct mica_nms_config {
  double threshold;   /* a box falls where its overlap with a kept one is above; 0: 0.5, MICA_ZERO: 0 */
  double least;       /* only boxes of scores above it take part; 0: all, MICA_ZERO: above 0 */
  int64_t most;       /* boxes kept of a row, at most; 0: n */
  bool centers;       /* boxes are centre x, y, width, height */
  mica_value classes; /* (..., n) i32 or i64: only boxes of one class suppress each other; null: all do */
} mica_nms_config;

/* kept (..., most) i32: positions of the boxes that stay, by falling score, -1 behind count; count (...) i32. */
typedef struct mica_nms_results {
  mica_value kept, count;
} mica_nms_results;

/* Greedy suppression of each row of n boxes: by falling score (of equal ones the lower index first; a NaN takes no
 * part) a box is kept unless one kept before overlaps it by more than the threshold. The overlap is intersection
 * over union, of two boxes without area none. boxes (..., n, 4): two opposite corners, in any order; scores (...,
 * n); floats. ONNX's suppression by classes is scores (B, C, n) with boxes expanded to (B, C, n, 4). Integers: no
 * gradient. config may be NULL. */
MICA_API mica_nms_results mica_nms(mica_value boxes, mica_value scores, const mica_nms_config *config);

MICA_END_DECLS

#endif
