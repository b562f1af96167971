/* mica/io.h: atomic writes of files; arrays as files.
 *
 * Threads: any thread may call these functions. */
#ifndef MICA_IO_H
#define MICA_IO_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* Writes a file atomically, through a temporary file in the same folder that is synced and renamed. At any moment, path
 * holds the old or the new file. Missing directories are created. MICA_E_IO: the message says what failed. */
MICA_API MICA_CHECKED mica_status mica_file_write(const char *path, const void *data, size_t bytes);

/* Reads an array in NumPy's npy format, versions 1 to 3, C order, any byte order, all dtypes but bf16. *data is aligned
 * for any type. The caller frees *data with mica_free. MICA_E_NOT_FOUND, MICA_E_IO: the file cannot be read.
 * MICA_E_FORMAT: another version, order or type, a wrong header, a wrong number of bytes, or a bool other than 0 and
 * 1. */
MICA_API MICA_CHECKED mica_status mica_npy_read(const char *path, mica_dtype *dtype, mica_shape *shape, void **data);
/* Writes an array in the npy format with mica_file_write; the bytes are those that numpy.save writes. data must not be
 * NULL, even for 0 elements. MICA_E_DTYPE: bf16, which NumPy lacks. */
MICA_API MICA_CHECKED mica_status mica_npy_write(const char *path, mica_dtype dtype, mica_shape shape,
                                                 const void *data);

MICA_END_DECLS

#endif
