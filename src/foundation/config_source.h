/* foundation/config_source.h: finds properties of a model by key, in config.json or in a GGUF file. */
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
  bool *seen;               /* seen[i]: item i of the object was read */
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
  const char *key; /* the key that was found; it ends at '|' or NUL */
  double number;   /* of a flag: 0 or 1 */
  mica_gguf_text text;
  size_t count; /* elements of a list */
  const struct cJSON *item;
  const mica_gguf_value *value;
} mica__config_value;

/* Finds the first key that exists. `json` and `gguf` each list keys, separated by '|'; "" lists none. In `json` a '.'
 * separates the name of an object from the name of its item. A key in `gguf` is looked up with the prefix "<arch>.",
 * unless it begins with '/'. */
mica__config_value mica__config_find(const mica__config_source *facts, const char *json, const char *gguf);
/* Reads an element of a list. */
mica__config_value mica__config_at(const mica__config_value *list, size_t index);
/* True if the value is this text. */
bool mica__config_is(const mica__config_value *fact, const char *text);

/* The functions below set *value from the first key that exists, or to `fallback` if none exists. With the fallback
 * MICA__NEEDED, a missing key is an error. `field` names the value in messages. MICA_E_FORMAT: the key is needed but
 * missing, or its value has another type or lies outside of low to high. */
#define MICA__NEEDED (-1)
mica_status mica__config_count(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                               int64_t fallback, int64_t low, int64_t high, int64_t *value);
mica_status mica__config_real(const mica__config_source *facts, const char *field, const char *json, const char *gguf,
                              double fallback, double low, double high, double *value);
mica_status mica__config_flag(const mica__config_source *facts, const char *json, const char *gguf, bool fallback,
                              bool *value);

#endif
