/* The reader of COCO's annotations. */
#include "data/annotation/boxed.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const mica_dataset_config config = {.channels = 1, .height = 32, .width = 32};
  mica__store *store = NULL;
  mica__boxed *boxed = NULL;
  char *content = malloc(size + 1);
  if (!content) return 0;
  memcpy(content, data, size);
  content[size] = '\0';
  if (mica__store_create("fuzz", &store) != MICA_OK) abort();
  mica_status status = mica__boxed_create(store, &boxed);
  if (status == MICA_OK) status = mica__coco_parse("fuzz", "folder/", content, size, boxed);
  if (status == MICA_OK) status = mica__boxed_finish(boxed, &config, store);
  if (status != MICA_OK && status != MICA_E_FORMAT && status != MICA_E_UNSUPPORTED) abort();
  mica__store_release(store);
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"images\":[{\"id\":9,\"width\":64,\"height\":32,\"file_name\":\"b.png\"},{\"id\":4,\"width\":64,\"height\":32,"
      "\"file_name\":\"c/a.png\"}],\"categories\":[{\"id\":7,\"name\":\"zebra\"},{\"id\":18,\"name\":\"ape\"}],"
      "\"annotations\":[{\"image_id\":9,\"category_id\":18,\"bbox\":[2.5,3,10,20],\"area\":33},{\"image_id\":9,"
      "\"category_id\":7,\"bbox\":[0,0,64,32],\"iscrowd\":1}]}",
      "{\"categories\":[{\"id\":1,\"name\":\"a\"}],\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":1,"
      "\"bbox\":"
      "[1,1,1e0,2]}],\"images\":[{\"id\":1,\"width\":5,\"height\":5,\"file_name\":\"x\"}]}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
