#include "base/byte_order.h"
#include "base/checked.h"
#include "data/picture/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_PNG
#include <png.h>
#include <setjmp.h>

/* libpng reports errors by calling a function that must not return; here it jumps. Everything that must survive the
 * jump is in this object rather than in local variables of the function that calls setjmp. */
typedef struct reader {
  png_structp png;
  png_infop info;
  jmp_buf leave;
  char message[128];
  const uint8_t *at, *end;
  uint8_t *pixels; /* of 1 to 4 channels while it is read */
  png_bytep *rows;
  int32_t channels, height, width;
  int32_t wanted; /* channels of the result; 0: as the file's; MICA__CHANNELS_STORED; or LEVELS */
  size_t bytes;   /* of a channel */
  mica_status status;
} reader;

/* Used instead of a number of channels: one channel of grey levels as they are stored, of up to 16 bits. */
#define LEVELS (-2)

static void leave(png_structp png, png_const_charp message) {
  reader *r = png_get_error_ptr(png);
  snprintf(r->message, sizeof r->message, "%s", message);
  longjmp(r->leave, 1);
}

static void keep_quiet(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void take_bytes(png_structp png, png_bytep out, size_t size) {
  reader *r = png_get_io_ptr(png);
  if ((size_t)(r->end - r->at) < size) png_error(png, "the file is truncated");
  for (size_t i = 0; i < size; i++) out[i] = r->at[i];
  r->at += size;
}

/* Tells libpng in which form to decode pixels. Usually this is one byte per channel: 16 bits are scaled to 8, palettes
 * become colours, gamma is ignored. For MICA__CHANNELS_STORED and LEVELS, values stay as they are stored, and files
 * that do not fit are refused. */
static void choose_form(reader *r) {
  if (r->wanted == MICA__CHANNELS_STORED) {
    if (png_get_bit_depth(r->png, r->info) == 16)
      png_error(r->png, "the file has 16 bits per channel, but a mask may have at most 8");
    png_set_packing(r->png);
    png_set_strip_alpha(r->png);
  } else if (r->wanted == LEVELS) {
    if (png_get_color_type(r->png, r->info) != PNG_COLOR_TYPE_GRAY)
      png_error(r->png, "the file has colours or opacity, but must have one channel of grey levels");
    r->bytes = png_get_bit_depth(r->png, r->info) == 16 ? 2 : 1;
    png_set_packing(r->png);
    if (!MICA__HOST_BIG_ENDIAN) png_set_swap(r->png);
  } else {
    png_set_scale_16(r->png);
    png_set_expand(r->png);
  }
  png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
}

/* Decodes the picture; errors of libpng end in longjmp. */
static mica_status decode(reader *r) {
  png_set_read_fn(r->png, r, take_bytes);
  png_read_info(r->png, r->info);
  const png_uint_32 width = png_get_image_width(r->png, r->info), height = png_get_image_height(r->png, r->info);
  size_t pixels = 0;
  if (!mica__mul_size(width, height, &pixels) || pixels > MICA__MAX_PIXELS || pixels == 0) {
    snprintf(r->message, sizeof r->message, "the picture has %u x %u pixels, which is out of range", width, height);
    return MICA_E_FORMAT;
  }
  choose_form(r);
  r->channels = png_get_channels(r->png, r->info);
  r->width = (int32_t)width;
  r->height = (int32_t)height;
  const size_t row = (size_t)r->channels * width * r->bytes;
  if (r->channels < 1 || r->channels > 4 || png_get_rowbytes(r->png, r->info) != row) {
    snprintf(r->message, sizeof r->message, "the form of the pixels is not supported");
    return MICA_E_FORMAT;
  }
  r->pixels = malloc(row * height);
  r->rows = malloc(height * sizeof *r->rows);
  if (!r->pixels || !r->rows) {
    snprintf(r->message, sizeof r->message, "there is not enough memory for the pixels");
    return MICA_E_NOMEM;
  }
  for (png_uint_32 y = 0; y < height; y++) r->rows[y] = r->pixels + y * row;
  png_read_image(r->png, r->rows);
  png_read_end(r->png, NULL);
  return MICA_OK;
}

/* Converts pixels of 1 to 4 channels (grey or red, green, blue; each with or without opacity) to `to` channels: 1 or 3.
 * Transparent pixels are shown over black; grey is 0.299 red + 0.587 green + 0.114 blue. */
static void convert(const reader *r, int32_t to, uint8_t *out) {
  const int32_t colours = r->channels >= 3 ? 3 : 1;
  const bool opacity = r->channels == 2 || r->channels == 4;
  const uint8_t *at = r->pixels;
  for (size_t n = (size_t)r->width * (size_t)r->height; n > 0; n--, at += r->channels, out += to) {
    uint32_t colour[3];
    for (int32_t c = 0; c < 3; c++) {
      colour[c] = at[colours == 3 ? c : 0];
      if (opacity) colour[c] = (colour[c] * at[colours] + 127) / 255;
    }
    if (to == 3)
      for (int32_t c = 0; c < 3; c++) out[c] = (uint8_t)colour[c];
    else
      out[0] = (uint8_t)(colours == 1 ? colour[0] : (299 * colour[0] + 587 * colour[1] + 114 * colour[2] + 500) / 1000);
  }
}

static void close_reader(reader *r) {
  png_destroy_read_struct(&r->png, &r->info, NULL);
  free(r->pixels);
  free(r->rows);
  free(r);
}

/* Reads a file; the caller closes the reader, also after a failure, unless it is NULL. */
static mica_status read_file(const char *name, const uint8_t *content, size_t size, int32_t wanted, reader **out) {
  reader *r = *out = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem(name);
  r->at = content;
  r->end = content + size;
  r->status = MICA_E_FORMAT;
  r->wanted = wanted;
  r->bytes = 1;
  r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, leave, keep_quiet);
  r->info = r->png ? png_create_info_struct(r->png) : NULL;
  if (!r->info) return mica__fail_nomem(name);
  if (!setjmp(r->leave)) r->status = decode(r);
  return r->status == MICA_OK ? MICA_OK : mica__fail(r->status, "%s: %s", name, r->message);
}

mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image) {
  reader *r = NULL;
  mica_status status = read_file(name, content, size, channels, &r);
  if (!r) return status;
  if (r->wanted <= 0) r->wanted = r->channels >= 3 ? 3 : 1;
  uint8_t *data = status == MICA_OK ? malloc((size_t)r->width * (size_t)r->height * (size_t)r->wanted) : NULL;
  if (status == MICA_OK && !data) status = mica__fail_nomem(name);
  if (status == MICA_OK) {
    convert(r, r->wanted, data);
    *image = (mica__image){r->wanted, r->height, r->width, data};
  }
  close_reader(r);
  return status;
}

mica_status mica__png_decode_levels(const char *name, const uint8_t *content, size_t size, int32_t sides[2],
                                    uint16_t **levels) {
  reader *r = NULL;
  mica_status status = read_file(name, content, size, LEVELS, &r);
  if (!r) return status;
  const size_t pixels = (size_t)r->width * (size_t)r->height;
  *levels = status == MICA_OK ? malloc(pixels * sizeof **levels) : NULL;
  if (status == MICA_OK && !*levels) status = mica__fail_nomem(name);
  for (size_t i = 0; status == MICA_OK && i < pixels; i++) {
    (*levels)[i] = r->pixels[i];
    if (r->bytes == 2) memcpy(*levels + i, r->pixels + 2 * i, 2);
  }
  sides[0] = r->height;
  sides[1] = r->width;
  close_reader(r);
  return status;
}

#else

mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image) {
  (void)content, (void)size, (void)channels, (void)image;
  return mica__fail_lacks(name, "libpng");
}

mica_status mica__png_decode_levels(const char *name, const uint8_t *content, size_t size, int32_t sides[2],
                                    uint16_t **levels) {
  (void)content, (void)size, (void)sides, (void)levels;
  return mica__fail_lacks(name, "libpng");
}

#endif
