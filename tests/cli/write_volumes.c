/* write_volumes FOLDER COUNT SIDE: volumes with masks to learn from, for tests of the command. FOLDER gets
 * images/N.nii, i16, and masks/N.nii, u8: a bright ball (1 in the mask) in noise (0), of SIDE x SIDE x SIDE - 4 voxels
 * that are 1 x 1 x 2 millimetres large. */
#include <mica/io.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 352 };

static void put(uint8_t *at, int value) { at[0] = (uint8_t)value, at[1] = (uint8_t)(value >> 8); }

static void put_real(uint8_t *at, float value) { memcpy(at, &value, sizeof value); }

/* Writes elements of `bytes` bytes that stand behind room for the header. */
static int write_volume(const char *folder, const char *name, int number, uint8_t *file, int side, int bytes) {
  char path[4096];
  memset(file, 0, HEADER);
  put(file, 348);
  put(file + 40, 3);
  for (int k = 1; k < 8; k++) put(file + 40 + 2 * k, k < 3 ? side : k == 3 ? side - 4 : 1);
  put(file + 70, bytes == 1 ? 2 : 4);
  put(file + 72, 8 * bytes);
  for (int k = 1; k < 4; k++) put_real(file + 76 + 4 * k, k == 3 ? 2 : 1);
  put_real(file + 108, HEADER);
  memcpy(file + 344, "n+1", 4);
  snprintf(path, sizeof path, "%s/%s/%d.nii", folder, name, number);
  const size_t size = HEADER + (size_t)(side * side * (side - 4) * bytes);
  if (mica_file_write(path, file, size) == MICA_OK) return 0;
  fprintf(stderr, "%s\n", mica_error_message());
  return 1;
}

int main(int argc, char **argv) {
  const int count = argc == 4 ? atoi(argv[2]) : 0, side = argc == 4 ? atoi(argv[3]) : 0;
  if (count < 1 || side < 12 || side > 256) return 2;
  const int voxels = side * side * (side - 4);
  uint8_t *volume = malloc(HEADER + 2 * (size_t)voxels), *mask = malloc(HEADER + (size_t)voxels);
  int failed = !volume || !mask;
  srand(1);
  for (int i = 0; !failed && i < count; i++) {
    const int radius = side / 6 + rand() % (side / 8), room = side - 4 - 2 * radius;
    const int x = radius + rand() % room, y = radius + rand() % room, z = radius + rand() % room;
    for (int at = 0; at < voxels; at++) {
      const int dx = at % side - x, dy = at / side % side - y, dz = at / side / side - z;
      const int inside = dx * dx + dy * dy + dz * dz < radius * radius;
      mask[HEADER + at] = (uint8_t)inside;
      put(volume + HEADER + 2 * (size_t)at, (inside ? 400 : 100) + rand() % 150);
    }
    failed = write_volume(argv[1], "images", i, volume, side, 2) || write_volume(argv[1], "masks", i, mask, side, 1);
  }
  free(volume);
  free(mask);
  return failed;
}
