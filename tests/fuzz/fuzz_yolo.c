/* The readers of the YOLO layout: the first line feed that follows another one ends the YAML, and labels follow. */
#include "data/annotation/yolo.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const mica_dataset_config config = {.channels = 1, .height = 32, .width = 32};
  mica__store *store = NULL;
  mica__boxed *boxed = NULL;
  mica__yolo_names yaml = {0}, numbers = {0};
  char *content = calloc(size + 1, 1);
  if (!content || mica__store_create("fuzz", &store) != MICA_OK) abort();
  if (size) memcpy(content, data, size);
  char *labels = strstr(content, "\n\n");
  if (labels) *++labels = '\0', labels++;
  mica_status first = mica__yolo_parse_yaml("fuzz", content, &yaml);
  mica_status status = mica__boxed_create(store, &boxed);
  char *path = malloc(2);
  if (!path) abort();
  memcpy(path, "a", 2);
  if (status == MICA_OK) status = mica__boxed_picture(boxed, path, 64, 32);
  if (status == MICA_OK && labels) status = mica__yolo_parse("fuzz", labels, (const double[]){64, 32}, &numbers, boxed);
  if (status == MICA_OK) status = mica__boxed_finish(boxed, &config, store);
  for (size_t i = 0; first == MICA_OK && i < yaml.count; i++)
    if (!yaml.names[i] || !*yaml.names[i]) abort();
  if (first != MICA_OK && first != MICA_E_FORMAT) abort();
  if (status != MICA_OK && status != MICA_E_FORMAT) abort();
  mica__yolo_names_free(&yaml);
  mica__yolo_names_free(&numbers);
  mica__store_release(store);
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "path: x # y\nnc: 2\nnames: ['dog', \"a, cat\"]\n\n1 0.5 0.5 0.25 0.5\r\n0 0.125 0.25 0.25 0.5\n",
      "names:\n  0: dog\n  1: 'it''s'\ntrain: a\n\n2 0.95 0.5 0.25 0.5\n0 0.25 0.25 0.5 0.25 0.375 0.75\n",
      "names:\n- dog\n- a # b\n\n0 0 0 1 1", "names: {1: a, 0: \"b \\\" c\",\n}\n\n9 1e-3 .5 0.1 1"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
