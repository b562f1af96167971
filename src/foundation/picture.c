/* Pictures for a model: resized, cropped and normalised. */
#include "foundation/processor.h"

#include "base/error.h"

#include <mica/data.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- resizing --- */

#define WEIGHT_BITS 22
#define MOST_PIXELS ((int64_t)1 << 26)

static const double pi = 3.14159265358979323846;

static double sinc(double x) { return x == 0 ? 1 : sin(pi * x) / (pi * x); }

/* The weight at a distance of x pixels. Bicubic: Keys 1981 with a = -1/2. */
static double weight_at(mica__picture_filter filter, double x) {
  x = fabs(x);
  if (filter == MICA__PICTURE_FILTER_BILINEAR) return x < 1 ? 1 - x : 0;
  if (filter == MICA__PICTURE_FILTER_LANCZOS) return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

static double radius_of(mica__picture_filter filter) {
  if (filter == MICA__PICTURE_FILTER_BILINEAR) return 1;
  return filter == MICA__PICTURE_FILTER_LANCZOS ? 3 : 2;
}

/* Pixel i of the result is a weighted sum of `count` pixels, beginning at `first`; weights are fixed-point with
 * WEIGHT_BITS fraction bits. */
typedef struct taps {
  int64_t first, count;
  int32_t *weights;
} taps;

static int32_t rounded(double x) { return (int32_t)(x < 0 ? x - 0.5 : x + 0.5); }

static mica_status make_taps(mica__picture_filter filter, int64_t from, int64_t to, taps **made) {
  const double scale = (double)from / (double)to, wide = fmax(scale, 1), radius = radius_of(filter) * wide;
  const int64_t most = 2 * (int64_t)ceil(radius) + 1;
  taps *all = calloc((size_t)to, sizeof *all);
  int32_t *weights = calloc((size_t)to * (size_t)most, sizeof *weights);
  double *exact = calloc((size_t)most, sizeof *exact);
  const bool ok = all && weights && exact;
  for (int64_t i = 0; ok && i < to; i++) {
    const double centre = ((double)i + 0.5) * scale;
    const int64_t first = (int64_t)fmax(centre - radius + 0.5, 0);
    const int64_t end = (int64_t)fmin(centre + radius + 0.5, (double)from);
    double sum = 0;
    all[i] = (taps){first, end - first, weights + i * most};
    for (int64_t k = 0; k < end - first; k++)
      sum += exact[k] = weight_at(filter, ((double)(first + k) - centre + 0.5) / wide);
    for (int64_t k = 0; k < end - first; k++)
      all[i].weights[k] = rounded((sum != 0 ? exact[k] / sum : 0) * (1 << WEIGHT_BITS));
  }
  free(exact);
  if (ok) return *made = all, MICA_OK;
  free(all);
  free(weights);
  return mica__fail_nomem("resizing a picture");
}

static void free_taps(taps *all) {
  if (all) free(all[0].weights);
  free(all);
}

static uint8_t weighted(const taps *t, const uint8_t *pixels, int64_t step) {
  int64_t sum = 1 << (WEIGHT_BITS - 1);
  for (int64_t k = 0; k < t->count; k++) sum += (int64_t)pixels[(t->first + k) * step] * t->weights[k];
  sum >>= WEIGHT_BITS;
  return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

mica_status mica__picture_resize(const uint8_t *planes, int64_t channels, int64_t height, int64_t width,
                                 mica__picture_filter filter, int64_t to_height, int64_t to_width, uint8_t **out) {
  if (to_height < 1 || to_width < 1 || to_height > MOST_PIXELS / to_width || height > MOST_PIXELS / to_width)
    return mica__fail(MICA_E_FORMAT,
                      "a picture of %" PRId64 " x %" PRId64 " pixels cannot be resized to %" PRId64 " x %" PRId64
                      ": the result, or a step on the way to it, would be empty or too large",
                      height, width, to_height, to_width);
  taps *columns = NULL, *rows = NULL;
  uint8_t *between = malloc((size_t)(channels * height * to_width));
  uint8_t *made = malloc((size_t)(channels * to_height * to_width));
  mica_status status = between && made ? MICA_OK : mica__fail_nomem("resizing a picture");
  if (status == MICA_OK) status = make_taps(filter, width, to_width, &columns);
  if (status == MICA_OK) status = make_taps(filter, height, to_height, &rows);
  for (int64_t y = 0; status == MICA_OK && y < channels * height; y++)
    for (int64_t x = 0; x < to_width; x++) between[y * to_width + x] = weighted(&columns[x], planes + y * width, 1);
  for (int64_t y = 0; status == MICA_OK && y < channels * to_height; y++)
    for (int64_t x = 0; x < to_width; x++)
      made[y * to_width + x] =
          weighted(&rows[y % to_height], between + y / to_height * height * to_width + x, to_width);
  free_taps(columns);
  free_taps(rows);
  free(between);
  if (status == MICA_OK)
    *out = made;
  else
    free(made);
  return status;
}

/* --- all steps --- */

/* Replaces the height and width of a picture by those after resizing. */
static void size_after(const mica__processor *p, int64_t *height, int64_t *width) {
  const int64_t h = *height, w = *width;
  if (p->shortest) {
    *height = h <= w ? p->shortest : p->shortest * h / w;
    *width = h <= w ? p->shortest * w / h : p->shortest;
  } else if (p->height) {
    *height = p->height;
    *width = p->width;
  }
}

/* Crops the centre of planes, pads smaller pictures with zeros, and normalises. */
static void finish(const mica__processor *p, const uint8_t *planes, int64_t height, int64_t width, int64_t side,
                   float *pixels) {
  const int64_t top = height >= side ? (height - side) / 2 : -((side - height + 1) / 2);
  const int64_t left = width >= side ? (width - side) / 2 : -((side - width + 1) / 2);
  for (int64_t c = 0; c < p->channels; c++)
    for (int64_t y = 0; y < side; y++)
      for (int64_t x = 0; x < side; x++) {
        const int64_t from_y = y + top, from_x = x + left;
        const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        const double pixel = inside ? planes[(c * height + from_y) * width + from_x] : 0;
        pixels[(c * side + y) * side + x] = (float)((pixel * p->factor - p->mean[c]) / p->deviation[c]);
      }
}

mica_status mica__processor_apply(const mica__processor *p, const char *path, int64_t side, float *pixels) {
  uint8_t *read = NULL, *resized = NULL;
  mica_shape shape = {0};
  MICA_TRY(mica_image_read(path, MICA_SHAPE(p->channels, 0, 0), &read, &shape));
  int64_t height = shape.dim[1], width = shape.dim[2];
  size_after(p, &height, &width);
  mica_status status = MICA_OK;
  if (height != shape.dim[1] || width != shape.dim[2])
    status = mica__picture_resize(read, p->channels, shape.dim[1], shape.dim[2], p->filter, height, width, &resized);
  const int64_t got_height = p->crop_height ? p->crop_height : height,
                got_width = p->crop_width ? p->crop_width : width;
  if (status == MICA_OK && (got_height != side || got_width != side))
    status = mica__fail(MICA_E_FORMAT,
                        "%s: preprocessor_config.json makes a picture of %" PRId64 " x %" PRId64
                        " pixels, but the model reads %" PRId64 " x %" PRId64,
                        path, got_height, got_width, side, side);
  if (status == MICA_OK) finish(p, resized ? resized : read, height, width, side, pixels);
  free(resized);
  mica_free(read);
  return status;
}
