/* onnx/external.h: tensors whose data is in files beside the model. The model names these files, and a model is not
 * trusted. So only regular files with a single hard link inside the model's folder are opened, and the path is followed
 * component by component. A relative link that stays inside the folder is followed; every other link is refused. */
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

/* Maps the file `location` in the model's folder and returns its `length` bytes from `offset` on; a length of 0 means
 * all bytes up to the file's end. They stay valid until mica__external_close. `who` is the tensor's name, for messages.
 *
 *   MICA_E_FORMAT       the path or the range of bytes is not allowed
 *   MICA_E_NOT_FOUND    the file is missing
 *   MICA_E_IO           the file cannot be read
 *   MICA_E_UNSUPPORTED  the model was opened from memory, so it has no folder */
mica_status mica__external_bytes(mica__external *external, const char *who, const char *location, uint64_t offset,
                                 uint64_t length, const unsigned char **data, size_t *size);
void mica__external_close(mica__external *external);

#endif
