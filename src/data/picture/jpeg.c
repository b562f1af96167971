#include "base/checked.h"
#include "data/picture/image.h"

#include <stdio.h>
#include <stdlib.h>

#if MICA_WITH_JPEG
#include <jerror.h> /* declares JWRN_JPEG_EOF */
#include <jpeglib.h>
#include <setjmp.h>

/* libjpeg reports errors by calling a function that must not return; here it jumps. Everything that must survive the
 * jump is in this object rather than in local variables of the function that calls setjmp. */
typedef struct reader {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
  uint8_t *pixels;
  mica_status status;
} reader;

static void leave(j_common_ptr jpeg) {
  reader *r = jpeg->client_data;
  r->errors.format_message(jpeg, r->message);
  longjmp(r->leave, 1);
}

/* Treats a warning that data are missing as an error, because pixels are then made up; other warnings are common in
 * good pictures. */
static void hear(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF) leave(jpeg);
}

static void keep_quiet(j_common_ptr jpeg) { (void)jpeg; }

/* The strongest reduction that libjpeg does at no cost during decoding, with a result no smaller than height x
 * width. */
static unsigned reduction(const struct jpeg_decompress_struct *jpeg, int32_t height, int32_t width) {
  unsigned by = 8;
  if (height <= 0 || width <= 0) return 1;
  while (by > 1 && (jpeg->image_height / by < (unsigned)height || jpeg->image_width / by < (unsigned)width)) by /= 2;
  return by;
}

/* Decodes the picture. Returns a status, with a message if it is a failure; errors of libjpeg end in longjmp. */
static mica_status decode(reader *r, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                          int32_t width) {
  struct jpeg_decompress_struct *jpeg = &r->jpeg;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, content, size);
  jpeg_read_header(jpeg, TRUE);
  size_t pixels = (size_t)jpeg->image_width * jpeg->image_height;
  if (pixels == 0 || pixels > MICA__MAX_PIXELS) {
    snprintf(r->message, sizeof r->message, "the picture has %u x %u pixels, which is out of range", jpeg->image_width,
             jpeg->image_height);
    return MICA_E_FORMAT;
  }
  if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK) {
    snprintf(r->message, sizeof r->message,
             "its colours are CMYK, those of print; convert it to RGB, as magick IN -colorspace sRGB OUT does");
    return MICA_E_UNSUPPORTED;
  }
  if (channels == 0) channels = jpeg->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
  jpeg->out_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg->scale_num = 1;
  jpeg->scale_denom = reduction(jpeg, height, width);
  jpeg_start_decompress(jpeg);
  size_t row = (size_t)jpeg->output_width * (size_t)channels;
  r->pixels = malloc(row * jpeg->output_height);
  if (!r->pixels) {
    snprintf(r->message, sizeof r->message, "there is not enough memory for the pixels");
    return MICA_E_NOMEM;
  }
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW at = r->pixels + jpeg->output_scanline * row;
    jpeg_read_scanlines(jpeg, &at, 1);
  }
  jpeg_finish_decompress(jpeg);
  return MICA_OK;
}

mica_status mica__jpeg_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                              int32_t width, mica__image *image) {
  reader *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem(name);
  r->jpeg.err = jpeg_std_error(&r->errors);
  r->jpeg.client_data = r;
  r->errors.error_exit = leave;
  r->errors.emit_message = hear;
  r->errors.output_message = keep_quiet;
  r->status = MICA_E_FORMAT;
  if (!setjmp(r->leave)) r->status = decode(r, content, size, channels, height, width);
  mica_status status = r->status;
  if (status == MICA_OK)
    *image = (mica__image){r->jpeg.out_color_space == JCS_RGB ? 3 : 1, (int32_t)r->jpeg.output_height,
                           (int32_t)r->jpeg.output_width, r->pixels};
  jpeg_destroy_decompress(&r->jpeg);
  if (status != MICA_OK) {
    free(r->pixels);
    mica__fail(status, "%s: %s", name, r->message);
  }
  free(r);
  return status;
}

#else

mica_status mica__jpeg_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                              int32_t width, mica__image *image) {
  (void)content, (void)size, (void)channels, (void)height, (void)width, (void)image;
  return mica__fail_lacks(name, "libjpeg");
}

#endif
