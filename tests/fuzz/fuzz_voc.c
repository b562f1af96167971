/* The reader of Pascal VOC's annotations. */
#include "data/annotation/boxed.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const mica_dataset_config config = {.channels = 1, .height = 32, .width = 32};
  mica__store *store = NULL;
  mica__boxed *boxed = NULL;
  if (mica__store_create("fuzz", &store) != MICA_OK) return 0;
  mica_status status = mica__boxed_create(store, &boxed);
  if (status == MICA_OK) status = mica__voc_parse("fuzz", "folder/", "a.png", data, size, boxed);
  if (status == MICA_OK) mica__boxed_sort_classes(boxed);
  if (status == MICA_OK) status = mica__boxed_finish(boxed, &config, store);
  if (status != MICA_OK && status != MICA_E_FORMAT && status != MICA_E_UNSUPPORTED) abort();
  mica__store_release(store);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "<annotation><filename>a.png</filename><size><width>64</width><height>32</height></size><object><name>dog</name>"
      "<difficult>1</difficult><bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>60</xmax><ymax>30</ymax></bndbox></object>"
      "<object><name>cat &amp; dog</name><part><name>x</name></part><bndbox><xmin>9</xmin><ymin>2</ymin><xmax>64</xmax>"
      "<ymax>32</ymax></bndbox></object></annotation>",
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- a --><annotation><size><height>5</height><width>7</width></size>"
      "<object><bndbox><ymax>5</ymax><xmin>1</xmin><ymin>1</ymin><xmax>7</xmax></bndbox><name>\xc3\xa4</name></object>"
      "</annotation>",
      "<annotation><size><height>5</height><width>7</width></size></annotation>"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
