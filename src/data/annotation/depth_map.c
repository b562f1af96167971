/* Depth maps in files.
 *
 * A PFM file has three lines of text and then floats, row by row from the bottom:
 * - "Pf"
 * - the width and the height
 * - a number that is negative if the floats are little-endian */
#include "data/annotation/depth_map.h"

#include "base/byte_order.h"
#include "base/element.h"
#include "base/npy.h"
#include "base/number.h"
#include "data/annotation/scene_files.h"
#include "data/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The longest line of a PFM file's header, and the longest header. */
#define LINE 64
#define PFM_HEADER (3 * (size_t)LINE)

bool mica__depth_map_is_named(const char *name) {
  static const char *const endings[] = {".png", ".npy", ".pfm", NULL};
  const size_t n = strlen(name);
  for (size_t i = 0; endings[i]; i++)
    if (n > 4 && !strcasecmp(name + n - 4, endings[i])) return true;
  return false;
}

static mica_status check_sides(const char *name, int64_t height, int64_t width) {
  if (height > 0 && width > 0 && height <= INT32_MAX && width <= INT32_MAX &&
      (uint64_t)height * (uint64_t)width <= MICA__MAX_PIXELS)
    return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "%s: the header states %lld x %lld pixels, but sides must be at least 1, with at most %zu pixels in all", name,
      (long long)width, (long long)height, MICA__MAX_PIXELS);
}

static float known(double value) { return value > 0 && value <= 0x1p100 ? (float)value : 0; }

static mica_status make(const char *name, int64_t height, int64_t width, mica__depth_map *map) {
  MICA_TRY(check_sides(name, height, width));
  *map = (mica__depth_map){.height = (int32_t)height, .width = (int32_t)width};
  map->depths = malloc((size_t)height * (size_t)width * sizeof *map->depths);
  return map->depths ? MICA_OK : mica__fail_nomem(name);
}

/* --- PFM --- */

/* The header of a PFM file. */
typedef struct pfm {
  int32_t height, width;
  bool big_endian;
  size_t offset; /* of the floats */
} pfm;

static bool is_pfm(const uint8_t *content, size_t size) {
  return size > 2 && content[0] == 'P' && (content[1] == 'f' || content[1] == 'F') && content[2] <= ' ';
}

/* Copies the next line, shorter than LINE, without its line end; false if there is no such line, or it has a zero
 * byte. */
static bool next_line(const uint8_t *content, size_t size, size_t *at, char line[LINE]) {
  const uint8_t *end = *at < size ? memchr(content + *at, '\n', size - *at) : NULL;
  const size_t length = end ? (size_t)(end - content) - *at : LINE;
  if (length >= LINE) return false;
  memcpy(line, content + *at, length);
  line[length] = '\0';
  *at += length + 1;
  return strlen(line) == length;
}

static mica_status parse_pfm(const char *name, const uint8_t *content, size_t size, pfm *p) {
  char line[3][LINE], *rest = NULL, *end = NULL;
  p->offset = 0;
  for (int i = 0; i < 3; i++)
    if (!next_line(content, size, &p->offset, line[i]))
      return mica__fail(MICA_E_FORMAT,
                        "%s: line %d of the header of a PFM file is missing, longer than %d bytes, or has a zero byte",
                        name, i + 1, LINE - 1);
  if (line[0][1] == 'F')
    return mica__fail(MICA_E_FORMAT, "%s: this PFM file is in colour; depths need one channel (Pf)", name);
  const long width = strtol(line[1], &rest, 10), height = strtol(rest, &end, 10);
  const bool sides = end != rest && !end[strspn(end, " \t\r")];
  const double order = mica__strtod(line[2], &rest);
  if (!sides || rest == line[2] || !(order != 0) || !isfinite(order) || rest[strspn(rest, " \t\r")])
    return mica__fail(MICA_E_FORMAT, "%s: a PFM file must begin with Pf, width and height, and a number other than 0",
                      name);
  MICA_TRY(check_sides(name, height, width));
  p->height = (int32_t)height;
  p->width = (int32_t)width;
  p->big_endian = order > 0;
  return MICA_OK;
}

static mica_status decode_pfm(const char *name, uint8_t *content, size_t size, mica__depth_map *map) {
  pfm p;
  MICA_TRY(parse_pfm(name, content, size, &p));
  const size_t width = (size_t)p.width, height = (size_t)p.height, bytes = width * height * sizeof(float);
  if (size - p.offset != bytes)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes of depths, but %d x %d pixels need %zu", name, size - p.offset,
                      p.width, p.height, bytes);
  MICA_TRY(make(name, p.height, p.width, map));
  mica__bytes_from_file(p.big_endian, content + p.offset, width * height, sizeof(float));
  for (size_t r = 0; r < height; r++) {
    float *row = map->depths + (height - 1 - r) * width;
    memcpy(row, content + p.offset + r * width * sizeof(float), width * sizeof(float));
    for (size_t q = 0; q < width; q++) row[q] = known((double)row[q]);
  }
  return MICA_OK;
}

/* --- npy --- */

/* Finds height and width of an array (H, W), (1, H, W) or (H, W, 1). */
static mica_status npy_sides(const char *name, const mica__npy *npy, int64_t sides[2]) {
  char text[MICA_SHAPE_TEXT];
  mica_shape s = npy->shape;
  if (s.rank == 3 && s.dim[0] == 1) s = MICA_SHAPE(s.dim[1], s.dim[2]);
  if (s.rank == 3 && s.dim[2] == 1) s = MICA_SHAPE(s.dim[0], s.dim[1]);
  if (s.rank != 2)
    return mica__fail(MICA_E_FORMAT, "%s holds an array of shape %s, but depths must be (height, width)", name,
                      mica_shape_format(npy->shape, text));
  sides[0] = s.dim[0];
  sides[1] = s.dim[1];
  return check_sides(name, sides[0], sides[1]);
}

static bool is_npy(const uint8_t *content, size_t size) { return size > 6 && !memcmp(content, "\x93NUMPY", 6); }

/* The number of bits of each number in the array; 0 if the numbers are floats. */
static int npy_bits(const mica__npy *npy) {
  return mica_dtype_kind_of(npy->dtype) != MICA_DTYPE_KIND_FLOAT ? 8 * (int)mica_dtype_size(npy->dtype) : 0;
}

static mica_status decode_npy(const char *name, uint8_t *content, size_t size, double scale, mica__depth_map *map) {
  int64_t sides[2] = {0};
  mica__npy npy;
  MICA_TRY(mica__npy_parse_header(name, content, size, &npy));
  MICA_TRY(npy_sides(name, &npy, sides));
  MICA_TRY(make(name, sides[0], sides[1], map));
  map->bits = npy_bits(&npy);
  const double unit = map->bits ? scale : 1;
  const size_t width = mica_dtype_size(npy.dtype), count = npy.bytes / width;
  uint8_t *elements = mica__elements_align(content, npy.offset, npy.bytes);
  mica__bytes_from_file(npy.big_endian, elements, count, width);
  for (size_t i = 0; i < count; i++) map->depths[i] = known(mica__element_get(npy.dtype, elements, (int64_t)i) / unit);
  return MICA_OK;
}

/* --- PNG, and maps of any format --- */

/* The offset in a PNG file of the byte with the number of bits per level. */
#define PNG_BITS 24

/* Returns the bits per level after decoding: 8 or more, because levels of fewer bits are decoded to 8. */
static int png_bits(const uint8_t *content, size_t size) {
  return size > PNG_BITS && content[PNG_BITS] > 8 ? content[PNG_BITS] : 8;
}

static mica_status decode_png(const char *name, const uint8_t *content, size_t size, double scale,
                              mica__depth_map *map) {
  uint16_t *levels = NULL;
  int32_t sides[2] = {0};
  MICA_TRY(mica__png_decode_levels(name, content, size, sides, &levels));
  /* Levels are rotated like a picture whose pixels have two bytes each. */
  mica__image stored = {sizeof *levels, sides[0], sides[1], (uint8_t *)levels};
  mica_status status = mica__image_rotate(name, &stored, mica__image_orientation(content, size));
  if (status == MICA_OK) status = make(name, stored.height, stored.width, map);
  if (status == MICA_OK) map->bits = png_bits(content, size);
  for (size_t i = 0; status == MICA_OK && i < (size_t)sides[0] * (size_t)sides[1]; i++) {
    uint16_t level = 0;
    memcpy(&level, stored.pixels + i * sizeof level, sizeof level);
    map->depths[i] = known(level / scale);
  }
  free(stored.pixels);
  return status;
}

mica_status mica__depth_map_decode(const char *name, uint8_t *content, size_t size, double scale,
                                   mica__depth_map *map) {
  *map = (mica__depth_map){0};
  if (!(scale > 0)) scale = MICA__DEPTH_SCALE;
  mica_status status = mica__image_is_png(content, size) ? decode_png(name, content, size, scale, map)
                       : is_pfm(content, size)           ? decode_pfm(name, content, size, map)
                       : is_npy(content, size)           ? decode_npy(name, content, size, scale, map)
                                               : mica__fail(MICA_E_FORMAT, "%s is not a PNG, npy or PFM file", name);
  if (status == MICA_OK) return MICA_OK;
  free(map->depths);
  *map = (mica__depth_map){0};
  return status;
}

/* Finds the height, width and bits of a map, but not its depths. They are in the header of a PNG, npy or PFM file. A
 * file that begins otherwise may be compressed, so it is read and decoded whole. */
static mica_status find_outline(const char *path, uint8_t *bytes, mica__depth_map *map) {
  uint8_t *content = NULL;
  size_t all = 0;
  uint64_t size = 0;
  int32_t sides[2] = {0};
  pfm p;
  *map = (mica__depth_map){0};
  MICA_TRY(mica__file_begin(path, bytes, MICA__SCENE_BEGIN, &size));
  const size_t begin = size < PFM_HEADER ? (size_t)size : PFM_HEADER;
  if (mica__image_is_png(bytes, begin)) {
    const int bits = png_bits(bytes, begin);
    MICA_TRY(mica__picture_find_sides(path, bytes, sides));
    *map = (mica__depth_map){.height = sides[0], .width = sides[1], .bits = bits};
    return MICA_OK;
  }
  if (is_pfm(bytes, begin)) {
    MICA_TRY(parse_pfm(path, bytes, begin, &p));
    *map = (mica__depth_map){.height = p.height, .width = p.width};
    return MICA_OK;
  }
  if (is_npy(bytes, begin)) {
    int64_t long_sides[2] = {0};
    mica__npy npy;
    MICA_TRY(mica__npy_parse_begin(path, bytes, MICA__SCENE_BEGIN, size, &npy));
    MICA_TRY(npy_sides(path, &npy, long_sides));
    *map = (mica__depth_map){.height = (int32_t)long_sides[0], .width = (int32_t)long_sides[1], .bits = npy_bits(&npy)};
    return MICA_OK;
  }
  MICA_TRY(mica__content_read(path, &content, &all));
  mica_status status = mica__depth_map_decode(path, content, all, 0, map);
  free(content);
  free(map->depths);
  map->depths = NULL;
  return status;
}

mica_status mica__depth_map_find_sides(const char *path, uint8_t *bytes, int32_t sides[2]) {
  mica__depth_map map;
  MICA_TRY(find_outline(path, bytes, &map));
  sides[0] = map.height;
  sides[1] = map.width;
  return MICA_OK;
}

mica_status mica__depth_map_find_bits(const char *path, uint8_t *bytes, int *bits) {
  mica__depth_map map;
  mica_status status = find_outline(path, bytes, &map);
  *bits = map.bits;
  return status;
}

void mica__depth_map_fit(const mica__depth_map *map, int32_t height, int32_t width, float *depths) {
  const double down = (double)map->height / height, across = (double)map->width / width;
  const double scale = down < across ? down : across;
  const double top = (map->height - scale * height) / 2, left = (map->width - scale * width) / 2;
  for (int32_t r = 0; r < height; r++) {
    const int32_t y = (int32_t)(top + (r + 0.5) * scale), row = y < map->height ? y : map->height - 1;
    for (int32_t q = 0; q < width; q++) {
      const int32_t x = (int32_t)(left + (q + 0.5) * scale), column = x < map->width ? x : map->width - 1;
      *depths++ = map->depths[(size_t)row * (size_t)map->width + (size_t)column];
    }
  }
}

/* --- writing --- */

mica_status mica__depth_map_encode(const float *depths, int64_t height, int64_t width, double scale, uint8_t **file,
                                   size_t *size) {
  const size_t pixels = (size_t)(height * width);
  uint16_t *levels = malloc(pixels * sizeof *levels);
  *file = NULL;
  if (!levels) return mica__fail_nomem("a depth map");
  for (size_t i = 0; i < pixels; i++) {
    const double level = floor((double)depths[i] * scale + 0.5);
    levels[i] = depths[i] > 0 && level <= UINT16_MAX ? (uint16_t)fmax(level, 1) : 0;
  }
  mica_status status = mica__png_encode_levels(levels, height, width, file, size);
  free(levels);
  return status;
}

mica_status mica__depth_map_encode_npy(const float *depths, int64_t height, int64_t width, uint8_t **file,
                                       size_t *size) {
  const size_t bytes = (size_t)(height * width) * sizeof *depths;
  char header[MICA__NPY_HEADER];
  size_t begin = 0;
  *file = NULL;
  MICA_TRY(mica__npy_format_header(MICA_F32, MICA_SHAPE(height, width), header, &begin));
  *size = begin + bytes;
  *file = malloc(*size);
  if (!*file) return mica__fail_nomem("a depth map");
  memcpy(*file, header, begin);
  memcpy(*file + begin, depths, bytes);
  return MICA_OK;
}
