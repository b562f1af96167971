/* The beginnings of picture files, up to the pixels. */
#include "data/picture/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Nearly every picture's header fits into this many bytes. */
#define HEADER_BYTES 65536

/* Reads the beginning of a file and returns its size; 0 if the file cannot be read, which decoding reports. Opening a
 * pipe does not block. */
static size_t read_header(const char *name, uint8_t *header) {
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return 0;
  const ssize_t got = pread(file, header, HEADER_BYTES, 0);
  close(file);
  return got > 0 ? (size_t)got : 0;
}

size_t mica__pictures_inspected(size_t count) { return count < MICA__MOST_INSPECTED ? count : MICA__MOST_INSPECTED; }

mica_status mica__pictures_inspect(const char *const *files, size_t count, mica__header_fn *fn, void *user) {
  const size_t inspected = mica__pictures_inspected(count);
  uint8_t *header = malloc(HEADER_BYTES);
  if (!header) return mica__fail_nomem("the header of a picture");
  for (size_t i = 0, size = 0; i < inspected; i++) {
    const char *name = files[(size_t)((uint64_t)i * count / inspected)];
    if ((size = read_header(name, header)) && !fn(user, header, size)) break;
  }
  free(header);
  return MICA_OK;
}
