/* The reader of tables. */
#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__store *store = NULL;
  if (size == 0 || mica__store_create("fuzz", &store) != MICA_OK) return 0;
  /* The first byte chooses the way of reading. */
  const mica_dataset_config config = {.regression = data[0] & 1, .label_column = data[0] & 2 ? "x" : NULL};
  char *content = malloc(size);
  if (content) {
    memcpy(content, data + 1, size - 1);
    content[size - 1] = '\0';
    if (mica__csv_parse("fuzz", content, size - 1, &config, store) == MICA_OK) {
      const mica__column *label = mica__store_find(store, "label");
      for (uint64_t i = 0; label->about.kind == MICA_COLUMN_KIND_CLASS && i < store->count; i++) {
        const int32_t found = ((const int32_t *)(const void *)label->data)[i];
        if (found < 0 || found >= label->about.classes) abort();
      }
    }
  }
  free(content);
  mica__store_release(store);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {" width,height,label\n1.5,2,cat\n3,4e-2,\"dog, wet\"\n",
                                      " 1;2;3\n4;5;6\n# aside\n\n7;8;0\n", "!x\ty\n1\t2\n3\t4.5\n",
                                      "#x,y\n0.25,1\n-0.5,2\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
