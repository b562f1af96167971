/* data/picture/image.h: pictures, from files to planes of bytes. */
#ifndef MICA_DATA_PICTURE_IMAGE_H
#define MICA_DATA_PICTURE_IMAGE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger ones are refused: a small file may claim any size. */
#define MICA__MAX_PIXELS ((size_t)1 << 26)

/* Rows of pixels of 1 (grey) or 3 (red, green, blue) bytes, from the top. */
typedef struct mica__image {
  int32_t channels, height, width;
  uint8_t *pixels;
} mica__image;

/* True for names of picture files. */
bool mica__image_is_named(const char *name);

/* In place of channels: PNG as it is stored, grey levels and indices of palettes as they stand, without opacity. */
#define MICA__CHANNELS_STORED (-1)

/* Decodes a file's content as PNG or JPEG. channels 1 or 3, 0 for grey pictures grey and others in colour, or, for PNG,
 * MICA__CHANNELS_STORED. JPEG may be decoded smaller, though not below height and width (0 for the full size). The
 * picture is rotated upright as EXIF in its file says. */
mica_status mica__image_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                               int32_t width, mica__image *image);
/* The parts of it: pictures as they are stored. */
mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image);
mica_status mica__jpeg_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                              int32_t width, mica__image *image);

/* The EXIF orientation of a JPEG file, or of a PNG file before its pixels: 1 (as stored) to 8; 1 if there is none. */
int mica__image_orientation(const uint8_t *bytes, size_t size);
/* Rotates and mirrors a picture that is stored in this orientation, so that it is upright. */
mica_status mica__image_rotate(const char *name, mica__image *image, int orientation);

/* Scales the picture until it covers height x width, crops its centre, and writes planes: (C, H, W). Reduced, a
 * pixel is the mean of the area that it covers; enlarged, it is bilinear between neighbours. */
mica_status mica__image_fit(const mica__image *image, int32_t height, int32_t width, uint8_t *planes);
/* Reads a file so. */
mica_status mica__image_read_fit(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes);

/* Opening a folder does not touch every file in it. */
#define MICA__MOST_INSPECTED 200
/* Calls fn with the beginning of up to 200 of the files, evenly spaced, until it returns false. Files that cannot be
 * read are passed over. */
typedef bool mica__header_fn(void *user, const uint8_t *header, size_t size);
mica_status mica__pictures_inspect(const char *const *files, size_t count, mica__header_fn *fn, void *user);
/* The number of such files among `count`. */
size_t mica__pictures_inspected(size_t count);

/* Finds the usual one of up to MICA__MOST_INSPECTED sizes: the first that half of them have, which returns true; else
 * the median of each side. usual is not written if there are none. */
bool mica__sizes_find_usual(const int32_t (*sizes)[2], size_t count, int32_t usual[2]);

/* The sides of an upright picture by the beginning of its file; false if it does not tell them. */
bool mica__image_size(const uint8_t *bytes, size_t size, int32_t *height, int32_t *width);

/* True if the beginning of a file tells that the picture has colours: palettes count. */
bool mica__image_has_colours(const uint8_t *bytes, size_t size);
/* *coloured: one of up to 200 of the files, evenly spaced, has colours. */
mica_status mica__pictures_with_colours(const char *const *files, size_t count, bool *coloured);

bool mica__image_is_png(const uint8_t *bytes, size_t size);
/* What the first chunk of that type holds before the pixels of a PNG file, or its beginning, and how many bytes it says
 * that are, perhaps more than there are; NULL: there is none. */
const uint8_t *mica__png_find_chunk(const uint8_t *bytes, size_t size, const char *type, size_t *length);

/* True if a PNG file that begins so has an alpha channel, or a transparent colour. */
bool mica__png_has_alpha(const uint8_t *bytes, size_t size);
/* Looks at up to 200 of the files, evenly spaced. If some have alpha: true, with a sentence that counts them. */
bool mica__pictures_with_alpha(const char *const *files, size_t count, mica__text *sentence);

#endif
