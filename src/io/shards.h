/* io/shards.h: the index of a model whose tensors are in several safetensors files. An example of an index is
 * {"metadata": {"total_size": 8}, "weight_map": {"tensor": "model-00001-of-00002.safetensors"}}. */
#ifndef MICA_IO_SHARDS_H
#define MICA_IO_SHARDS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mica__shards mica__shards;

/* The largest index that is read, in bytes. */
#define MICA__SHARDS_MAX_BYTES ((size_t)64 << 20)

/* Parses an index in memory; name is used in messages. MICA_E_FORMAT if it is not an index, has a tensor twice or names
 * a file outside its folder; MICA_E_UNSUPPORTED in a build without cJSON. */
mica_status mica__shards_parse(const char *name, const char *text, size_t bytes, mica__shards **shards);
void mica__shards_free(mica__shards *shards);

/* The files, without duplicates, sorted. Their names have no directory. */
size_t mica__shards_file_count(const mica__shards *shards);
const char *mica__shards_file(const mica__shards *shards, size_t index);

/* The tensors, sorted by name. */
size_t mica__shards_count(const mica__shards *shards);
const char *mica__shards_name(const mica__shards *shards, size_t index);
/* Returns the file of a tensor; NULL if the index lacks it. */
const char *mica__shards_file_of(const mica__shards *shards, const char *tensor);

/* Gets the total bytes of all tensors according to the index; false if it does not say. */
bool mica__shards_total(const mica__shards *shards, uint64_t *bytes);

/* Finds the file of a folder that mica_weights_open should open, and writes its path to *path, which must be empty.
 * MICA_E_NOT_FOUND: the folder has no such file, or several that end alike; the message says what it contains. */
mica_status mica__shards_in_folder(const char *folder, mica__text *path);

#endif
