/* mica/io.h: files that are written whole, arrays and pictures as files. Functions may be called from any thread. */
#ifndef MICA_IO_H
#define MICA_IO_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* Makes path a file of these bytes, in one step: they are written to a file beside it, synced and renamed, so that at
 * any moment the path holds the old file or the new one. Missing directories are made. MICA_E_IO says what failed. */
MICA_API MICA_CHECKED mica_status mica_file_write(const char *path, const void *data, size_t bytes);

/* Encodes (C, H, W) u8 planes, C 1 or 3, as a PNG file in memory. *data is the caller's to mica_free. MICA_E_SHAPE for
 * other shapes and for sides over 32768, MICA_E_UNSUPPORTED in a build without libpng. */
MICA_API MICA_CHECKED mica_status mica_png_encode(const uint8_t *planes, mica_shape shape, uint8_t **data,
                                                  size_t *bytes);

/* The array in a file of NumPy's npy format, versions 1 to 3: elements in C order, of either byte order and of
 * every dtype but bf16. *data, aligned for any type, is the caller's to mica_free. MICA_E_NOT_FOUND and MICA_E_IO for
 * the file, MICA_E_FORMAT for what it holds: another version, a header that says something twice or not at all, fewer
 * or more bytes than its elements have, a bool that is neither 0 nor 1. */
MICA_API MICA_CHECKED mica_status mica_npy_read(const char *path, mica_dtype *dtype, mica_shape *shape, void **data);
/* Writes an array as such a file, as mica_file_write does and byte for byte as numpy.save. Its bytes must not be NULL,
 * even where there are none. MICA_E_DTYPE for bf16, which NumPy lacks. */
MICA_API MICA_CHECKED mica_status mica_npy_write(const char *path, mica_dtype dtype, mica_shape shape,
                                                 const void *data);

MICA_END_DECLS

#endif
