/* runtime/program_file.h: one compiled program as a file of the disk cache.
 *
 * DIRECTORY/programs/KEY.bin holds a header, the key in words (every line that decides whether the binary may be used:
 * our version, platform, device, driver, program, options, hash of the source) and the driver's binary, under one
 * checksum. Files appear whole or not at all: written aside, synced, renamed. Whatever does not verify is a miss. */
#ifndef MICA_RUNTIME_PROGRAM_FILE_H
#define MICA_RUNTIME_PROGRAM_FILE_H

#include "base/hash.h"
#include "base/text.h"

#include <stdint.h>

typedef struct mica__program_binary {
  unsigned char *data;
  size_t size;
  uint64_t used; /* mica__program.used when it was taken */
} mica__program_binary;

/* binary->data is the caller's to free. MICA_E_NOT_FOUND for every kind of miss, MICA_E_NOMEM. */
mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary);

/* Reads a file's content in memory, as load does after reading. binary->data points into file. */
mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary);

/* True when there is a file of the key, sound or not. */
bool mica__program_file_exists(const char *directory, mica__hash key);

/* Writes the file, and deletes the least recently used ones while all together are above limit bytes. */
mica_status mica__program_file_store(const char *directory, mica__hash key, const char *key_text,
                                     const mica__program_binary *binary, uint64_t limit);

#endif
