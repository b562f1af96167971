#include "base/checked.h"
#include "data/image.h"

#include <stdlib.h>

#if MICA_WITH_PNG
#include <png.h>

/* libpng's simplified interface: its errors come back as results, never by longjmp. */
mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image) {
  png_image png = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_memory(&png, content, size))
    return mica__fail(MICA_E_FORMAT, "%s: %s", name, png.message);
  size_t pixels = 0;
  if (!mica__mul_size(png.width, png.height, &pixels) || pixels > MICA__MAX_PIXELS || pixels == 0) {
    png_image_free(&png);
    return mica__fail(MICA_E_FORMAT, "%s: a picture of %u x %u pixels", name, png.width, png.height);
  }
  if (channels == 0) channels = png.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
  png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  uint8_t *data = malloc(pixels * (size_t)channels);
  if (!data) {
    png_image_free(&png);
    return mica__fail_nomem(name);
  }
  static const png_color black = {0, 0, 0}; /* behind what is transparent */
  if (!png_image_finish_read(&png, &black, data, 0, NULL)) {
    free(data);
    return mica__fail(MICA_E_FORMAT, "%s: %s", name, png.message);
  }
  *image = (mica__image){channels, (int32_t)png.height, (int32_t)png.width, data};
  return MICA_OK;
}

#else

mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image) {
  (void)content, (void)size, (void)channels, (void)image;
  return mica__fail(MICA_E_UNSUPPORTED, "%s is a PNG picture, and this build has no libpng", name);
}

#endif
