/* onnx/external.h: tensors that lie in files beside the model. A file's name is taken from the model, which nobody
 * trusts: only regular files inside of the model's folder are opened, component by component. Links are followed as
 * long as they stay inside; one that leaves is refused. */
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

/* Bytes of the file `location` from `offset` on, mapped, valid until mica__external_close. length 0 stands for the rest
 * of the file. MICA_E_FORMAT says what is wrong with the name or the range, MICA_E_NOT_FOUND and MICA_E_IO what is with
 * the file; `who` is the tensor's name. */
mica_status mica__external_bytes(mica__external *external, const char *who, const char *location, uint64_t offset,
                                 uint64_t length, const unsigned char **data, size_t *size);
void mica__external_close(mica__external *external);

#endif
