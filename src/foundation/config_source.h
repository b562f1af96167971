/* foundation/config_source.h: finds a model's facts by key, in config.json or in a GGUF file. */
#ifndef MICA_FOUNDATION_CONFIG_SOURCE_H
#define MICA_FOUNDATION_CONFIG_SOURCE_H

#include "base/error.h"

#include <mica/gguf.h>
#include <stdbool.h>

struct cJSON;

typedef struct mica__config_source {
  const char *path;         /* of the file, for messages */
  const struct cJSON *json; /* the object that is read; NULL: GGUF */
  const struct cJSON *root; /* the whole file, or NULL */
  const mica_gguf *gguf;    /* the GGUF file, or NULL */
  const char *arch;         /* of a GGUF file: the prefix of most keys */
  bool *seen;               /* a flag per item of the object: it was read */
} mica__config_source;

typedef enum mica__config_kind {
  MICA__CONFIG_ABSENT, /* missing or null */
  MICA__CONFIG_NUMBER,
  MICA__CONFIG_FLAG,
  MICA__CONFIG_TEXT,
  MICA__CONFIG_LIST,
  MICA__CONFIG_OBJECT,
} mica__config_kind;

typedef struct mica__config_value {
  mica__config_kind kind;
  const char *key; /* the key that was found */
  double number;   /* of a flag: 0 or 1 */
  mica_gguf_text text;
  size_t count; /* elements of a list */
  const struct cJSON *item;
  const mica_gguf_value *value;
} mica__config_value;

/* Finds the first of several keys, separated by '|', that exists. json: keys of config.json, with '.' between the names
 * of an object and its item; gguf: keys of a GGUF file, after "<arch>." unless they begin with '/'. "": no key. */
mica__config_value mica__config_find(const mica__config_source *facts, const char *json, const char *gguf);
/* Reads an element of a list. */
mica__config_value mica__config_at(const mica__config_value *list, size_t index);
/* True if the value is this text. */
bool mica__config_is(const mica__config_value *fact, const char *text);

/* The functions below set *value from the keys, or to `fallback` if these are absent; mica__NEEDED: the keys must
 * exist. field: its name in messages. MICA_E_FORMAT: another type, or a value that is not from low to high. */
#define MICA__NEEDED (-1)
mica_status mica__config_count(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                               int64_t fallback, int64_t low, int64_t high, int64_t *value);
mica_status mica__config_real(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                              double fallback, double low, double high, double *value);
mica_status mica__config_flag(const mica__config_source *facts, const char *json, const char *gguf, bool fallback,
                              bool *value);

#endif
