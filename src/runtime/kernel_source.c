#include "runtime/kernel_source.h"

#include "runtime/compiler.h"
#include "runtime/kernel_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 64 /* the most files that one kernel may include */
#define MAX_DEPTH 16
#define MAX_FILE_BYTES (16u << 20)

typedef struct expansion {
  char *seen[MAX_FILES];
  size_t seen_count;
  unsigned depth;
  mica__code_state code;
  mica__text *out;
} expansion;

static mica_status expand_file(expansion *e, const char *path, const char *wanted_by);

/* True if the line is #include "name"; sets *name and *name_length to that name, which is not terminated by a zero. */
static bool parse_include(const char *line, size_t length, const char **name, size_t *name_length) {
  const char *at = line, *end = line + length;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  if (at == end || *at++ != '#') return false;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  if (end - at < 7 || memcmp(at, "include", 7) != 0) return false;
  at += 7;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  if (at == end || *at++ != '"') return false;
  const char *close = memchr(at, '"', (size_t)(end - at));
  if (!close || close == at) return false;
  *name = at;
  *name_length = (size_t)(close - at);
  return true;
}

static mica_status expand_line(expansion *e, const char *path, size_t number, const char *line, size_t length) {
  const char *name = NULL;
  size_t name_length = 0;
  const bool within = e->code.in_comment || e->code.in_line_comment || e->code.quote;
  if (within || !parse_include(line, length, &name, &name_length)) {
    mica__code_add_line(&e->code, line, length, e->out);
    return MICA_OK;
  }
  char included[256];
  if (name_length >= sizeof included)
    return mica__fail(MICA_E_FORMAT, "%s:%zu: the name of an include is too long", path, number);
  memcpy(included, name, name_length);
  included[name_length] = '\0';
  MICA_TRY(expand_file(e, included, path));
  mica__text_addf(e->out, "#line %zu \"%s\"\n", number + 1, path);
  return MICA_OK;
}

static mica_status expand_lines(expansion *e, const char *path, const char *text, size_t bytes) {
  mica__text_addf(e->out, "#line 1 \"%s\"\n", path);
  size_t number = 1;
  for (const char *end = text + bytes; text < end; number++) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t length = newline ? (size_t)(newline - text) : (size_t)(end - text);
    MICA_TRY(expand_line(e, path, number, text, length));
    text += length + 1;
  }
  return MICA_OK;
}

static mica_status end_file(expansion *e, const char *path) {
  const bool open = e->code.in_comment;
  e->code = (mica__code_state){0};
  return open ? mica__fail(MICA_E_FORMAT, "kernel file %s ends in a comment; add the missing */", path) : MICA_OK;
}

static mica_status read_file(const char *directory, const char *path, const char *wanted_by, mica__text *content) {
  mica__text name = {0};
  mica__text_addf(&name, "%s/%s", directory, path);
  mica_status status = mica__text_status(&name);
  FILE *file = status == MICA_OK ? fopen(name.data, "rb") : NULL;
  if (status == MICA_OK && !file)
    status = mica__fail(MICA_E_NOT_FOUND, "kernel file %s (included by %s): %s", name.data, wanted_by, strerror(errno));
  char chunk[4096];
  size_t n = 0;
  while (status == MICA_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0) {
    mica__text_add_bytes(content, chunk, n);
    if (content->length > MAX_FILE_BYTES)
      status = mica__fail(MICA_E_FORMAT, "kernel file %s has more than %u MiB", name.data, MAX_FILE_BYTES >> 20);
  }
  if (status == MICA_OK && ferror(file)) status = mica__fail(MICA_E_IO, "kernel file %s cannot be read", name.data);
  if (file) fclose(file);
  mica__text_free(&name);
  return status == MICA_OK ? mica__text_status(content) : status;
}

static int compare_path(const void *key, const void *element) {
  return strcmp(key, ((const mica__kernel_source *)element)->path);
}

static mica_status expand_embedded(expansion *e, const char *path, const char *wanted_by) {
  const mica__kernel_source *source =
      bsearch(path, mica__kernel_sources, mica__kernel_source_count, sizeof *mica__kernel_sources, compare_path);
  if (!source) return mica__fail(MICA_E_NOT_FOUND, "there is no kernel file %s (included by %s)", path, wanted_by);
  mica__text_addf(e->out, "#line 1 \"%s\"\n", path);
  for (size_t i = 0; i < source->line_count; i++)
    MICA_TRY(expand_line(e, path, i + 1, source->lines[i], strlen(source->lines[i])));
  return MICA_OK;
}

static mica_status expand_unseen(expansion *e, const char *path, const char *wanted_by) {
  const char *directory = getenv("MICA_KERNEL_DIR");
  if (!directory || !*directory) return expand_embedded(e, path, wanted_by);
  mica__text content = {0};
  mica_status status = read_file(directory, path, wanted_by, &content);
  if (status == MICA_OK) status = expand_lines(e, path, content.data, content.length);
  mica__text_free(&content);
  return status;
}

static mica_status expand_file(expansion *e, const char *path, const char *wanted_by) {
  for (size_t i = 0; i < e->seen_count; i++)
    if (!strcmp(e->seen[i], path)) return MICA_OK;
  if (e->seen_count == MAX_FILES)
    return mica__fail(MICA_E_FORMAT, "%s includes more than %d files; the last is %s", wanted_by, MAX_FILES, path);
  if (e->depth == MAX_DEPTH)
    return mica__fail(MICA_E_FORMAT, "%s: includes are nested more than %d deep, at %s", wanted_by, MAX_DEPTH, path);
  char *copy = mica__strdup(path);
  if (!copy) return mica__fail_nomem("the name of a kernel file");
  e->seen[e->seen_count++] = copy;
  e->depth++;
  mica_status status = expand_unseen(e, path, wanted_by);
  e->depth--;
  return status == MICA_OK ? end_file(e, path) : status;
}

static mica_status expansion_end(expansion *e, mica_status status) {
  for (size_t i = 0; i < e->seen_count; i++) free(e->seen[i]);
  return status == MICA_OK ? mica__text_status(e->out) : status;
}

mica_status mica__kernel_source_expand(const char *path, mica__text *out) {
  expansion e = {.out = out};
  return expansion_end(&e, expand_file(&e, path, "the library"));
}

mica_status mica__kernel_source_begin(const mica_device_info *device, mica__text *out, const char **option) {
  const char *builtins = mica__compiler_builtins(device, option);
  expansion e = {.out = out};
  return builtins ? expand_embedded(&e, builtins, "the library") : MICA_OK;
}

mica_status mica__kernel_source_expand_text(const char *path, const char *text, size_t bytes, mica__text *out) {
  expansion e = {.out = out};
  mica_status status = expand_lines(&e, path, text, bytes);
  return expansion_end(&e, status == MICA_OK ? end_file(&e, path) : status);
}

mica__hash mica__kernel_source_hash(void) {
  mica__hash hash = {0};
  mica__text text = {0};
  for (size_t i = 0; i < mica__kernel_source_count; i++) {
    const mica__kernel_source *source = &mica__kernel_sources[i];
    mica__code_state code = {0};
    hash = mica__hash_text(hash, source->path);
    text.length = 0;
    for (size_t l = 0; l < source->line_count; l++)
      mica__code_add_line(&code, source->lines[l], strlen(source->lines[l]), &text);
    const mica__hash own = text.data ? mica__code_hash(text.data) : hash;
    hash = mica__hash_bytes(hash, &own, sizeof own);
  }
  mica__text_free(&text);
  return hash;
}
