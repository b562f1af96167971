/* Compresses bytes with gzip. */
#include "data/dataset.h"

#include <stdlib.h>

#if MICA_WITH_DEFLATE
#include <libdeflate.h>

/* The level of compression, 1 to 12. */
#define PACKING 6

mica_status mica__content_deflate(uint8_t **data, size_t *size) {
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(PACKING);
  const size_t most = compressor ? libdeflate_gzip_compress_bound(compressor, *size) : 0;
  uint8_t *packed = compressor ? malloc(most) : NULL;
  if (packed) *size = libdeflate_gzip_compress(compressor, *data, *size, packed, most);
  if (compressor) libdeflate_free_compressor(compressor);
  free(*data);
  *data = packed;
  return packed ? MICA_OK : mica__fail_nomem("a packed file");
}

#else

mica_status mica__content_deflate(uint8_t **data, size_t *size) {
  (void)size;
  free(*data);
  *data = NULL;
  return mica__fail_lacks("a packed file", "libdeflate");
}

#endif
