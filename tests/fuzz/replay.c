/* fuzz_<format> [MUTATIONS]         replays the seeds and as many mutations of each; the same ones every time
 * fuzz_<format> --write FOLDER      writes the seeds as files, a corpus for libFuzzer to begin with */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

/* xorshift64: small and the same everywhere; its quality does not matter here. */
static size_t random_below(size_t limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return limit ? (size_t)(random_state % limit) : 0;
}

/* One of the classic mutations, in place: a bit, a byte, an extreme value, a cut, a piece moved. The new size. */
static size_t mutate(uint8_t *data, size_t size) {
  static const uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '"', '/'};
  size_t at = random_below(size), length = random_below(size - at) % 16;
  switch (random_below(5)) {
  case 0: data[at] ^= (uint8_t)(1u << random_below(8)); break;
  case 1: data[at] = (uint8_t)random_below(256); break;
  case 2: memset(data + at, extremes[random_below(sizeof extremes)], length + 1); break;
  case 3: return at > 0 ? at : size;
  default: memmove(data + random_below(size - length), data + at, length); break;
  }
  return size;
}

/* Each input is a heap block of exactly its size, so that the address sanitizer sees a byte read too far. */
static int run_one(const char *seed, size_t size, size_t mutations) {
  uint8_t *data = malloc(size ? size : 1);
  if (!data) return -1;
  memcpy(data, seed, size);
  for (size_t i = 0; i < mutations && size > 0; i++) size = mutate(data, size);
  uint8_t *exact = realloc(data, size ? size : 1);
  if (exact) LLVMFuzzerTestOneInput(exact, size);
  free(exact ? exact : data);
  return exact ? 0 : -1;
}

static int write_seed(const char *folder, size_t index, const mica__text *seed) {
  char path[4096];
  snprintf(path, sizeof path, "%s/seed-%zu", folder, index);
  FILE *file = fopen(path, "wb");
  if (!file) return -1;
  size_t written = seed->length ? fwrite(seed->data, 1, seed->length, file) : 0;
  return fclose(file) == 0 && written == seed->length ? 0 : -1;
}

int main(int argc, char **argv) {
  const char *folder = argc == 3 && strcmp(argv[1], "--write") == 0 ? argv[2] : NULL;
  size_t mutations = !folder && argc == 2 ? strtoul(argv[1], NULL, 10) : 5000, inputs = 0;
  int status = 0;
  mica__text seed = {0};
  for (size_t index = 0; status == 0 && fuzz_seed(index, &seed); index++) {
    if (folder) status = write_seed(folder, index, &seed);
    for (size_t i = 0; !folder && status == 0 && i <= mutations; i++, inputs++)
      status = run_one(seed.data ? seed.data : "", seed.length, i ? 1 + i % 7 : 0);
    mica__text_free(&seed);
    seed = (mica__text){0};
  }
  mica__text_free(&seed);
  if (!folder) printf("%zu inputs\n", inputs);
  return status == 0 && (folder || inputs > 0) ? 0 : 1;
}
