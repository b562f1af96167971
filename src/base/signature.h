/* base/signature.h: files that must be signed (mica/signature.h). */
#ifndef MICA_BASE_SIGNATURE_H
#define MICA_BASE_SIGNATURE_H

#include "base/file.h"

#include <mica/signature.h>

/* MICA_OK if no signature is required, the model file's content has a valid one, or this process wrote that content.
 * path: the file's name; its signature is next to it. Pass the bytes that will be used, not a second reading of the
 * file. */
MICA__SHARED mica_status mica__signature_demand(const char *path, const void *data, size_t bytes);

/* mica__file_read and mica__file_map for model files: both require a valid signature. */
MICA__SHARED mica_status mica__file_read_signed(const char *path, unsigned char **data, size_t *size);
mica_status mica__file_map_signed(const char *path, const unsigned char **data, size_t *size);

#endif
