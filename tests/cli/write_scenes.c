/* write_scenes FOLDER COUNT SIDE: pictures with masks to learn from, for tests of the command. FOLDER gets images/N.png
 * and masks/N.png: a bright disc (255 in the mask) on a dark, noisy ground (0). */
#include <mica/io.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

static int write_scene(const char *folder, const char *name, int number, const uint8_t *pixels, int64_t side) {
  char path[4096];
  uint8_t *png = NULL;
  size_t bytes = 0;
  snprintf(path, sizeof path, "%s/%s/%d.png", folder, name, number);
  mica_status status = mica_png_encode(pixels, MICA_SHAPE(1, side, side), &png, &bytes);
  if (status == MICA_OK) status = mica_file_write(path, png, bytes);
  mica_free(png);
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  return status != MICA_OK;
}

int main(int argc, char **argv) {
  const int count = argc == 4 ? atoi(argv[2]) : 0;
  const int64_t side = argc == 4 ? atoi(argv[3]) : 0;
  if (count < 1 || side < 8 || side > 4096) return 2;
  uint8_t *picture = malloc((size_t)(side * side)), *mask = malloc((size_t)(side * side));
  int failed = !picture || !mask;
  srand(1);
  for (int i = 0; !failed && i < count; i++) {
    const int64_t radius = side / 8 + rand() % (side / 8), room = side - 2 * radius;
    const int64_t x = radius + rand() % room, y = radius + rand() % room;
    for (int64_t at = 0; at < side * side; at++) {
      const int64_t dx = at % side - x, dy = at / side - y;
      mask[at] = dx * dx + dy * dy < radius * radius ? 255 : 0;
      picture[at] = (uint8_t)((mask[at] ? 120 : 40) + rand() % 60);
    }
    failed = write_scene(argv[1], "images", i, picture, side) || write_scene(argv[1], "masks", i, mask, side);
  }
  free(picture);
  free(mask);
  return failed;
}
