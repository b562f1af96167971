#include "cli/picture.h"

#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

bool cli_picture_is_written(const mica_item *item) { return item->planes && strcmp(item->name, "picture") != 0; }

bool cli_picture_path(char path[CLI_PICTURE_PATH], const char *folder, const char *name, const mica_item *item) {
  return snprintf(path, CLI_PICTURE_PATH, "%s/%s-%s.png", folder, name, item->name) < CLI_PICTURE_PATH;
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

/* Prints two pixels, one above the other, as an upper half block in one colour on a background of the other. */
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
