/* cc -o make_data make_data.c; ./make_data FOLDER: what tests/gpu/curves.sh trains on, the same bytes on every machine.
 *
 *   pictures/      MNIST's files of 2,048 and 512 pictures of 28 x 28 in 10 classes: two bright bars on noise, whose
 *                  positions say the class. One label in eight is random, so that no network's loss comes near 0
 *   text/text.txt  96 KiB of sentences from a grammar of 24 words */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SIDE = 28, CLASSES = 10, TRAIN = 2048, TEST = 512, TEXT_BYTES = 96 * 1024 };

static uint32_t state = 12345;

static uint32_t below(uint32_t n) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(state >> 8) * n >> 24);
}

static FILE *make_file(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file) {
    perror(path);
    exit(1);
  }
  return file;
}

static void write_big_endian(FILE *file, uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8) fputc((int)(n >> shift & 255), file);
}

static void write_pictures(const char *folder, const char *part, int count) {
  char name[64];
  snprintf(name, sizeof name, "pictures/%s-images-idx3-ubyte", part);
  FILE *images = make_file(folder, name);
  snprintf(name, sizeof name, "pictures/%s-labels-idx1-ubyte", part);
  FILE *labels = make_file(folder, name);
  write_big_endian(images, 0x803);
  write_big_endian(images, (uint32_t)count);
  write_big_endian(images, SIDE);
  write_big_endian(images, SIDE);
  write_big_endian(labels, 0x801);
  write_big_endian(labels, (uint32_t)count);
  for (int n = 0; n < count; n++) {
    const int class = (int)below(CLASSES), row = 2 + class % 5 * 5, column = class < 5 ? 6 : 19;
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        const int bright = (y - row >= 0 && y - row < 3) + (x - column >= 0 && x - column < 3);
        fputc((int)below(160) + 40 * bright, images);
      }
    fputc(below(8) ? class : (int)below(CLASSES), labels);
  }
  fclose(images);
  fclose(labels);
}

static void write_text(const char *folder) {
  static const char *words[4][6] = {{"the", "a", "one", "no", "this", "every"},
                                    {"red", "old", "small", "quiet", "round", "cold"},
                                    {"bird", "stone", "river", "child", "horse", "lamp"},
                                    {"sleeps", "falls", "sings", "waits", "turns", "shines"}};
  FILE *file = make_file(folder, "text/text.txt");
  for (int bytes = 0; bytes < TEXT_BYTES;) {
    const int chosen = (int)below(6);
    for (int i = 0; i < 4; i++)
      bytes += fprintf(file, "%s%s", words[i][(chosen * (i + 1) + (int)below(3)) % 6], i < 3 ? " " : ".\n");
  }
  fclose(file);
}

int main(int argc, char **argv) {
  char path[4096];
  if (argc != 2) {
    fprintf(stderr, "usage: make_data FOLDER\n");
    return 2;
  }
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", argv[1], i ? "text" : "pictures");
    mkdir(path, 0777);
  }
  write_pictures(argv[1], "train", TRAIN);
  write_pictures(argv[1], "t10k", TEST);
  write_text(argv[1]);
  return 0;
}
