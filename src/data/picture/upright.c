/* Pictures taken with a rotated camera: EXIF in the file says how to rotate them, and all viewers do so. */
#include "base/checked.h"
#include "data/picture/image.h"

#include <stdlib.h>
#include <string.h>

#define ORIENTATION 0x112
/* Integer types of a TIFF entry. The standard prescribes SHORT for the orientation, but some programs write another
 * type. */
enum { SHORT_TYPE = 3, LONG_TYPE = 4, SIGNED_SHORT_TYPE = 8, SIGNED_LONG_TYPE = 9 };
#define ENTRY_BYTES 12

/* A number of this many bytes, in the byte order of the TIFF header: II lowest first, MM highest first. */
static uint32_t number(const uint8_t *at, int bytes, bool little) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | at[little ? bytes - 1 - i : i];
  return value;
}

/* The size of an integer of this type; 0 for other types. Negative numbers appear as large ones. */
static int integer_bytes(uint32_t type) {
  if (type == SHORT_TYPE || type == SIGNED_SHORT_TYPE) return 2;
  return type == LONG_TYPE || type == SIGNED_LONG_TYPE ? 4 : 0;
}

/* The orientation in the first directory of a TIFF file; 1 (upright) if it gives none. */
static int tiff_orientation(const uint8_t *tiff, size_t size) {
  if (size < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)) return 1;
  const bool little = tiff[0] == 'I';
  const size_t at = number(tiff + 4, 4, little);
  if (at > size - 2) return 1;
  const size_t entries = number(tiff + at, 2, little);
  for (size_t k = 0; k < entries && at + 2 + (k + 1) * ENTRY_BYTES <= size; k++) {
    const uint8_t *entry = tiff + at + 2 + k * ENTRY_BYTES;
    const int bytes = integer_bytes(number(entry + 2, 2, little));
    if (number(entry, 2, little) != ORIENTATION || !bytes) continue;
    const uint32_t value = number(entry + 8, bytes, little);
    return value >= 1 && value <= 8 ? (int)value : 1;
  }
  return 1;
}

/* In a PNG file, EXIF is in the chunk eXIf. */
static int png_orientation(const uint8_t *bytes, size_t size) {
  size_t length = 0;
  const uint8_t *exif = mica__png_find_chunk(bytes, size, "eXIf", &length);
  return exif && length <= size - (size_t)(exif - bytes) ? tiff_orientation(exif, length) : 1;
}

/* In a JPEG file, EXIF is in a segment with marker E1 whose content begins with "Exif" and two zero bytes. */
static int jpeg_orientation(const uint8_t *bytes, size_t size) {
  for (size_t at = 2; at + 4 <= size && bytes[at] == 0xff;) {
    /* A marker may be preceded by any number of bytes 0xff. */
    while (at + 4 < size && bytes[at + 1] == 0xff) at++;
    if (bytes[at + 1] == 0xda) break;
    const size_t length = number(bytes + at + 2, 2, false), end = at + 2 + length;
    if (length < 2 || end > size) break;
    if (bytes[at + 1] == 0xe1 && length >= 8 && !memcmp(bytes + at + 4, "Exif\0\0", 6))
      return tiff_orientation(bytes + at + 10, length - 8);
    at = end;
  }
  return 1;
}

int mica__image_orientation(const uint8_t *bytes, size_t size) {
  return mica__image_is_png(bytes, size) ? png_orientation(bytes, size) : jpeg_orientation(bytes, size);
}

mica_status mica__image_rotate(const char *name, mica__image *image, int orientation) {
  if (orientation <= 1) return MICA_OK;
  const size_t pixel = (size_t)image->channels, height = (size_t)image->height, width = (size_t)image->width;
  /* Maps rows and columns of the stored picture to the upright one. Orientations 5 to 8 exchange rows and columns. 2,
   * 3, 6 and 7 then reverse the columns; 3, 4, 7 and 8 reverse the rows. */
  const bool swap = orientation >= 5;
  const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const size_t out_height = swap ? width : height, out_width = swap ? height : width;
  uint8_t *upright = malloc(pixel * height * width);
  if (!upright) return mica__fail_nomem(name);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++) {
      size_t to_y = swap ? x : y, to_x = swap ? y : x;
      if (mirror_x) to_x = out_width - 1 - to_x;
      if (mirror_y) to_y = out_height - 1 - to_y;
      memcpy(upright + (to_y * out_width + to_x) * pixel, image->pixels + (y * width + x) * pixel, pixel);
    }
  free(image->pixels);
  *image = (mica__image){image->channels, (int32_t)out_height, (int32_t)out_width, upright};
  return MICA_OK;
}
