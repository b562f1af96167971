/* mica/io.h: files that are written whole, and pictures as files. Functions may be called from any thread. */
#ifndef MICA_IO_H
#define MICA_IO_H

#include <mica/shape.h>

MICA_BEGIN_DECLS

/* Makes path a file of these bytes, in one step: they are written to a file beside it, synced and renamed, so that at
 * any moment the path holds the old file or the new one. Missing directories are made. MICA_E_IO says what failed. */
MICA_API MICA_CHECKED mica_status mica_file_write(const char *path, const void *data, size_t bytes);

/* Encodes (C, H, W) u8 planes, C 1 or 3, as a PNG file in memory. *data is the caller's to mica_free. MICA_E_SHAPE for
 * other shapes and for sides over 32768, MICA_E_UNSUPPORTED in a build without libpng. */
MICA_API MICA_CHECKED mica_status mica_png_encode(const uint8_t *planes, mica_shape shape, uint8_t **data,
                                                  size_t *bytes);

MICA_END_DECLS

#endif
