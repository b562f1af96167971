#include "data/picture/image.h"

#include "base/checked.h"
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool mica__image_is_named(const char *name) {
  static const char *const endings[] = {".png", ".jpg", ".jpeg"};
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
    if (!strcasecmp(dot, endings[i])) return true;
  return false;
}

mica_status mica__image_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                               int32_t width, mica__image *image) {
  const bool png = mica__image_is_png(content, size), jpeg = size >= 3 && !memcmp(content, "\xff\xd8\xff", 3);
  if (!size) return mica__fail(MICA_E_FORMAT, "%s is an empty file", name);
  if (!png && !jpeg) return mica__fail(MICA_E_FORMAT, "%s is neither PNG nor JPEG", name);
  const int orientation = mica__image_orientation(content, size);
  const bool swap = orientation >= 5;
  MICA_TRY(png ? mica__png_decode(name, content, size, channels, image)
               : mica__jpeg_decode(name, content, size, channels, swap ? width : height, swap ? height : width, image));
  mica_status status = mica__image_rotate(name, image, orientation);
  if (status == MICA_OK) return MICA_OK;
  free(image->pixels);
  image->pixels = NULL;
  return status;
}

/* The filter along one axis: each pixel of the result is a weighted sum of `taps` pixels of the picture, beginning with
 * `first`. */
typedef struct axis {
  int32_t taps;
  int32_t *first;
  float *weights; /* `taps` per pixel of the result */
} axis;

static void free_axis(axis *a) {
  free(a->first);
  free(a->weights);
}

/* Computes a triangle filter for a picture of `size` pixels that becomes `out` pixels; `scale` is the number of the
 * picture's pixels per pixel of the result. The radius of the triangle is `scale`, but at least one pixel. */
static mica_status make_axis(int32_t size, int32_t out, double scale, axis *a) {
  double offset = (size - scale * out) / 2, radius = fmax(scale, 1);
  size_t elements = 0;
  a->taps = (int32_t)ceil(2 * radius) + 1;
  if (a->taps > size) a->taps = size;
  a->first = malloc((size_t)out * sizeof *a->first);
  a->weights =
      mica__mul_size((uint64_t)out, (uint64_t)a->taps, &elements) ? calloc(elements, sizeof *a->weights) : NULL;
  if (!a->first || !a->weights) return mica__fail_nomem("scaling a picture");
  for (int32_t i = 0; i < out; i++) {
    double centre = offset + (i + 0.5) * scale - 0.5, sum = 0;
    double begin = fmin(fmax(ceil(centre - radius), 0), size - a->taps);
    float *weights = a->weights + (size_t)i * (size_t)a->taps;
    a->first[i] = (int32_t)begin;
    for (int32_t k = 0; k < a->taps; k++) {
      double weight = fmax(1 - fabs(begin + k - centre) / radius, 0);
      weights[k] = (float)weight;
      sum += weight;
    }
    for (int32_t k = 0; k < a->taps; k++) weights[k] = sum > 0 ? (float)(weights[k] / sum) : k == 0;
  }
  return MICA_OK;
}

/* Filters along the width first, into rows of floats, then along the height. */
static void scale_planes(const mica__image *image, const axis *across, const axis *down, int32_t height, int32_t width,
                         float *rows, uint8_t *planes) {
  size_t pixel = (size_t)image->channels;
  for (size_t c = 0; c < pixel; c++) {
    for (int32_t y = 0; y < image->height; y++)
      for (int32_t x = 0; x < width; x++) {
        const uint8_t *from = image->pixels + ((size_t)y * (size_t)image->width + (size_t)across->first[x]) * pixel + c;
        const float *weights = across->weights + (size_t)x * (size_t)across->taps;
        float sum = 0;
        for (int32_t k = 0; k < across->taps; k++) sum += weights[k] * (float)from[(size_t)k * pixel];
        rows[(size_t)y * (size_t)width + (size_t)x] = sum;
      }
    for (int32_t y = 0; y < height; y++)
      for (int32_t x = 0; x < width; x++) {
        const float *from = rows + (size_t)down->first[y] * (size_t)width + (size_t)x;
        const float *weights = down->weights + (size_t)y * (size_t)down->taps;
        float sum = 0.5f;
        for (int32_t k = 0; k < down->taps; k++) sum += weights[k] * from[(size_t)k * (size_t)width];
        planes[(c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x] = (uint8_t)fminf(fmaxf(sum, 0), 255);
      }
  }
}

mica_status mica__image_fit(const mica__image *image, int32_t height, int32_t width, uint8_t *planes) {
  size_t pixel = (size_t)image->channels, count = (size_t)height * (size_t)width;
  if (image->height == height && image->width == width) {
    for (size_t c = 0; c < pixel; c++)
      for (size_t i = 0; i < count; i++) planes[c * count + i] = image->pixels[i * pixel + c];
    return MICA_OK;
  }
  double scale = fmin((double)image->height / height, (double)image->width / width);
  axis across = {0}, down = {0};
  float *rows = malloc((size_t)image->height * (size_t)width * sizeof *rows);
  mica_status status = rows ? make_axis(image->width, width, scale, &across) : mica__fail_nomem("scaling a picture");
  if (status == MICA_OK) status = make_axis(image->height, height, scale, &down);
  if (status == MICA_OK) scale_planes(image, &across, &down, height, width, rows, planes);
  free_axis(&across);
  free_axis(&down);
  free(rows);
  return status;
}

mica_status mica__image_read_fit(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes) {
  uint8_t *content = NULL;
  size_t size = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__image_decode(path, content, size, channels, height, width, &image);
  free(content);
  if (status == MICA_OK) status = mica__image_fit(&image, height, width, planes);
  free(image.pixels);
  return status;
}

static int32_t big_endian(const uint8_t *at, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
  return value < INT32_MAX ? (int32_t)value : INT32_MAX;
}

/* Finds the frame header of a JPEG file. The file consists of segments: a marker, a length and bytes. The frame header
 * has a marker from C0 to CF other than C4, C8 and CC; height, width and number of channels begin at its byte 5.
 * Returns its position; 0: there is none. */
static size_t find_frame(const uint8_t *bytes, size_t size) {
  if (size < 3 || memcmp(bytes, "\xff\xd8\xff", 3) != 0) return 0;
  for (size_t at = 2; at + 9 <= size && bytes[at] == 0xff; at += 2 + (size_t)big_endian(bytes + at + 2, 2)) {
    /* A marker may be preceded by any number of bytes 0xff. */
    while (at + 9 < size && bytes[at + 1] == 0xff) at++;
    const uint8_t marker = bytes[at + 1];
    if (marker >> 4 == 0xc && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) return at;
  }
  return 0;
}

bool mica__image_size(const uint8_t *bytes, size_t size, int32_t *height, int32_t *width) {
  const bool swap = mica__image_orientation(bytes, size) >= 5;
  if (size >= 24 && mica__image_is_png(bytes, size)) {
    *(swap ? height : width) = big_endian(bytes + 16, 4);
    *(swap ? width : height) = big_endian(bytes + 20, 4);
    return true;
  }
  const size_t frame = find_frame(bytes, size);
  if (!frame) return false;
  *(swap ? width : height) = big_endian(bytes + frame + 5, 2);
  *(swap ? height : width) = big_endian(bytes + frame + 7, 2);
  return true;
}

bool mica__image_has_colours(const uint8_t *bytes, size_t size) {
  /* Bit 1 of a PNG's colour type: colours, or a palette of them. */
  if (size >= 26 && mica__image_is_png(bytes, size)) return bytes[25] & 2;
  const size_t frame = find_frame(bytes, size);
  return frame && frame + 9 < size && bytes[frame + 9] > 1;
}

static bool is_grey(void *user, const uint8_t *header, size_t size) {
  return !(*(bool *)user = mica__image_has_colours(header, size));
}

mica_status mica__pictures_with_colours(const char *const *files, size_t count, bool *coloured) {
  *coloured = false;
  return mica__pictures_inspect(files, count, is_grey, coloured);
}

/* Scales a picture into new memory. Sides of 0 mean the picture's own. */
static mica_status fit_new(const mica__image *image, mica_shape size, uint8_t **pixels, mica_shape *shape) {
  int64_t height = size.dim[1] ? size.dim[1] : image->height, width = size.dim[2] ? size.dim[2] : image->width;
  uint8_t *planes = malloc((size_t)image->channels * (size_t)height * (size_t)width);
  if (!planes) return mica__fail_nomem("a picture");
  mica_status status = mica__image_fit(image, (int32_t)height, (int32_t)width, planes);
  if (status != MICA_OK) {
    free(planes);
    return status;
  }
  *pixels = planes;
  *shape = MICA_SHAPE(image->channels, height, width);
  return MICA_OK;
}

mica_status mica_image_read(const char *path, mica_shape size, uint8_t **pixels, mica_shape *shape) {
  char text[MICA_SHAPE_TEXT];
  if (!path || !pixels || !shape) return mica__fail(MICA_E_INVALID, "mica_image_read: path, pixels or shape is NULL");
  if (size.rank != 3 || (size.dim[0] != 0 && size.dim[0] != 1 && size.dim[0] != 3) || size.dim[1] < 0 ||
      size.dim[2] < 0 || size.dim[1] > 32768 || size.dim[2] > 32768 ||
      (size_t)(size.dim[1] * size.dim[2]) > MICA__MAX_PIXELS)
    return mica__fail(MICA_E_INVALID,
                      "mica_image_read: size is %s, but must be (C, H, W) with C 0, 1 or 3, H and W 0 to 32768, and at "
                      "most %zu pixels",
                      mica_shape_format(size, text), MICA__MAX_PIXELS);
  uint8_t *content = NULL;
  size_t bytes = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(path, &content, &bytes));
  mica_status status = mica__image_decode(path, content, bytes, (int32_t)size.dim[0], (int32_t)size.dim[1],
                                          (int32_t)size.dim[2], &image);
  free(content);
  if (status == MICA_OK) status = fit_new(&image, size, pixels, shape);
  free(image.pixels);
  return status;
}
