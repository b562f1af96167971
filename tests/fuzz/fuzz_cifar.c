/* CIFAR's binary files, and the gzip around datasets. */
#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const mica_dataset_config config;
  mica__store *store = NULL;
  uint8_t *raw = malloc(size + 1), *content = NULL;
  size_t content_size = 0;
  if (!raw || mica__store_create("fuzz", &store) != MICA_OK) {
    free(raw);
    return 0;
  }
  memcpy(raw, data, size);
  if (mica__content_inflate("fuzz", raw, size, &content, &content_size) == MICA_OK &&
      mica__cifar_parse("fuzz", content, content_size, &config, store) == MICA_OK)
    for (uint64_t i = 0; i < store->count; i++) {
      const mica__column *image = mica__store_find(store, "image"), *label = mica__store_find(store, "label");
      const uint8_t *last = image->data + i * image->stride + image->bytes - 1;
      if (((const int32_t *)(const void *)label->data)[i] >= label->about.classes || last >= content + content_size)
        abort();
    }
  mica__store_release(store);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char record[3073] = {7};
  /* gzip of 3073 zeros, and of nothing */
  static const char zeros[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x01\x01\x00\x00\x00\x82\x20\xff"
                              "\xaf\x6e\x48\x40\x01\x00\x00\x37\x06\x7d\x4e\xb0\x38\x01\x0c\x00\x00";
  static const char nothing[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00";
  switch (index) {
  case 0: mica__text_add_bytes(seed, record, sizeof record); return true;
  case 1: mica__text_add_bytes(seed, zeros, sizeof zeros - 1); return true;
  case 2: mica__text_add_bytes(seed, nothing, sizeof nothing - 1); return true;
  default: return false;
  }
}
