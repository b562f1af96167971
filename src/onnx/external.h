/* onnx/external.h: tensors in files beside the model. The model names these files, and models are not trusted: only
 * regular files inside the model's folder are opened, component by component. Links are followed if they stay inside;
 * others are refused. */
#ifndef MICA_ONNX_EXTERNAL_H
#define MICA_ONNX_EXTERNAL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct mica__external_file {
  char *location;
  const unsigned char *data; /* mapped; NULL for an empty file */
  size_t size;
} mica__external_file;

typedef struct mica__external {
  char *folder; /* NULL for a model in memory, which has none */
  mica__external_file *files;
  size_t count;
} mica__external;

/* Maps bytes of the file `location` from `offset` on; valid until mica__external_close. length 0: the rest of the file.
 * MICA_E_FORMAT: the name or the range is wrong; MICA_E_NOT_FOUND and MICA_E_IO: the file is missing or unreadable.
 * `who` is the tensor's name. */
mica_status mica__external_bytes(mica__external *external, const char *who, const char *location, uint64_t offset,
                                 uint64_t length, const unsigned char **data, size_t *size);
void mica__external_close(mica__external *external);

#endif
