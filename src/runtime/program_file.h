/* runtime/program_file.h: one compiled program as a file of the disk cache.
 *
 * DIRECTORY/programs/KEY.bin has four parts: a header with a checksum of all parts, the text of the key, the source if
 * it is stored, and the driver's binary. The lines of the key decide whether the binary may be used: Mica's version,
 * platform, device, driver, program, options, hash of the source. A file is written under another name, synced and
 * renamed, so that it is never seen half written. A damaged file is treated like a missing one.
 *
 * A line "kernel HASH: ENTRY" in the key offers a kernel to other programs that need one with that hash: this program
 * has it under the name ENTRY. HASH.kernel beside the file is then a symbolic link to KEY.bin. If several programs
 * offer the kernel, the link points to the one stored last. A link is used only if the file that it points to has that
 * line. Links are deleted with the program they point to. */
#ifndef MICA_RUNTIME_PROGRAM_FILE_H
#define MICA_RUNTIME_PROGRAM_FILE_H

#include "base/hash.h"
#include "base/text.h"

#include <stdint.h>

typedef struct mica__program_binary {
  unsigned char *data;
  size_t size;
  uint64_t used;      /* mica__program.used when the binary was read */
  const char *source; /* the program's source; NULL if not stored, and after mica__program_file_load */
} mica__program_binary;

/* A program found by one of its kernels; all members except `file` point into `file`. */
typedef struct mica__program_found {
  unsigned char *file;
  const char *key_text;
  mica__program_binary binary; /* source is NULL if none was kept */
} mica__program_found;

#define MICA__KERNEL_LINE "kernel %s: %s\n" /* HASH and ENTRY */

/* Loads a program; the caller frees binary->data. MICA_E_NOT_FOUND if the file is missing, damaged or for another key;
 * MICA_E_NOMEM. */
mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary);

/* Like mica__program_file_load, for the content of a file in memory. binary->data points into `file`. */
mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary);

/* Finds the key of the program that has the kernel, according to a link; false if there is no such link. */
bool mica__program_file_holder(const char *directory, mica__hash kernel, mica__hash *key);
/* Loads the program with this key, which must have the kernel; the caller frees found->file. MICA_E_NOT_FOUND if the
 * file is missing, damaged or for another key, or if its program does not have the kernel; MICA_E_NOMEM. */
mica_status mica__program_file_load_holder(const char *directory, mica__hash key, mica__hash kernel,
                                           mica__program_found *found);
/* Like mica__program_file_load_holder, for the content of a file in memory. */
mica_status mica__program_file_parse_holder(unsigned char *file, size_t size, mica__hash key, mica__hash kernel,
                                            mica__program_found *found);
/* Parses the content of any program's file in memory, and gets its key and its parts. */
mica_status mica__program_file_parse_any(unsigned char *file, size_t size, mica__hash *key, mica__program_found *found);
/* Finds the next line of a key's text that offers a kernel, gets the kernel's hash, and sets *line to the start of the
 * following line. Set *line to the key's text before the first call. False if no line is left. */
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
