#include "cli/picture.h"

#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_picture_is_written(const mica_item *item) { return item->planes && strcmp(item->name, "picture") != 0; }

bool cli_picture_path(char path[CLI_PICTURE_PATH], const char *folder, const char *name, const mica_item *item) {
  const char *ending = item->kind == MICA_ITEM_KIND_FILE ? item->text : ".png";
  return snprintf(path, CLI_PICTURE_PATH, "%s/%s-%s%s", folder, name, item->name, ending) < CLI_PICTURE_PATH;
}

/* Pixels between the pictures of a grid, and the most pictures in a row. */
#define GAP 2
#define MOST_COLUMNS 16

/* Finds the next picture, beginning at section *s and item *i; NULL after the last one. */
static const mica_item *next_picture(const mica_report *p, size_t *s, size_t *i) {
  for (; *s < mica_report_count(p); (*s)++, *i = 0)
    while (*i < mica_report_item_count(p, *s)) {
      const mica_item *item = mica_report_item(p, *s, (*i)++);
      if (item->kind != MICA_ITEM_KIND_FILE && cli_picture_is_written(item)) return item;
    }
  return NULL;
}

/* The number of columns of the grid: the number of pictures before the first picture's caption occurs again (all
 * pictures if it does not), so that each column has one caption. If this number is 1, as without captions, or above
 * MOST_COLUMNS: the side of the smallest square that has room for all pictures, at most MOST_COLUMNS. */
static size_t columns_of(const mica_report *p, size_t count) {
  size_t s = 0, i = 0, row = 0, square = 1;
  const mica_item *first = next_picture(p, &s, &i), *item = first;
  while (square * square < count) square++;
  if (square > MOST_COLUMNS) square = MOST_COLUMNS;
  do {
    row++;
    item = next_picture(p, &s, &i);
  } while (item && first->text && item->text && strcmp(item->text, first->text) != 0);
  return row > 1 && row <= MOST_COLUMNS ? row : square;
}

const char *cli_picture_grid(const mica_report *p, mica_item *grid, uint8_t **planes) {
  size_t s = 0, i = 0, count = 0;
  const mica_item *item, *first = next_picture(p, &s, &i);
  if (!first) return "no picture is predicted";
  const mica_shape one = first->shape;
  for (item = first; item; item = next_picture(p, &s, &i), count++)
    if (!mica_shape_equal(item->shape, one)) return "the pictures differ in size";
  const size_t C = (size_t)one.dim[0], H = (size_t)one.dim[1], W = (size_t)one.dim[2];
  const size_t columns = columns_of(p, count), rows = (count + columns - 1) / columns;
  const size_t height = rows * (H + GAP) - GAP, width = columns * (W + GAP) - GAP;
  if (!(*planes = calloc(C, height * width))) return "there is not enough memory for the grid";
  s = i = 0;
  for (size_t k = 0; (item = next_picture(p, &s, &i)); k++)
    for (size_t c = 0; c < C; c++)
      for (size_t y = 0; y < H; y++)
        memcpy(*planes + (c * height + k / columns * (H + GAP) + y) * width + k % columns * (W + GAP),
               item->planes + (c * H + y) * W, W);
  *grid = (mica_item){.kind = MICA_ITEM_KIND_PICTURE,
                      .name = "grid",
                      .planes = *planes,
                      .shape = MICA_SHAPE((int64_t)C, (int64_t)height, (int64_t)width)};
  return NULL;
}

typedef struct colour {
  int red, green, blue;
} colour;

static colour pixel(const uint8_t *picture, int channels, int height, int width, int y, int x) {
  int plane = height * width, at = y * width + x;
  colour c = {picture[at], picture[at], picture[at]};
  if (channels == 3) c.green = picture[plane + at], c.blue = picture[2 * plane + at];
  return c;
}

/* Prints two pixels, one above the other, as one character: an upper half block in the colour `above` on a background
 * of the colour `below`. */
static void print_halves(colour above, colour below) {
  printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\xe2\x96\x80", above.red, above.green, above.blue, below.red,
         below.green, below.blue);
}

static char shade(colour c) {
  static const char shades[] = " .:-=+*#%@";
  int grey = (299 * c.red + 587 * c.green + 114 * c.blue) / 1000;
  return shades[grey * (int)(sizeof shades - 2) / 255];
}

void cli_picture_print(const uint8_t *const *pictures, const char *const *texts, int count, int channels, int height,
                       int width) {
  bool coloured = *cli_colour_code(CLI_BOLD) != '\0';
  for (int y = 0; y < height; y += 2) {
    for (int i = 0; i < count; i++) {
      for (int x = 0; x < width; x++) {
        colour above = pixel(pictures[i], channels, height, width, y, x);
        if (coloured)
          print_halves(above, pixel(pictures[i], channels, height, width, y + 1 < height ? y + 1 : y, x));
        else
          putchar(shade(above));
      }
      printf("%s  ", cli_colour_code(CLI_PLAIN));
    }
    putchar('\n');
  }
  for (int i = 0; i < count; i++) printf("%-*.*s  ", width, width, texts[i]);
  putchar('\n');
}
