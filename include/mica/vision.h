/* mica/vision.h: builders for pictures and boxes: suppression of boxes, reading between
 * elements.
 *
 * Letters and stickiness as in mica/nodes.h. A box is x0 y0 x1 y1, in pixels or any other unit. Threads: as
 * mica/graph.h. */
#ifndef MICA_VISION_H
#define MICA_VISION_H

#include <mica/nodes.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

typedef struct mica_nms_config {
  double threshold;   /* a box falls where its overlap with a kept one is above, in [0, 1]; 0: 0.5, MICA_ZERO: 0 */
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

/* --- reading between elements --- */

/* LINEAR: of the 2 elements about a position along each axis; NEAREST: the nearest one, ties to even; CUBIC: of 4 along
 * each of two axes, by cubic convolution with a = -0.75 (Keys 1981). */
typedef enum mica_sample_mode {
  MICA_SAMPLE_MODE_LINEAR,
  MICA_SAMPLE_MODE_NEAREST,
  MICA_SAMPLE_MODE_CUBIC
} mica_sample_mode;
/* Elements outside. ZEROS: 0; BORDER: the nearest element; REFLECT: mirrored at the borders' edges, with align at their
 * centres. */
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
  mica_value images; /* (M) i32 or i64: the image that part m of the grid reads (one outside reads 0); null: m */
} mica_sample_config;

/* y[m, c, p...] = x[images[m], c] at the position grid[m, p...]: PyTorch's grid_sample, ONNX's GridSample. x (N, C,
 * H, W) or (N, C, D, H, W), grid (M, P..., 2 or 3): x along W, y along H, z along D, from -1 to 1 over the extent; M
 * is N where there are no images. y (M, C, P...) has x's dtype; float. Gradients in x and grid (of NEAREST in x),
 * once; sums over points of the grid in a fixed order. config may be NULL. */
MICA_API mica_value mica_sample(mica_value x, mica_value grid, const mica_sample_config *config);

typedef struct mica_roi_config {
  int64_t height, width; /* cells of a box; 0: 7 */
  int64_t sampling;      /* samples of a cell along each axis; 0: 2 */
  double scale;          /* from the units of the boxes to pixels of x; 0: 1 */
  bool whole_pixels; /* no shift by half a pixel, and boxes are a pixel large at least: torchvision's aligned=False */
  bool largest;      /* the largest sample of a cell, not the mean */
} mica_roi_config;

/* The boxes (K, 4) of the images (K), i32 or i64, of x (N, C, H, W), H and W not open, each as (C, height, width):
 * means of samples, linear between pixels, of which those more than a pixel outside are 0. He et al. 2017. y (K, C,
 * height, width); gradient in x, once. config may be NULL. */
MICA_API mica_value mica_roi_align(mica_value x, mica_value boxes, mica_value images, const mica_roi_config *config);

/* mica_conv of two axes whose filters' elements read x where `offset` moves them to, linear between pixels, 0 outside,
 * times `mask`. x (N, C, H, W), w (K, C / groups, R, S), offset (N, 2 parts R S, P, Q): for each part of the channels
 * and each element of a filter by how much y, x, in pixels; mask (N, parts R S, P, Q) and b (K) may be null. No
 * output_pad. Gradients in all, once. Dai et al. 2017; Zhu et al. 2018. */
MICA_API mica_value mica_deform_conv(mica_value x, mica_value offset, mica_value mask, mica_value w, mica_value b,
                                     const mica_conv_config *config);

MICA_END_DECLS

#endif
