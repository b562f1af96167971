#include "data/picture/image.h"

#include <mica/data.h>
#include <stdlib.h>

#if MICA_WITH_PNG
#include <png.h>

#define MAX_SIDE 32768

static bool is_picture(mica_shape s) {
  return s.rank == 3 && (s.dim[0] == 1 || s.dim[0] == 3) && s.dim[1] > 0 && s.dim[1] <= MAX_SIDE && s.dim[2] > 0 &&
         s.dim[2] <= MAX_SIDE;
}

/* libpng's simplified interface: its errors come back as results, never by longjmp. */
mica_status mica_png_encode(const uint8_t *planes, mica_shape shape, uint8_t **data, size_t *bytes) {
  if (!planes || !data || !bytes) return mica__fail(MICA_E_INVALID, "mica_png_encode: planes, data or bytes is NULL");
  char text[MICA_SHAPE_TEXT];
  if (!is_picture(shape))
    return mica__fail(MICA_E_SHAPE,
                      "mica_png_encode: the shape is %s, but must be (C, H, W) with C 1 or 3 and sides of 1 to %d",
                      mica_shape_format(shape, text), MAX_SIDE);
  const size_t channels = (size_t)shape.dim[0], pixels = (size_t)(shape.dim[1] * shape.dim[2]);
  png_image png = {.version = PNG_IMAGE_VERSION,
                   .width = (png_uint_32)shape.dim[2],
                   .height = (png_uint_32)shape.dim[1],
                   .format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  uint8_t *rows = malloc(pixels * channels), *file = malloc(size);
  mica_status status = rows && file ? MICA_OK : mica__fail_nomem("a picture");
  if (status == MICA_OK) {
    for (size_t c = 0; c < channels; c++)
      for (size_t i = 0; i < pixels; i++) rows[i * channels + c] = planes[c * pixels + i];
    if (!png_image_write_to_memory(&png, file, &size, 0, rows, 0, NULL))
      status = mica__fail(MICA_E_INVALID, "mica_png_encode: %s", png.message);
  }
  free(rows);
  if (status != MICA_OK) {
    free(file);
    return status;
  }
  *data = file;
  *bytes = size;
  return MICA_OK;
}

mica_status mica__png_encode_levels(const uint16_t *levels, int64_t height, int64_t width, uint8_t **data,
                                    size_t *bytes) {
  if (!is_picture(MICA_SHAPE(1, height, width)))
    return mica__fail(MICA_E_SHAPE, "a PNG file cannot have %lld x %lld pixels; its sides must be 1 to %d",
                      (long long)width, (long long)height, MAX_SIDE);
  png_image png = {.version = PNG_IMAGE_VERSION,
                   .width = (png_uint_32)width,
                   .height = (png_uint_32)height,
                   .format = PNG_FORMAT_LINEAR_Y};
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  uint8_t *file = malloc(size);
  if (!file) return mica__fail_nomem("a picture");
  if (!png_image_write_to_memory(&png, file, &size, 0, levels, 0, NULL)) {
    free(file);
    return mica__fail(MICA_E_INVALID, "cannot encode a PNG file: %s", png.message);
  }
  *data = file;
  *bytes = size;
  return MICA_OK;
}

#else

mica_status mica_png_encode(const uint8_t *planes, mica_shape shape, uint8_t **data, size_t *bytes) {
  (void)planes, (void)shape, (void)data, (void)bytes;
  return mica__fail_lacks("mica_png_encode", "libpng");
}

mica_status mica__png_encode_levels(const uint16_t *levels, int64_t height, int64_t width, uint8_t **data,
                                    size_t *bytes) {
  (void)levels, (void)height, (void)width, (void)data, (void)bytes;
  return mica__fail_lacks("a PNG file", "libpng");
}

#endif
