/* Depth maps: PNG, npy or PFM files of whole numbers or floats. */
#include "data/annotation/depth_map.h"
#include "data/annotation/scene_files.h"
#include "data/picture/image.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Larger ones are sound, but take the time of many small ones. */
#define MAX_SIDE 256
#define HEIGHT 6
#define WIDTH 4

/* The sides and the bits of a file that holds these bytes; the status of finding the sides. */
static mica_status find_sides(const uint8_t *data, size_t size, int32_t sides[2], int *bits) {
  static uint8_t begin[MICA__SCENE_BEGIN];
  char path[] = "/tmp/mica-fuzz-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || (size && write(file, data, size) != (ssize_t)size)) abort();
  mica_status status = mica__depth_map_find_sides(path, begin, sides);
  if (mica__depth_map_find_bits(path, begin, bits) != MICA_OK && status == MICA_OK) abort();
  close(file);
  unlink(path);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int32_t height = 0, width = 0, sides[2] = {0};
  int bits = 0;
  float fitted[HEIGHT * WIDTH];
  mica__depth_map map;
  if (mica__image_size(data, size, &height, &width) && (height > MAX_SIDE || width > MAX_SIDE)) return 0;
  uint8_t *content = malloc(size);
  if (!content) return 0;
  if (size) memcpy(content, data, size);
  const bool found = find_sides(data, size, sides, &bits) == MICA_OK;
  if (mica__depth_map_decode("fuzz", content, size, 1000, &map) == MICA_OK) {
    if (map.height < 1 || map.width < 1) abort();
    if (bits && bits != 8 && bits != 16 && bits != 32 && bits != 64) abort();
    if (!found || sides[0] != map.height || sides[1] != map.width) abort();
    for (size_t i = 0; i < (size_t)map.height * (size_t)map.width; i++)
      if (!(map.depths[i] >= 0) || isinf(map.depths[i])) abort();
    mica__depth_map_fit(&map, HEIGHT, WIDTH, fitted);
    free(map.depths);
  } else if (map.depths) {
    abort();
  }
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const float floats[12] = {1, 2, 3.5f, 0, -1, 80, 7, 8, 9, 10, 11, 12};
  static const char *const npy[] = {"\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
                                    "\x93NUMPY\1\0\x46\0{'descr': '>u2', 'fortran_order': False, 'shape': (6, 4), }"};
  if (index < 2) {
    char header[80];
    memset(header, ' ', sizeof header);
    memcpy(header, npy[index], 10);
    memcpy(header + 10, npy[index] + 10, strlen(npy[index] + 10));
    header[79] = '\n';
    mica__text_add_bytes(seed, header, sizeof header);
    mica__text_add_bytes(seed, (const char *)floats, sizeof floats);
    return true;
  }
  if (index < 4) {
    mica__text_add(seed, index == 2 ? "Pf\n4 3\n-1.0\n" : "Pf\n3 4\n1\n");
    mica__text_add_bytes(seed, (const char *)floats, sizeof floats);
    return true;
  }
#if MICA_WITH_PNG
  static const uint16_t levels[12] = {0, 1, 256, 65535, 9, 10, 11};
  static const uint8_t grey[12] = {0, 1, 255};
  uint8_t *file = NULL;
  size_t bytes = 0;
  if (index > 5 || (index == 4 ? mica__png_encode_levels(levels, 3, 4, &file, &bytes)
                               : mica_png_encode(grey, MICA_SHAPE(1, 3, 4), &file, &bytes)) != MICA_OK)
    return false;
  mica__text_add_bytes(seed, (const char *)file, bytes);
  free(file);
  return true;
#else
  return false;
#endif
}
