/* Pictures, as libpng and libjpeg are used here; whatever is decoded has all its pixels. */
#include "data/picture/image.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_PNG
#include <png.h>
#endif
#if MICA_WITH_JPEG
#include <jpeglib.h>
#endif

/* Larger ones are sound, but take the time of many small ones. */
#define MAX_SIDE 64

/* Two bytes, big-endian. */
static bool is_large_side(const uint8_t *at) { return at[0] || at[1] > MAX_SIDE; }

/* The sides that a PNG file claims, or those in a JPEG file after what may be the marker of a frame. */
static bool is_large(const uint8_t *data, size_t size) {
  if (size >= 24 && data[0] == 0x89)
    return data[16] || data[17] || is_large_side(data + 18) || data[20] || data[21] || is_large_side(data + 22);
  for (size_t i = 0; i + 9 <= size; i++)
    if (data[i] == 0xff && data[i + 1] >> 4 == 0xc && data[i + 1] != 0xc4 &&
        (is_large_side(data + i + 5) || is_large_side(data + i + 7)))
      return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__image image = {0};
  uint8_t planes[3 * 4 * 6];
  if (is_large(data, size) || mica__image_decode("fuzz", data, size, 0, 4, 6, &image) != MICA_OK) return 0;
  if ((image.channels != 1 && image.channels != 3) || image.height < 1 || image.width < 1) abort();
  if ((size_t)image.height * (size_t)image.width < 1 << 16) {
    size_t bytes = (size_t)image.height * (size_t)image.width * (size_t)image.channels, sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += image.pixels[i];
    if (sum > 255 * bytes || mica__image_fit(&image, 4, 6, planes) != MICA_OK) abort();
  }
  free(image.pixels);
  return 0;
}

#if MICA_WITH_PNG || MICA_WITH_JPEG
static const uint8_t pixels[5 * 7 * 3] = {1, 2, 3, 250, 128, 64};
#endif

bool fuzz_seed(size_t index, mica__text *seed) {
#if MICA_WITH_PNG
  if (index < 2) {
    uint8_t file[4096];
    png_alloc_size_t size = sizeof file;
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 7, .height = 5};
    png.format = index ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    if (!png_image_write_to_memory(&png, file, &size, 0, pixels, 0, NULL)) return false;
    mica__text_add_bytes(seed, (const char *)file, size);
    return true;
  }
  index -= 2;
#endif
#if MICA_WITH_JPEG
  if (index < 2) {
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct jpeg = {.err = jpeg_std_error(&errors)};
    unsigned char *file = NULL;
    unsigned long size = 0;
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &file, &size);
    jpeg.image_width = 7, jpeg.image_height = 5;
    jpeg.input_components = index ? 1 : 3;
    jpeg.in_color_space = index ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    if (index) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (size_t row = 0; row < 5; row++) {
      JSAMPROW at = (JSAMPROW)(uintptr_t)(pixels + row * 7 * (index ? 1 : 3));
      jpeg_write_scanlines(&jpeg, &at, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    mica__text_add_bytes(seed, (const char *)file, size);
    free(file);
    return true;
  }
  index -= 2;
#endif
  if (index > 0) return false;
  mica__text_add(seed, "no picture");
  return true;
}
