/* cli/embed_file.h: files with a text per line or a vector per row, and folders of pictures. */
#ifndef MICA_CLI_EMBED_FILE_H
#define MICA_CLI_EMBED_FILE_H

#include "cli/command.h"

#include <stdint.h>

/* The lines of a file, words of the command line, or paths. data: the memory of the texts; NULL if they are words. */
typedef struct cli_lines {
  char *data;
  const char **texts;
  size_t count;
} cli_lines;

/* Reads the lines of a file, or of standard input for "-", without line ends. Returns an exit status, after an error
 * message on failure. */
int cli_lines_read(const cli_command *self, const char *path, cli_lines *lines);
/* Makes a list of the words of a command line, which points to the words and does not copy them. Returns an exit
 * status. */
int cli_lines_copy(const cli_command *self, const cli_words *words, cli_lines *lines);
/* Lists the paths of a folder's picture files, sorted by name, and says how many other files there are. Returns
 * CLI_FAILED, after a message, if there are no pictures. */
int cli_lines_list(const cli_command *self, const char *folder, cli_lines *lines);
/* True for a name that ends in .png, .jpg or .jpeg. */
bool cli_is_picture(const char *path);
void cli_lines_free(cli_lines *lines);

/* Vectors (count, width). */
typedef struct cli_vectors {
  float *numbers;
  size_t count;
  int64_t width;
} cli_vectors;

/* True for a name that ends in .npy or .safetensors. */
bool cli_is_vectors(const char *path);
/* Reads an f32 matrix: an npy file, or the tensor "vectors" of a safetensors file. */
int cli_vectors_read(const cli_command *self, const char *path, cli_vectors *vectors);
int cli_vectors_write(const cli_command *self, const char *path, const float *numbers, size_t count, int64_t width);
void cli_vectors_free(cli_vectors *vectors);

#endif
