#include "cli/embed_file.h"
#include "cli/result.h"

#include <mica/io.h>
#include <mica/safetensors.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_in(const char *path, const char *end) {
  const size_t length = strlen(path), tail = strlen(end);
  return length > tail && !strcmp(path + length - tail, end);
}

/* --- lines --- */

#define MOST_BYTES ((size_t)1 << 30)

/* Reads a whole stream, of at most MOST_BYTES, and adds a NUL. */
static int read_whole(const cli_command *self, FILE *file, const char *path, char **data, size_t *bytes) {
  size_t room = 0, got = 1;
  *bytes = 0;
  while (got > 0) {
    if (room - *bytes < 2) {
      room = room ? 2 * room : 65536;
      char *grown = realloc(*data, room);
      if (!grown) return cli_fail(self, "there is not enough memory for %s", path);
      *data = grown;
    }
    got = fread(*data + *bytes, 1, room - *bytes - 1, file);
    *bytes += got;
    if (*bytes > MOST_BYTES) return cli_fail(self, "%s is above 1 GiB", path);
  }
  (*data)[*bytes] = '\0';
  return ferror(file) ? cli_fail(self, "%s cannot be read: %s", path, strerror(errno)) : CLI_OK;
}

static int split(const cli_command *self, const char *path, size_t bytes, cli_lines *lines) {
  size_t most = 1;
  const char *zero = memchr(lines->data, 0, bytes);
  if (zero)
    return cli_fail(self,
                    "%s: byte %zu is zero, but a text has no zero bytes; if the file is in UTF-16, save it as UTF-8",
                    path, (size_t)(zero - lines->data));
  for (const char *at = lines->data; (at = strchr(at, '\n')); at++) most++;
  lines->texts = calloc(most, sizeof *lines->texts);
  if (!lines->texts) return cli_fail(self, "there is not enough memory for %s", path);
  for (char *at = lines->data, *next; at && *at; at = next) {
    next = strchr(at, '\n');
    size_t length = next ? (size_t)(next - at) : strlen(at);
    if (next) next++;
    if (length && at[length - 1] == '\r') length--;
    at[length] = '\0';
    lines->texts[lines->count++] = at;
  }
  return CLI_OK;
}

int cli_lines_read(const cli_command *self, const char *path, cli_lines *lines) {
  const bool standard = !strcmp(path, "-");
  size_t bytes = 0;
  if (!standard && cli_is_folder(path)) return cli_fail(self, "%s is a folder; name a file with a text per line", path);
  FILE *file = standard ? stdin : fopen(path, "rb");
  if (!file) return cli_fail(self, "%s cannot be read: %s", path, strerror(errno));
  const char *name = standard ? "standard input" : path;
  int status = read_whole(self, file, name, &lines->data, &bytes);
  if (!standard) fclose(file);
  return status == CLI_OK ? split(self, name, bytes, lines) : status;
}

int cli_lines_copy(const cli_command *self, const cli_words *words, cli_lines *lines) {
  lines->texts = calloc(words->count + 1, sizeof *lines->texts);
  if (!lines->texts) return cli_fail(self, "there is not enough memory for %zu texts", words->count);
  for (size_t i = 0; i < words->count; i++) lines->texts[i] = words->words[i];
  lines->count = words->count;
  return CLI_OK;
}

bool cli_is_picture(const char *path) {
  static const char *const endings[] = {".png", ".jpg", ".jpeg"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
    if (!strcasecmp(dot, endings[i])) return true;
  return false;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Frees the entries that are not pictures and moves the others to the front. Returns the number of pictures. If some
 * entries were not pictures, prints how many; if all were, prints an error and returns 0. */
static int keep_pictures(const cli_command *self, const char *folder, struct dirent **entries, int found) {
  int kept = 0, unread = 0;
  char first[300] = "";
  for (int i = 0; i < found; i++) {
    if (cli_is_picture(entries[i]->d_name)) {
      entries[kept++] = entries[i];
      continue;
    }
    if (!unread++) snprintf(first, sizeof first, "%s", entries[i]->d_name);
    free(entries[i]);
  }
  if (unread && kept)
    fprintf(stderr, "mica %s: %d file%s beside the pictures (.png, .jpg, .jpeg) %s not read: %s%s\n", self->name,
            unread, unread == 1 ? " or folder" : "s or folders", unread == 1 ? "is" : "are", cli_clean(first),
            unread > 1 ? ", ..." : "");
  if (!kept) cli_fail(self, "%s holds no pictures (.png, .jpg, .jpeg)", folder);
  return kept;
}

int cli_lines_list(const cli_command *self, const char *folder, cli_lines *lines) {
  struct dirent **entries = NULL;
  size_t bytes = 1, at = 0;
  const char *slash = ends_in(folder, "/") ? "" : "/";
  int found = scandir(folder, &entries, is_visible, alphasort);
  if (found < 0) return cli_fail(self, "%s cannot be read: %s", folder, strerror(errno));
  found = keep_pictures(self, folder, entries, found);
  if (!found) {
    free(entries);
    return CLI_FAILED;
  }
  for (int i = 0; i < found; i++) bytes += strlen(folder) + strlen(entries[i]->d_name) + 2;
  lines->data = malloc(bytes);
  lines->texts = calloc((size_t)found + 1, sizeof *lines->texts);
  const bool ok = lines->data && lines->texts;
  for (int i = 0; i < found; i++) {
    if (ok) {
      lines->texts[lines->count++] = lines->data + at;
      at += (size_t)snprintf(lines->data + at, bytes - at, "%s%s%s", folder, slash, entries[i]->d_name) + 1;
    }
    free(entries[i]);
  }
  free(entries);
  return ok ? CLI_OK : cli_fail(self, "there is not enough memory for the names in %s", folder);
}

void cli_lines_free(cli_lines *lines) {
  free(lines->data);
  free(lines->texts);
}

/* --- vectors --- */

bool cli_is_vectors(const char *path) { return ends_in(path, ".npy") || ends_in(path, ".safetensors"); }

static int take(const cli_command *self, const char *path, mica_dtype dtype, mica_shape shape, const void *data,
                cli_vectors *vectors) {
  char text[MICA_SHAPE_TEXT];
  if (dtype != MICA_F32 || shape.rank != 2 || shape.dim[1] < 1)
    return cli_fail(self, "%s: the vectors are %s %s, but must be f32 [rows, columns] with at least one column", path,
                    mica_dtype_name(dtype), mica_shape_format(shape, text));
  const size_t bytes = (size_t)shape.dim[0] * (size_t)shape.dim[1] * sizeof(float);
  vectors->count = (size_t)shape.dim[0];
  vectors->width = shape.dim[1];
  vectors->numbers = malloc(bytes ? bytes : 1);
  if (!vectors->numbers) return cli_fail(self, "there is not enough memory for %s", path);
  if (bytes) memcpy(vectors->numbers, data, bytes);
  return CLI_OK;
}

static int read_safetensors(const cli_command *self, const char *path, cli_vectors *vectors) {
  mica_safetensors *file = NULL;
  if (mica_safetensors_open(path, &file) != MICA_OK) return cli_fail_library(self);
  const mica_safetensors_entry *entry = mica_safetensors_find(file, "vectors");
  const int status = entry ? take(self, path, entry->dtype, entry->shape, entry->data, vectors)
                           : cli_fail(self, "%s has no tensor \"vectors\"", path);
  mica_safetensors_close(file);
  return status;
}

int cli_vectors_read(const cli_command *self, const char *path, cli_vectors *vectors) {
  mica_dtype dtype = MICA_F32;
  mica_shape shape = {0};
  void *data = NULL;
  if (ends_in(path, ".safetensors")) return read_safetensors(self, path, vectors);
  if (mica_npy_read(path, &dtype, &shape, &data) != MICA_OK) return cli_fail_library(self);
  const int status = take(self, path, dtype, shape, data, vectors);
  mica_free(data);
  return status;
}

int cli_vectors_write(const cli_command *self, const char *path, const float *numbers, size_t count, int64_t width) {
  const mica_shape shape = MICA_SHAPE((int64_t)count, width);
  const mica_safetensors_entry entry = {.name = "vectors",
                                        .type = "F32",
                                        .dtype = MICA_F32,
                                        .shape = shape,
                                        .data = numbers,
                                        .bytes = count * (size_t)width * sizeof *numbers};
  const mica_status status = ends_in(path, ".npy") ? mica_npy_write(path, MICA_F32, shape, numbers)
                                                   : mica_safetensors_write(path, &entry, 1, NULL, 0);
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

void cli_vectors_free(cli_vectors *vectors) { free(vectors->numbers); }
