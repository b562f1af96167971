/* Names of classes in the YAML of the YOLO layout. Only the YAML features that these files use are read: no anchors, no
 * texts over several lines. */
#include "data/annotation/yolo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CLASSES 10000

void mica__yolo_names_free(mica__yolo_names *n) {
  for (size_t i = 0; i < n->count; i++) free(n->names[i]);
  free(n->names);
  free(n->classes);
  free(n->file);
  *n = (mica__yolo_names){0};
}

mica_status mica__yolo_name(mica__yolo_names *n, size_t index, const char *name, size_t length, const char *where) {
  if (index >= MOST_CLASSES)
    return mica__fail(MICA_E_FORMAT, "%s: a class has the number %zu, but at most %d is allowed", where, index,
                      MOST_CLASSES - 1);
  if (index >= n->capacity) {
    const size_t capacity = index < 40 ? 80 : 2 * index;
    char **grown = realloc(n->names, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("names of classes");
    n->names = grown;
    n->capacity = capacity;
  }
  while (n->count <= index) n->names[n->count++] = NULL;
  if (n->names[index]) return mica__fail(MICA_E_FORMAT, "%s: class %zu has two names", where, index);
  if (!length) return mica__fail(MICA_E_FORMAT, "%s: class %zu has an empty name", where, index);
  char *copy = malloc(length + 1);
  if (!copy) return mica__fail_nomem("names of classes");
  memcpy(copy, name, length);
  copy[length] = '\0';
  n->names[index] = copy;
  return MICA_OK;
}

typedef struct reading {
  const char *path;
  char *at;
  long line;
  mica__yolo_names *names;
} reading;

static mica_status fail(const reading *r, const char *what) {
  return mica__fail(MICA_E_FORMAT, "%s, line %ld: %s", r->path, r->line, what);
}

/* Skips spaces; with `lines` also line ends and comments. */
static void skip(reading *r, bool lines) {
  for (;;) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || (lines && *r->at == '\n')) r->line += *r->at++ == '\n';
    if (*r->at != '#' || !lines) return;
    r->at += strcspn(r->at, "\n");
  }
}

/* Reads a text, in quotes or up to one of `ends` or a comment. Quotes are removed in place, so *text points into the
 * content. */
static mica_status take_text(reading *r, const char *ends, char **text, size_t *length) {
  const char quote = *r->at;
  char *to = r->at;
  *text = r->at;
  *length = 0;
  if (quote != '"' && quote != '\'') {
    while (*r->at && *r->at != '\n' && !strchr(ends, *r->at) && !(*r->at == '#' && r->at > *text && r->at[-1] == ' '))
      r->at++;
    for (to = r->at; to > *text && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r');) to--;
    *length = (size_t)(to - *text);
    return MICA_OK;
  }
  for (r->at++; *r->at && *r->at != '\n'; *to++ = *r->at++) {
    if (quote == '"' && *r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\'))
      r->at++;
    else if (*r->at == quote && quote == '\'' && r->at[1] == quote)
      r->at++;
    else if (*r->at == quote) {
      r->at++;
      *length = (size_t)(to - *text);
      return MICA_OK;
    }
  }
  return fail(r, "a quote is not closed");
}

/* Reads "NUMBER:" before a name. */
static mica_status take_index(reading *r, size_t *index) {
  char *end = r->at;
  const char quote = *r->at == '"' || *r->at == '\'' ? *r->at : '\0';
  if (quote) end = ++r->at;
  *index = 0;
  while (*end >= '0' && *end <= '9' && *index < MOST_CLASSES) *index = 10 * *index + (size_t)(*end++ - '0');
  const bool digits = end > r->at;
  if (quote && *end == quote) end++;
  if (!digits || *end != ':')
    return fail(r, "a name of \"names\" must follow a number below 10000 and a colon, as in 0: cat");
  r->at = end + 1;
  skip(r, false);
  return MICA_OK;
}

static mica_status take_name(reading *r, size_t index, const char *ends) {
  char where[600], *text = NULL;
  size_t length = 0;
  snprintf(where, sizeof where, "%.500s, line %ld", r->path, r->line);
  MICA_TRY(take_text(r, ends, &text, &length));
  return mica__yolo_name(r->names, index, text, length, where);
}

/* Reads names in brackets: "[a, b]" or "{0: a, 1: b}". */
static mica_status take_brackets(reading *r) {
  const bool map = *r->at++ == '{';
  const char close = map ? '}' : ']';
  for (size_t i = 0;; i++) {
    size_t index = i;
    skip(r, true);
    if (*r->at == close) break;
    if (map) MICA_TRY(take_index(r, &index));
    MICA_TRY(take_name(r, index, map ? ",}" : ",]"));
    skip(r, true);
    if (*r->at == ',')
      r->at++;
    else if (*r->at != close)
      return fail(r, map ? "after a name of \"names\", there is neither a comma nor }"
                         : "after a name of \"names\", there is neither a comma nor ]");
  }
  r->at++;
  return MICA_OK;
}

/* Reads names in lines of their own: "- a" or "0: a". The lines of a list may begin at the margin. */
static mica_status take_block(reading *r) {
  for (size_t i = 0;; i++) {
    size_t index = i;
    skip(r, true);
    const bool margin = r->at[-1] == '\n', item = r->at[0] == '-' && r->at[1] == ' ';
    if (!*r->at || (margin && !item)) return MICA_OK;
    if (item) {
      r->at++;
      skip(r, false);
    } else
      MICA_TRY(take_index(r, &index));
    MICA_TRY(take_name(r, index, ""));
    skip(r, false);
    if (*r->at && *r->at != '\n' && *r->at != '#') return fail(r, "a name is followed by other text");
  }
}

static mica_status take_names(reading *r) {
  skip(r, false);
  if (*r->at == '[' || *r->at == '{') return take_brackets(r);
  if (*r->at && *r->at != '\n' && *r->at != '#')
    return fail(r, "\"names\" is not a list of names, as in [cat, dog], nor numbers and names, as in 0: cat");
  r->at += strcspn(r->at, "\n");
  return *r->at ? take_block(r) : MICA_OK;
}

mica_status mica__yolo_parse_yaml(const char *path, char *content, mica__yolo_names *names) {
  reading r = {.path = path, .at = content, .line = 1, .names = names};
  long nc_line = 0;
  names->stated = -1;
  while (*r.at) {
    /* A key begins at the margin. */
    if (!strncmp(r.at, "names:", 6)) {
      if (names->count) return fail(&r, "\"names\" is given twice");
      r.at += 6;
      MICA_TRY(take_names(&r));
      /* After a block, the reader may already be at the next key. */
      if (*r.at && r.at[-1] == '\n') continue;
    } else if (!strncmp(r.at, "nc:", 3)) {
      names->stated = strtol(r.at + 3, NULL, 10);
      nc_line = r.line;
    }
    r.at += strcspn(r.at, "\n");
    if (*r.at) r.at++, r.line++;
  }
  for (size_t i = 0; i < names->count; i++)
    if (!names->names[i]) return mica__fail(MICA_E_FORMAT, "%s: \"names\" has no class %zu", path, i);
  if (names->count && nc_line && names->stated != (long)names->count)
    return mica__fail(MICA_E_FORMAT, "%s, line %ld: \"nc\" is %ld, but \"names\" lists %zu", path, nc_line,
                      names->stated, names->count);
  return MICA_OK;
}
