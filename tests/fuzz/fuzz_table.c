/* The reader of tables. */
#include "data/table/table.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Classes are below their number, -1 for none, texts inside of their memory. */
static void check_columns(const mica__store *store) {
  for (size_t k = 0; k < store->column_count; k++) {
    const mica__column *column = &store->columns[k];
    for (uint64_t i = 0; i < store->count; i++) {
      const int32_t *classes = (const int32_t *)(const void *)column->data;
      if (column->about.kind == MICA_COLUMN_KIND_CLASS && (classes[i] < -1 || classes[i] >= column->about.classes))
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

/* Nothing is missing but labels that may be, and numbers that are to be NaN, which other numbers then replace. */
static void check_filled(mica_dataset *data, const mica_dataset_config *config) {
  const mica__column *x = mica__store_find(data->store, "x");
  const size_t width = x ? (size_t)x->about.shape.dim[0] : 0;
  double *fills = calloc(width + 1, sizeof *fills);
  mica__text text = {0};
  if (!fills) return;
  mica__missing_text(data, NULL, NULL, &text);
  if (text.length && config->missing == MICA_MISSING_REFUSE && strstr(text.data, "become")) abort();
  if (x && mica__fills_measure(data, MICA_MISSING_MOST, fills) == MICA_OK)
    mica__fills_put(data, x->part_names, fills, width);
  for (uint64_t i = 0; i < data->count * width; i++)
    if (!isfinite(((const float *)(const void *)x->data)[i])) abort();
  mica__text_free(&text);
  free(fills);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  /* The first byte chooses the way of reading. */
  mica_dataset_config config = {.regression = data[0] & 1,
                                .label_column = data[0] & 2 ? "x" : NULL,
                                .missing = data[0] & 4 ? (mica_missing)(1 + (data[0] >> 4 & 3)) : MICA_MISSING_REFUSE,
                                .keep_unlabelled = data[0] & 0x40,
                                .ignore = data[0] & 0x80 ? "b,day" : NULL,
                                .classes = data[0] & 0x20,
                                .kinds = data[0] & 8 ? "a=class,b=text,c=time" : NULL};
  mica_dataset *first = NULL, *second = NULL;
  if (parse(data + 1, size - 1, &config, &first) != MICA_OK) return 0;
  check_filled(first, &config);
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
      "$1,NA,3\n?,2,1\n",
      "4id,a,day,label\n0,,20260101,2.5\n1,3,20260102,\n2,3,20260103,1e3\n3,NA,20260104,7\n",
      "dx,a,y\nred,1,1\n,2,?\nnone,3,2\n",
      "\265,b,c,y\n1,,1,p\n2,,,q\n3,,2,\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
