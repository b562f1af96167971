/* base/npy.h: NumPy's npy files: "\x93NUMPY", two version bytes, the header's length (two bytes in version 1, four
 * later), the header as a Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, the
 * elements. */
#ifndef MICA_BASE_NPY_H
#define MICA_BASE_NPY_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/dtype.h>
#include <mica/shape.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A parsed header. The elements, in C order, are `bytes` bytes from `offset` on. */
typedef struct mica__npy {
  mica_dtype dtype;
  bool big_endian; /* each element begins with its highest byte */
  mica_shape shape;
  size_t offset, bytes;
} mica__npy;

/* The most bytes of a header, with the magic, the version and the length before it. */
#define MICA__NPY_BEGIN (12 + 65536)

/* Parses the header of a file of `size` bytes. begin: the first `have` bytes of the file, which are the whole file or
 * at least MICA__NPY_BEGIN bytes. name: the file's name, for messages. MICA_E_FORMAT: the file is not an npy file, is
 * of a kind that Mica does not support, its size does not match the header, or one of the first bytes is a bool other
 * than 0 and 1. */
MICA__SHARED mica_status mica__npy_parse_begin(const char *name, const void *begin, size_t have, uint64_t size,
                                               mica__npy *npy);

/* Parses the header of a file's content. */
static inline mica_status mica__npy_parse_header(const char *name, const void *content, size_t size, mica__npy *npy) {
  return mica__npy_parse_begin(name, content, size, size, npy);
}

/* Maximum bytes of a header that mica__npy_format_header writes. */
#define MICA__NPY_HEADER 384
/* Writes the header of an array in the host's byte order. *bytes receives the header's size, a multiple of 64.
 * MICA_E_DTYPE for bf16, which NumPy lacks. */
MICA__SHARED mica_status mica__npy_format_header(mica_dtype dtype, mica_shape shape, char header[MICA__NPY_HEADER],
                                                 size_t *bytes);

#endif
