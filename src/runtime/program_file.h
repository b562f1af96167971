/* runtime/program_file.h: one compiled program as a file of the disk cache.
 *
 * DIRECTORY/programs/KEY.bin holds a header, the key in words (every line that decides whether the binary may be used:
 * our version, platform, device, driver, program, options, hash of the source), the source where it is kept, and the
 * driver's binary, under one checksum. Files appear whole or not at all: written aside, synced, renamed. Whatever does
 * not verify is a miss.
 *
 * A line "kernel HASH: ENTRY" of the key offers a kernel to other programs that want one of that hash: it is in this
 * program, under the name ENTRY. HASH.kernel beside the file is then a symbolic link to KEY.bin, or to what was stored
 * last of several programs that offer the kernel. A link is a hint: the file's own line confirms it, or it is a miss.
 * Links go with the program they point to. */
#ifndef MICA_RUNTIME_PROGRAM_FILE_H
#define MICA_RUNTIME_PROGRAM_FILE_H

#include "base/hash.h"
#include "base/text.h"

#include <stdint.h>

typedef struct mica__program_binary {
  unsigned char *data;
  size_t size;
  uint64_t used;      /* mica__program.used when it was taken */
  const char *source; /* what to keep beside it; NULL for nothing, and in what was loaded by its key */
} mica__program_binary;

/* A program that is found by one of its kernels; all but `file` points into that. */
typedef struct mica__program_found {
  unsigned char *file;
  const char *key_text;
  mica__program_binary binary; /* its source is NULL if none was kept */
} mica__program_found;

#define MICA__KERNEL_LINE "kernel %s: %s\n" /* HASH and ENTRY */

/* binary->data is the caller's to free. MICA_E_NOT_FOUND for every kind of miss, MICA_E_NOMEM. */
mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary);

/* Reads a file's content in memory, as load does after reading. binary->data points into file. */
mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary);

/* The key of the program that a link says has the kernel; false when there is no such link. */
bool mica__program_file_holder(const char *directory, mica__hash kernel, mica__hash *key);
/* Loads that program; found->file is the caller's to free. MICA_E_NOT_FOUND for every kind of miss, MICA_E_NOMEM. */
mica_status mica__program_file_load_holder(const char *directory, mica__hash key, mica__hash kernel,
                                           mica__program_found *found);
/* Reads a file's content in memory, as load_holder does after reading. */
mica_status mica__program_file_parse_holder(unsigned char *file, size_t size, mica__hash key, mica__hash kernel,
                                            mica__program_found *found);
/* Reads a file's content in memory, of whatever program: its key, and what it holds. */
mica_status mica__program_file_parse_any(unsigned char *file, size_t size, mica__hash *key, mica__program_found *found);
/* Goes from line to line of a key that offer a kernel: *line is the key at first; false when there is no more. */
bool mica__program_file_next_kernel(const char **line, mica__hash *kernel);
/* The value of the line "field: value" of a key; "" if it has none. */
void mica__program_file_field(const char *key_text, const char *field, char *out, size_t size);
/* The content of the file of a key; *data is the caller's to free. MICA_E_NOT_FOUND, MICA_E_NOMEM. */
mica_status mica__program_file_read(const char *directory, mica__hash key, unsigned char **data, size_t *size);

/* What a program of this key calls the kernel, cut at size; false when it does not offer it. */
bool mica__program_file_entry(const char *key_text, mica__hash kernel, char *entry, size_t size);

/* True when there is a file of the key, sound or not. */
bool mica__program_file_exists(const char *directory, mica__hash key);

/* Writes the file and the links of its kernels, and deletes the least recently used files while all together are above
 * limit bytes. */
mica_status mica__program_file_store(const char *directory, mica__hash key, const char *key_text,
                                     const mica__program_binary *binary, uint64_t limit);

#endif
