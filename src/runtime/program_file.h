/* runtime/program_file.h: one compiled program as a file of the disk cache.
 *
 * DIRECTORY/programs/KEY.bin has a header, the text of the key (each line decides whether the binary may be used:
 * Mica's version, platform, device, driver, program, options, hash of the source), the source if it is kept, and the
 * driver's binary, under one checksum. Files appear whole or not at all: they are written aside, synced and renamed. A
 * file that does not verify is a miss.
 *
 * A line "kernel HASH: ENTRY" in the key offers a kernel to other programs that need one with that hash: this program
 * has it under the name ENTRY. HASH.kernel beside the file is then a symbolic link to KEY.bin; if several programs
 * offer the kernel, to the one stored last. A link is a hint: unless the file's own line confirms it, it is a miss.
 * Links are deleted with the program they point to. */
#ifndef MICA_RUNTIME_PROGRAM_FILE_H
#define MICA_RUNTIME_PROGRAM_FILE_H

#include "base/hash.h"
#include "base/text.h"

#include <stdint.h>

typedef struct mica__program_binary {
  unsigned char *data;
  size_t size;
  uint64_t used;      /* mica__program.used when it was taken */
  const char *source; /* the source to keep with it; NULL if none is kept, and after mica__program_file_load */
} mica__program_binary;

/* A program found by one of its kernels; all members except `file` point into `file`. */
typedef struct mica__program_found {
  unsigned char *file;
  const char *key_text;
  mica__program_binary binary; /* source is NULL if none was kept */
} mica__program_found;

#define MICA__KERNEL_LINE "kernel %s: %s\n" /* HASH and ENTRY */

/* Loads a program; the caller frees binary->data. MICA_E_NOT_FOUND for every kind of miss, MICA_E_NOMEM. */
mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary);

/* Parses a file's content in memory, as load does after reading. binary->data points into file. */
mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary);

/* Finds the key of the program that has the kernel, according to a link; false if there is no such link. */
bool mica__program_file_holder(const char *directory, mica__hash kernel, mica__hash *key);
/* Loads the program with this key, which must have the kernel; the caller frees found->file. MICA_E_NOT_FOUND for
 * every kind of miss, MICA_E_NOMEM. */
mica_status mica__program_file_load_holder(const char *directory, mica__hash key, mica__hash kernel,
                                           mica__program_found *found);
/* Parses a file's content in memory, as load_holder does after reading. */
mica_status mica__program_file_parse_holder(unsigned char *file, size_t size, mica__hash key, mica__hash kernel,
                                            mica__program_found *found);
/* Parses a file's content in memory, whatever the program: its key, and its parts. */
mica_status mica__program_file_parse_any(unsigned char *file, size_t size, mica__hash *key, mica__program_found *found);
/* Goes through the lines of a key that offer a kernel. *line is the key at first; false if there are no more. */
bool mica__program_file_next_kernel(const char **line, mica__hash *kernel);
/* Copies the value of the line "field: value" of a key; "" if there is no such line. */
void mica__program_file_field(const char *key_text, const char *field, char *out, size_t size);
/* Reads the content of a key's file; the caller frees *data. MICA_E_NOT_FOUND if it cannot be read, MICA_E_NOMEM. */
mica_status mica__program_file_read(const char *directory, mica__hash key, unsigned char **data, size_t *size);

/* Gets the kernel's name in a program with this key, cut to size; false if the program does not offer the kernel. */
bool mica__program_file_entry(const char *key_text, mica__hash kernel, char *entry, size_t size);

/* True if the key has a file, intact or not. */
bool mica__program_file_exists(const char *directory, mica__hash key);

/* Writes the file and the links of its kernels, then deletes the least recently used files while the total is above
 * limit bytes. */
mica_status mica__program_file_store(const char *directory, mica__hash key, const char *key_text,
                                     const mica__program_binary *binary, uint64_t limit);

#endif
