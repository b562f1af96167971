/* tests/support/files.h: files for the tests of readers, in a folder of the program's own. */
#ifndef MICA_TESTS_SUPPORT_FILES_H
#define MICA_TESTS_SUPPORT_FILES_H

#include <stddef.h>
#include <stdint.h>

/* The folder; made at the first call. */
const char *files_folder(void);
/* "FOLDER/name"; valid until the fourth call after this one. */
const char *files_path(const char *name);
/* Writes a file there, and the folders that it stands in. */
void files_write(const char *name, const void *data, size_t size);
void files_write_text(const char *name, const char *text);
/* files_write in gzip. */
void files_write_gzip(const char *name, const void *data, size_t size);
/* All of a file, unpacked where it is gzip, for the caller to free; ends the test where it cannot be read. */
uint8_t *files_read(const char *path, size_t *size);
/* Deletes the folder and all in it. */
void files_remove(void);

/* "data/name" of the test data (test_data); NULL if it is not there. */
const char *files_real(const char *name);

#endif
