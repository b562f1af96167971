/* POSIX functions for texts and streams. */
#include "windows/handles.h"

#include <errno.h>
#include <stdbool.h>

char *mica__posix_strndup(const char *text, size_t most) {
  const size_t n = strnlen(text, most);
  char *copy = malloc(n + 1);
  if (!copy) return NULL;
  memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

ssize_t mica__posix_getline(char **line, size_t *room, FILE *stream) {
  size_t n = 0;
  for (int letter = 0; letter != '\n' && (letter = getc(stream)) != EOF;) {
    if (n + 2 > *room || !*line) {
      const size_t wanted = *room < 128 ? 128 : 2 * *room;
      char *grown = realloc(*line, wanted);
      if (!grown) return -1;
      *line = grown;
      *room = wanted;
    }
    (*line)[n++] = (char)letter;
  }
  if (n > 0) (*line)[n] = '\0';
  return n > 0 ? (ssize_t)n : -1;
}

/* --- streams into memory --- */

typedef struct memory {
  FILE *stream;
  char **text;
  size_t *bytes;
  struct memory *next;
} memory;

static memory *all_memories;
static pthread_mutex_t memories = PTHREAD_MUTEX_INITIALIZER;

FILE *mica__posix_open_memstream(char **text, size_t *bytes) {
  char folder[MAX_PATH], path[MAX_PATH];
  memory *one = malloc(sizeof *one);
  if (!one || !GetTempPathA(sizeof folder, folder) || !GetTempFileNameA(folder, "mic", 0, path)) {
    free(one);
    errno = ENOMEM;
    return NULL;
  }
  const HANDLE handle = CreateFileA(path, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                    NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  const int file = handle == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)handle, O_BINARY | O_NOINHERIT);
  FILE *stream = file < 0 ? NULL : _fdopen(file, "w+b");
  if (!stream) {
    if (file >= 0)
      _close(file);
    else if (handle != INVALID_HANDLE_VALUE)
      CloseHandle(handle);
    free(one);
    errno = ENOMEM;
    return NULL;
  }
  pthread_mutex_lock(&memories);
  *one = (memory){stream, text, bytes, all_memories};
  all_memories = one;
  pthread_mutex_unlock(&memories);
  return stream;
}

/* Removes a stream's entry from the list, and returns it; NULL if the stream writes to a file. */
static memory *take(FILE *stream) {
  memory *found = NULL;
  pthread_mutex_lock(&memories);
  for (memory **at = &all_memories; *at && !found; at = &(*at)->next)
    if ((*at)->stream == stream) {
      found = *at;
      *at = found->next;
      break;
    }
  pthread_mutex_unlock(&memories);
  return found;
}

/* Reads the whole content into *text, adds a NUL, and stores the number of bytes in *bytes. */
static bool read_back(const memory *m) {
  long size = 0;
  if (fflush(m->stream) != 0 || fseek(m->stream, 0, SEEK_END) != 0 || (size = ftell(m->stream)) < 0) return false;
  char *text = malloc((size_t)size + 1);
  if (!text) return false;
  rewind(m->stream);
  *m->bytes = fread(text, 1, (size_t)size, m->stream);
  text[*m->bytes] = '\0';
  *m->text = text;
  return *m->bytes == (size_t)size;
}

int mica__posix_fclose(FILE *stream) {
#undef fclose
  memory *one = take(stream);
  const bool good = !one || read_back(one);
  free(one);
  return fclose(stream) == 0 && good ? 0 : EOF;
}
