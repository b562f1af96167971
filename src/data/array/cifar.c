/* CIFAR's binary files: records of a label and 32 x 32 bytes each of red, green and blue. A record of CIFAR-100 has two
 * labels, one of 20 groups of classes and then one of 100 classes; the second is used. */
#include "base/checked.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

#define PIXELS (3 * 32 * 32)

static const char *const names10[10] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};

mica_status mica__cifar_parse(const char *name, uint8_t *content, size_t size, const mica_dataset_config *config,
                              mica__store *store) {
  MICA_TRY(mica__store_own(store, content, free));
  size_t labels = size % (PIXELS + 1) == 0 ? 1 : 2, record = PIXELS + labels;
  int32_t classes = labels == 1 ? 10 : 100;
  mica__column *column = NULL;
  if (size == 0) return mica__fail(MICA_E_FORMAT, "%s is empty", name);
  if (size % record)
    return mica__fail(MICA_E_FORMAT,
                      "%s is truncated, or not a CIFAR file: %zu bytes are not a multiple of a record's %d or %d", name,
                      size, PIXELS + 1, PIXELS + 2);
  int32_t given = mica__config_classes(config);
  if (given && given != classes)
    return mica__fail(MICA_E_FORMAT, "%s has %d classes, but the data of training have %d", name, classes, given);
  MICA_TRY(mica__store_set_count(store, size / record));
  MICA_TRY(mica__store_add_input(store, MICA_U8, MICA_SHAPE(3, 32, 32), &column));
  column->data = content + labels;
  column->stride = record;
  int32_t *read = malloc((size_t)store->count * sizeof *read);
  if (!read) return mica__fail_nomem("labels");
  for (uint64_t i = 0; i < store->count; i++) read[i] = content[i * record + labels - 1];
  MICA_TRY(mica__store_add_labels(store, read, classes));
  return mica__column_name_classes(mica__store_find(store, "label"), names10, 10);
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name;
  return rest && mica__name_ends(rest, ".bin");
}

static bool is_file(const char *path, const uint8_t *begin, size_t size) {
  (void)begin, (void)size;
  return mica__name_ends(path, ".bin");
}

/* Reads the files into one block of memory, one after the other. */
static mica_status open_files(const char *const *paths, size_t count, const mica_dataset_config *config,
                              mica__store *store) {
  uint8_t *all = NULL;
  size_t total = 0;
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    uint8_t *content = NULL, *grown = NULL;
    size_t size = 0, sum = 0;
    status = mica__content_read(paths[i], &content, &size);
    if (status == MICA_OK && (!mica__add_size(total, size, &sum) || !(grown = realloc(all, sum + 1))))
      status = mica__fail_nomem(paths[i]);
    if (grown) {
      memcpy(grown + total, content, size);
      all = grown;
      total = sum;
    }
    free(content);
  }
  if (status == MICA_OK) return mica__cifar_parse(store->name, all, total, config, store);
  free(all);
  return status;
}

const mica__source mica__source_cifar = {.is_part = is_part, .is_file = is_file, .many = true, .open = open_files};
