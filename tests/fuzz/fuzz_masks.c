/* Masks: the text that says what their values stand for, and PNG or JPEG files read by it. The text ends with the
 * first line, the file follows. */
#include "data/annotation/masks.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#if MICA_WITH_PNG
#include <png.h>
#endif

/* Larger ones are sound, but take the time of many small ones. */
#define MAX_SIDE 64
#define HEIGHT 6
#define WIDTH 4

/* What a table writes is what it was read from. */
static void write_again(const mica__mask_table *table) {
  mica__text text = {0}, again = {0};
  mica__mask_table second;
  if (mica__mask_table_write(table, &text) != MICA_OK || mica__mask_table_parse(text.data, &second) != MICA_OK ||
      second.classes != table->classes || second.void_count != table->void_count || second.rest != table->rest ||
      mica__mask_table_write(&second, &again) != MICA_OK || strcmp(text.data, again.data) != 0)
    abort();
  mica__mask_table_free(&second);
  mica__text_free(&text);
  mica__text_free(&again);
}

static void read_mask(const mica__image *mask, const mica__mask_table *given) {
  static mica__mask_census census;
  const char *const names[1] = {"fuzz"};
  uint8_t classes[HEIGHT * WIDTH];
  mica__mask_table guessed = {0};
  memset(&census, 0, sizeof census);
  mica__mask_count(mask, 0, &census);
  const bool found = mica__mask_guess(&census, names, &guessed) == MICA_OK;
  /* A mask holds what was guessed of it. */
  if (found && mica__mask_classes("fuzz", mask, &guessed, HEIGHT, WIDTH, classes) != MICA_OK) abort();
  for (size_t i = 0; found && i < sizeof classes; i++)
    if (classes[i] != 255 && classes[i] >= guessed.classes) abort();
  if (found) write_again(&guessed);
  mica__mask_table_free(&guessed);
  if (given->classes && mica__mask_classes("fuzz", mask, given, HEIGHT, WIDTH, classes) == MICA_OK)
    for (size_t i = 0; i < sizeof classes; i++)
      if (classes[i] != 255 && classes[i] >= given->classes) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
  const size_t length = line ? (size_t)(line - data) : size;
  mica__mask_table table = {0};
  mica__image mask = {0};
  int32_t height = 0, width = 0;
  char *text = malloc(length + 1);
  if (!text) return 0;
  if (length) memcpy(text, data, length);
  text[length] = '\0';
  if (mica__mask_table_parse(text, &table) == MICA_OK) write_again(&table);
  const uint8_t *file = line ? line + 1 : data + size;
  const size_t bytes = size - (size_t)(file - data);
  const bool small = mica__image_size(file, bytes, &height, &width) && height <= MAX_SIDE && width <= MAX_SIDE;
  if (small && mica__mask_decode("fuzz", file, bytes, &mask) == MICA_OK) {
    /* A JPEG file may hold several frames, of which libjpeg takes the one that it takes. */
    if (mask.height < 1 || mask.width < 1 || (mask.channels != 1 && mask.channels != 3)) abort();
    read_mask(&mask, &table);
  }
  free(mask.pixels);
  mica__mask_table_free(&table);
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const texts[] = {"0,255", "0=sky,1=sea,255=void,*=nearest", "#ff0000=a,0,#00ff00,*=void"};
  if (index >= sizeof texts / sizeof *texts) return false;
  mica__text_add(seed, texts[index]);
  mica__text_add(seed, "\n");
#if MICA_WITH_PNG
  static const uint8_t pixels[5 * 7 * 3] = {255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 1, 1, 1};
  static const uint8_t palette[3 * 4] = {0, 0, 0, 255, 0, 0, 0, 255, 0, 9, 9, 9};
  uint8_t file[4096];
  png_alloc_size_t size = sizeof file;
  png_image png = {.version = PNG_IMAGE_VERSION, .width = 7, .height = 5};
  png.format = index == 0 ? PNG_FORMAT_GRAY : index == 1 ? PNG_FORMAT_RGB_COLORMAP : PNG_FORMAT_RGB;
  png.colormap_entries = index == 1 ? 4 : 0;
  static uint8_t indices[5 * 7] = {0, 1, 2, 3, 3, 2, 1};
  if (!png_image_write_to_memory(&png, file, &size, 0, index == 1 ? indices : pixels, 0, index == 1 ? palette : NULL))
    return false;
  mica__text_add_bytes(seed, (const char *)file, size);
#endif
  return true;
}
