/* write_video FOLDER: pictures of light boxes, and a video of three boxes that pass each other.
 *
 *   FOLDER/boxes/images/N.png, labels/N.txt, classes.txt    80 pictures of two boxes, with YOLO's labels
 *   FOLDER/video/img1/N.png, gt/gt.txt                      30 frames, with MOTChallenge's tracks
 *   FOLDER/sizes/img1/N.png, gt/gt.txt                      4 frames, the last two smaller */
#include <mica/data.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SIDE = 64, PICTURES = 80, FRAMES = 30, CARS = 3 };

typedef struct box {
  int x, y, width, height;
} box;

static int make_folder(const char *folder, const char *name, char path[4096]) {
  snprintf(path, 4096, "%s%s%s", folder, *name ? "/" : "", name);
  return mkdir(path, 0777) != 0;
}

static int draw(const char *folder, int number, int side, const box *boxes, int count) {
  static uint8_t pixels[SIDE * SIDE];
  char path[4200];
  uint8_t *png = NULL;
  size_t bytes = 0;
  for (int at = 0; at < side * side; at++) {
    pixels[at] = (uint8_t)(rand() % 60);
    for (const box *b = boxes; b < boxes + count; b++)
      if (at % side >= b->x && at % side < b->x + b->width && at / side >= b->y && at / side < b->y + b->height)
        pixels[at] = (uint8_t)(150 + rand() % 60);
  }
  snprintf(path, sizeof path, "%s/%d.png", folder, number);
  mica_status status = mica_png_encode(pixels, MICA_SHAPE(1, side, side), &png, &bytes);
  if (status == MICA_OK) status = mica_file_write(path, png, bytes);
  mica_free(png);
  return status != MICA_OK;
}

static int write_pictures(const char *folder) {
  char images[4096], labels[4096], path[4200];
  int failed =
      make_folder(folder, "", path) || make_folder(folder, "images", images) || make_folder(folder, "labels", labels);
  snprintf(path, sizeof path, "%s/classes.txt", folder);
  failed = failed || mica_file_write(path, "car\n", 4) != MICA_OK;
  for (int i = 0; !failed && i < PICTURES; i++) {
    box boxes[2];
    char text[200];
    int used = 0;
    for (int k = 0; k < 2; k++) {
      boxes[k] = (box){rand() % 46, 32 * k + rand() % 18, 14 + rand() % 4, 11 + rand() % 3};
      const box *b = &boxes[k];
      used += snprintf(text + used, sizeof text - (size_t)used, "0 %g %g %g %g\n", (b->x + b->width / 2.0) / SIDE,
                       (b->y + b->height / 2.0) / SIDE, (double)b->width / SIDE, (double)b->height / SIDE);
    }
    snprintf(path, sizeof path, "%s/%d.txt", labels, i);
    failed = draw(images, i, SIDE, boxes, 2) || mica_file_write(path, text, (size_t)used) != MICA_OK;
  }
  return failed;
}

/* Two cars pass each other; the third comes in frame 11. */
static int write_video(const char *folder) {
  char images[4096], truth[4096], path[4200], text[FRAMES * CARS * 40];
  int failed = make_folder(folder, "", path) || make_folder(folder, "img1", images) || make_folder(folder, "gt", truth);
  int used = 0;
  for (int t = 0; !failed && t < FRAMES; t++) {
    const box boxes[CARS] = {{3 + t, 6, 16, 12}, {45 - t, 38, 16, 12}, {1 + t / 2, 20 + t / 10, 15, 12}};
    const int count = t < 10 ? 2 : 3;
    failed = draw(images, t + 1, SIDE, boxes, count);
    for (int k = 0; k < count; k++)
      used += snprintf(text + used, sizeof text - (size_t)used, "%d,%d,%d,%d,%d,%d,1,1,1\n", t + 1, k + 1,
                       boxes[k].x + 1, boxes[k].y + 1, boxes[k].width, boxes[k].height);
  }
  snprintf(path, sizeof path, "%s/gt.txt", truth);
  return failed || mica_file_write(path, text, (size_t)used) != MICA_OK;
}

static int write_sizes(const char *folder) {
  static const char text[] = "1,1,4,7,16,12,1,1,1\n";
  static const box boxes[] = {{3, 6, 16, 12}};
  char images[4096], truth[4096], path[4200];
  int failed = make_folder(folder, "", path) || make_folder(folder, "img1", images) || make_folder(folder, "gt", truth);
  for (int t = 0; !failed && t < 4; t++) failed = draw(images, t + 1, t < 2 ? SIDE : 48, boxes, 1);
  snprintf(path, sizeof path, "%s/gt.txt", truth);
  return failed || mica_file_write(path, text, sizeof text - 1) != MICA_OK;
}

int main(int argc, char **argv) {
  char path[4096];
  if (argc != 2) return 2;
  srand(1);
  snprintf(path, sizeof path, "%s/boxes", argv[1]);
  int failed = write_pictures(path);
  snprintf(path, sizeof path, "%s/video", argv[1]);
  failed = failed || write_video(path);
  snprintf(path, sizeof path, "%s/sizes", argv[1]);
  return failed || write_sizes(path);
}
