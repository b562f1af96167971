/* data/picture/image.h: pictures, from files to planes of bytes. */
#ifndef MICA_DATA_PICTURE_IMAGE_H
#define MICA_DATA_PICTURE_IMAGE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger pictures are refused, because a small file may claim any size. */
#define MICA__MAX_PIXELS ((size_t)1 << 26)

/* A picture as rows of pixels from the top. A pixel has 1 byte (grey) or 3 bytes (red, green, blue). */
typedef struct mica__image {
  int32_t channels, height, width;
  uint8_t *pixels;
} mica__image;

/* True for names of picture files. */
bool mica__image_is_named(const char *name);

/* Used instead of a number of channels: PNG as it is stored, with grey levels, palette indices or colours, and without
 * opacity. */
#define MICA__CHANNELS_STORED (-1)

/* Decodes the content of a PNG or JPEG file. channels: 1 or 3; 0 for grey pictures in grey and others in colour; or,
 * for PNG, MICA__CHANNELS_STORED. A JPEG may be decoded at a reduced size, but not below height and width (0: full
 * size). The picture is rotated upright according to EXIF in its file. */
mica_status mica__image_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                               int32_t width, mica__image *image);
/* Steps of mica__image_decode: these decode pictures without rotating them. */
mica_status mica__png_decode(const char *name, const uint8_t *content, size_t size, int32_t channels,
                             mica__image *image);
/* Grey levels of up to 16 bits as they are stored, in rows from the top; sides: height and width. The caller frees
 * *levels. */
mica_status mica__png_decode_levels(const char *name, const uint8_t *content, size_t size, int32_t sides[2],
                                    uint16_t **levels);
mica_status mica__jpeg_decode(const char *name, const uint8_t *content, size_t size, int32_t channels, int32_t height,
                              int32_t width, mica__image *image);

/* The EXIF orientation of a JPEG or PNG file: 1 (as stored) to 8; 1 if there is none. In a PNG file, only the chunks
 * before the pixels are searched. */
int mica__image_orientation(const uint8_t *bytes, size_t size);
/* Rotates and mirrors a picture stored in this orientation, so that it becomes upright. */
mica_status mica__image_rotate(const char *name, mica__image *image, int orientation);

/* Scales the picture to cover height x width, crops its centre, and writes planes: (C, H, W). When reduced, a pixel is
 * a weighted mean of the area around it (a triangle filter); when enlarged, it is interpolated bilinearly. */
mica_status mica__image_fit(const mica__image *image, int32_t height, int32_t width, uint8_t *planes);
/* Reads a picture file and fits it in the same way. */
mica_status mica__image_read_fit(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes);

/* When a folder is opened, only this many of its files are inspected. */
#define MICA__MOST_INSPECTED 200
/* Calls fn with the beginning of up to 200 of the files, evenly spaced, until it returns false. Unreadable files are
 * skipped. */
typedef bool mica__header_fn(void *user, const uint8_t *header, size_t size);
mica_status mica__pictures_inspect(const char *const *files, size_t count, mica__header_fn *fn, void *user);
/* How many of `count` files mica__pictures_inspect inspects. */
size_t mica__pictures_inspected(size_t count);

/* Finds the usual size of pictures from the first MICA__MOST_INSPECTED of `count` sizes. If at least half of them are
 * the same, usual is that size, and the result is true. Otherwise each side of usual is the median of that side. If
 * count is 0, usual is not written. */
bool mica__sizes_find_usual(const int32_t (*sizes)[2], size_t count, int32_t usual[2]);

/* The sides of a picture after it is rotated upright, read from the beginning of its file; false if they are not
 * there. */
bool mica__image_size(const uint8_t *bytes, size_t size, int32_t *height, int32_t *width);

/* True if the beginning of a file shows that the picture is in colour; a palette counts as colour. */
bool mica__image_has_colours(const uint8_t *bytes, size_t size);
/* Sets *coloured to whether any of up to 200 evenly spaced files is in colour. */
mica_status mica__pictures_with_colours(const char *const *files, size_t count, bool *coloured);

/* Encodes grey levels of 16 bits, (height, width), as a PNG file. The caller frees *data. */
mica_status mica__png_encode_levels(const uint16_t *levels, int64_t height, int64_t width, uint8_t **data,
                                    size_t *bytes);

bool mica__image_is_png(const uint8_t *bytes, size_t size);
/* Finds the first chunk of that type before the pixels of a PNG file. Returns its contents, or NULL if there is none.
 * *length receives the stated length, which may exceed the bytes that are there. */
const uint8_t *mica__png_find_chunk(const uint8_t *bytes, size_t size, const char *type, size_t *length);

/* True if a PNG file with this beginning has an alpha channel or a transparent colour. */
bool mica__png_has_alpha(const uint8_t *bytes, size_t size);
/* Inspects up to 200 of the files, evenly spaced. If some have alpha, returns true and adds a sentence with their
 * number. Also returns true after a failure, which mica__text_status reports for `sentence`. */
bool mica__pictures_with_alpha(const char *const *files, size_t count, mica__text *sentence);

#endif
