/* write_depths FOLDER COUNT SIDE FORMAT: drawn rooms whose depth is known, for tests of the command. FOLDER gets
 * images/N.png and depth/N.png (16 bits, 256 levels per metre), N.npy or N.pfm. A floor comes nearer downwards; in
 * front of the wall at 8 metres are bright blocks, the nearer the brighter and larger. About one depth in ten is
 * unknown: 0, or NaN in npy and infinite in PFM. */
#include <math.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/picture/image.h"

static double chance(void) { return rand() / (RAND_MAX + 1.0); }

static void draw(int64_t side, uint8_t *picture, float *depths) {
  for (int64_t r = 0; r < side; r++)
    for (int64_t q = 0; q < side; q++) {
      const double down = (double)r / (double)(side - 1);
      depths[r * side + q] = (float)(down > 0.5 ? 4 / down : 8);
    }
  for (int block = 0; block < 3; block++) {
    const double depth = 1.5 + 5 * chance(), size = 0.6 * (double)side / depth;
    const int64_t x = (int64_t)(chance() * (double)side), y = (int64_t)(chance() * (double)side);
    for (int64_t r = y; r < side && (double)(r - y) < size; r++)
      for (int64_t q = x; q < side && (double)(q - x) < size; q++)
        if ((double)depths[r * side + q] > depth) depths[r * side + q] = (float)depth;
  }
  for (int64_t i = 0; i < side * side; i++) picture[i] = (uint8_t)(250 - 28 * (double)depths[i] + 12 * chance());
}

static int write_file(const char *path, const void *data, size_t bytes) {
  if (mica_file_write(path, data, bytes) == MICA_OK) return 0;
  fprintf(stderr, "%s\n", mica_error_message());
  return 1;
}

static int write_png(const char *path, int64_t side, const float *depths) {
  uint16_t *levels = malloc((size_t)(side * side) * sizeof *levels);
  uint8_t *png = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; levels && i < side * side; i++) levels[i] = (uint16_t)((double)depths[i] * 256 + 0.5);
  const int failed =
      !levels || mica__png_encode_levels(levels, side, side, &png, &bytes) != MICA_OK || write_file(path, png, bytes);
  free(levels);
  free(png);
  return failed;
}

/* A header and the floats, in rows from the bottom for PFM. */
static int write_floats(const char *path, const char *header, size_t begin, int64_t side, const float *depths,
                        bool upwards, float unknown) {
  const size_t row = (size_t)side * sizeof *depths, bytes = begin + (size_t)side * row;
  char *file = malloc(bytes);
  if (!file) return 1;
  memcpy(file, header, begin);
  for (int64_t r = 0; r < side; r++)
    for (int64_t q = 0; q < side; q++) {
      const float depth = depths[(upwards ? side - 1 - r : r) * side + q];
      const float value = depth > 0 ? depth : unknown;
      memcpy(file + begin + (size_t)r * row + (size_t)q * sizeof value, &value, sizeof value);
    }
  const int failed = write_file(path, file, bytes);
  free(file);
  return failed;
}

static int write_map(const char *folder, int number, const char *format, int64_t side, const float *depths) {
  char path[4096], header[128];
  snprintf(path, sizeof path, "%s/depth/%d.%s", folder, number, format);
  if (!strcmp(format, "png")) return write_png(path, side, depths);
  if (!strcmp(format, "pfm")) {
    const int length = snprintf(header, sizeof header, "Pf\n%d %d\n-1.0\n", (int)side, (int)side);
    return write_floats(path, header, (size_t)length, side, depths, true, INFINITY);
  }
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
  const int length =
      snprintf(header + 10, 100, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", (int)side, (int)side);
  header[10 + length] = ' ';
  header[127] = '\n';
  return write_floats(path, header, sizeof header, side, depths, false, NAN);
}

int main(int argc, char **argv) {
  const int count = argc == 5 ? atoi(argv[2]) : 0;
  const int64_t side = argc == 5 ? atoi(argv[3]) : 0;
  if (count < 1 || side < 8 || side > 4096) return 2;
  uint8_t *picture = malloc((size_t)(side * side));
  float *depths = malloc((size_t)(side * side) * sizeof *depths);
  int failed = !picture || !depths;
  srand(1);
  for (int i = 0; !failed && i < count; i++) {
    char path[4096];
    uint8_t *png = NULL;
    size_t bytes = 0;
    draw(side, picture, depths);
    for (int64_t at = 0; at < side * side; at++)
      if (chance() < 0.1) depths[at] = 0;
    snprintf(path, sizeof path, "%s/images/%d.png", argv[1], i);
    failed = mica_png_encode(picture, MICA_SHAPE(1, side, side), &png, &bytes) != MICA_OK ||
             write_file(path, png, bytes) || write_map(argv[1], i, argv[4], side, depths);
    mica_free(png);
  }
  free(picture);
  free(depths);
  return failed;
}
