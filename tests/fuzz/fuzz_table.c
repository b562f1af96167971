/* The reader of tables. */
#include "data/table.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Classes are below their number, texts inside of their memory. */
static void check_columns(const mica__store *store) {
  for (size_t k = 0; k < store->column_count; k++) {
    const mica__column *column = &store->columns[k];
    for (uint64_t i = 0; i < store->count; i++) {
      const int32_t *classes = (const int32_t *)(const void *)column->data;
      if (column->about.kind == MICA_COLUMN_KIND_CLASS && (classes[i] < 0 || classes[i] >= column->about.classes))
        abort();
      if (column->offsets && column->offsets[i + 1] < column->offsets[i]) abort();
    }
  }
}

static mica_status parse(const uint8_t *data, size_t size, const mica_dataset_config *config, mica_dataset **dataset) {
  mica__store *store = NULL;
  char *content = malloc(size + 1);
  if (!content) return MICA_E_NOMEM;
  memcpy(content, data, size);
  content[size] = '\0';
  mica_status status = mica__store_create("fuzz", &store);
  if (status == MICA_OK) status = mica__table_parse("fuzz", content, size, config, store);
  free(content);
  if (status == MICA_OK) {
    check_columns(store);
    return mica__dataset_of(store, dataset);
  }
  mica__store_release(store);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  /* The first byte chooses the way of reading. */
  mica_dataset_config config = {.regression = data[0] & 1,
                                .label_column = data[0] & 2 ? "x" : NULL,
                                .fill_missing = data[0] & 4,
                                .kinds = data[0] & 8 ? "a=class,b=text,c=time" : NULL};
  mica_dataset *first = NULL, *second = NULL;
  if (parse(data + 1, size - 1, &config, &first) != MICA_OK) return 0;
  /* What a table was made of goes with it. */
  config.like = first;
  if (parse(data + 1, size - 1, &config, &second) == MICA_OK)
    if (mica_dataset_count(first) != mica_dataset_count(second)) abort();
  mica_dataset_destroy(first);
  mica_dataset_destroy(second);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      " width,height,label\n1.5,2,cat\n3,4e-2,\"dog, wet\"\n",
      " 1;2;3\n4;5;6\n# aside\n\n7;8;0\n",
      "!x\ty\n1\t2\n3\t4.5\n",
      "#x,y\n0.25,1\n-0.5,2\n",
      "(a,b,c,label\nred,\"it \"\"is\"\"\nso\",2026-01-31,1\n7,?,2026-02-01T10:00,2.0\n",
      "$1,NA,3\n?,2,1\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
