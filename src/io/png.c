#include "io/png.h"

#include <stdlib.h>

#if MICA_WITH_PNG
#include <png.h>

static void add_base64(mica__text *text, const uint8_t *data, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    const uint32_t word =
        (uint32_t)data[i] << 16 | (uint32_t)(i + 1 < n ? data[i + 1] : 0) << 8 | (i + 2 < n ? data[i + 2] : 0);
    const char four[4] = {digits[word >> 18], digits[word >> 12 & 63], i + 1 < n ? digits[word >> 6 & 63] : '=',
                          i + 2 < n ? digits[word & 63] : '='};
    mica__text_add_bytes(text, four, sizeof four);
  }
}

/* libpng's simplified interface: its errors come back as results, never by longjmp. */
mica_status mica__png_add_uri(mica__text *text, const uint8_t *planes, mica_shape shape) {
  if (shape.rank != 3 || (shape.dim[0] != 1 && shape.dim[0] != 3) || shape.dim[1] < 1 || shape.dim[2] < 1 ||
      shape.dim[1] > 32768 || shape.dim[2] > 32768)
    return mica__fail(MICA_E_SHAPE, "a picture is (C, H, W) with 1 or 3 channels");
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
      status = mica__fail(MICA_E_INVALID, "a picture cannot be written: %s", png.message);
  }
  if (status == MICA_OK) {
    mica__text_add(text, "data:image/png;base64,");
    add_base64(text, file, size);
  }
  free(rows);
  free(file);
  return status;
}

#else

mica_status mica__png_add_uri(mica__text *text, const uint8_t *planes, mica_shape shape) {
  (void)text, (void)planes, (void)shape;
  return mica__fail(MICA_E_UNSUPPORTED, "this build has no libpng");
}

#endif
