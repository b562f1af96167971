/* mica/vision.h: builders for pictures and boxes: non-maximum suppression, sampling between pixels.
 *
 * Letters for shapes, and sticky errors, as in mica/nodes.h. A box is x0 y0 x1 y1 in pixels or any other unit.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_VISION_H
#define MICA_VISION_H

#include <mica/nodes.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

typedef struct mica_nms_config {
  double threshold;   /* suppress a box if its overlap with a kept one exceeds this, in [0, 1]; 0: 0.5; MICA_ZERO: 0 */
  double least;       /* ignore boxes with lower or equal scores; 0: ignore none; MICA_ZERO: 0 */
  int64_t most;       /* maximum number of boxes kept per row; 0: n */
  bool centers;       /* boxes are centre x, centre y, width, height */
  mica_value classes; /* (..., n) i32 or i64: boxes only suppress boxes of their class; null: one class */
} mica_nms_config;

/* kept (..., most) i32: indices of kept boxes by descending score, then -1; count (...) i32. */
typedef struct mica_nms_results {
  mica_value kept, count;
} mica_nms_results;

/* Greedy non-maximum suppression of each row of n boxes. In descending order of scores, a box is kept unless its
 * intersection over union with a kept one exceeds the threshold. Among equal scores the lower index comes first; NaN
 * scores are ignored. The overlap of two boxes without area is 0. boxes (..., n, 4): two opposite corners in any order;
 * scores (..., n). Float. For ONNX's suppression per class use scores (B, C, n) with boxes expanded to (B, C, n, 4). No
 * gradient. config may be NULL. */
MICA_API mica_nms_results mica_nms(mica_value boxes, mica_value scores, const mica_nms_config *config);

/* --- sampling between pixels --- */

/* LINEAR: the 2 nearest elements along each axis; NEAREST: the nearest one, ties to even; CUBIC: 4 along each of two
 * axes, by cubic convolution with a = -0.75 (Keys 1981). */
typedef enum mica_sample_mode {
  MICA_SAMPLE_MODE_LINEAR,
  MICA_SAMPLE_MODE_NEAREST,
  MICA_SAMPLE_MODE_CUBIC
} mica_sample_mode;
/* Elements outside. ZEROS: 0; BORDER: the nearest element; REFLECT: mirrored at the outer edges (with align: at the
 * centres of the outer elements). */
typedef enum mica_sample_padding {
  MICA_SAMPLE_PADDING_ZEROS,
  MICA_SAMPLE_PADDING_BORDER,
  MICA_SAMPLE_PADDING_REFLECT
} mica_sample_padding;

typedef struct mica_sample_config {
  mica_sample_mode mode;
  mica_sample_padding padding;
  bool align;        /* -1 and 1 are the centres of the first and last element, not their outer edges */
  bool pixels;       /* coordinates count elements: 0 is the centre of the first */
  mica_value images; /* (M) i32 or i64: image that grid[m] samples; if there is no such image, y[m] is 0; null: m */
} mica_sample_config;

/* y[m, c, p...] = x[images[m], c] at position grid[m, p...], as PyTorch's grid_sample and ONNX's GridSample. x (N, C,
 * H, W) or (N, C, D, H, W); grid (M, P..., 2 or 3) holds x along W, y along H, z along D, from -1 to 1 over the extent,
 * or in elements with `pixels`. M is N without images. y (M, C, P...) has x's dtype. Float. Differentiable once in x
 * and grid (NEAREST: in x); sums over points of the grid have a fixed order. config may be NULL. */
MICA_API mica_value mica_sample(mica_value x, mica_value grid, const mica_sample_config *config);

typedef struct mica_roi_config {
  int64_t height, width; /* cells per box; 0: 7 */
  int64_t sampling;      /* samples per cell and axis; 0: 2 */
  double scale;          /* pixels of x per unit of the boxes; 0: 1 */
  bool whole_pixels; /* no shift by half a pixel, boxes at least one pixel wide and high: torchvision's aligned=False */
  bool largest;      /* maximum of a cell's samples, not the mean */
  /* Each box takes ceil(size / cells) samples per cell and axis, as torchvision's sampling_ratio=-1, but at most
   * `sampling`. Not with largest: MICA_E_INVALID. */
  bool adaptive;
} mica_roi_config;

/* Pools boxes (K, 4) of images (K), i32 or i64, from x (N, C, H, W) to y (K, C, height, width): means (maxima with
 * `largest`) of bilinear samples; samples more than one pixel outside are 0. H and W must not be dynamic.
 * Differentiable once in x. config may be NULL. He et al. 2017. */
MICA_API mica_value mica_roi_align(mica_value x, mica_value boxes, mica_value images, const mica_roi_config *config);

/* Deformable convolution: mica_conv with two spatial axes, in which each filter element reads x at a position shifted
 * by `offset` and multiplies the value by `mask`. Between pixels it interpolates bilinearly; outside, x is 0. Dai et
 * al. 2017; Zhu et al. 2018.
 *
 *   x       (N, C, H, W)
 *   w       (K, C / groups, R, S)
 *   offset  (N, 2 G R S, P, Q): the channels are divided into G groups; one shift (y, x), in pixels, per group, filter
 *           element and output position (P, Q)
 *   mask    (N, G R S, P, Q), or null
 *   b       (K), or null
 *
 * config may be NULL; its output_pad must be 0. Differentiable once in all operands. */
MICA_API mica_value mica_deform_conv(mica_value x, mica_value offset, mica_value mask, mica_value w, mica_value b,
                                     const mica_conv_config *config);

MICA_END_DECLS

#endif
