/* text/tokenizer/json.h: reads members of objects in tokenizer.json (cJSON). If a required member is missing or a
 * member has a wrong type, the error message says so. */
#ifndef MICA_TEXT_TOKENIZER_JSON_H
#define MICA_TEXT_TOKENIZER_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Maximum depth of a Sequence in a Sequence, and maximum steps of a list. */
#define MICA__DEEPEST_SEQUENCE 8
#define MICA__MOST_STEPS 64

/* NULL if the member is absent or null, or the object is NULL. */
const cJSON *mica__json_member(const cJSON *object, const char *key);
/* Reads a text. If the member is absent or null, the call fails if the member is `needed`; else *text does not
 * change. */
mica_status mica__json_text(const cJSON *object, const char *key, bool needed, const char **text);
mica_status mica__json_bool(const cJSON *object, const char *key, bool *flag);
/* Reads a whole number from 0 to `most`. */
mica_status mica__json_integer(const cJSON *object, const char *key, int64_t most, int64_t *number);
/* Reads an item as a whole number from 0 to `most`. MICA_E_FORMAT: the item is not such a number; the message names
 * `what`. */
mica_status mica__json_whole(const cJSON *item, const char *what, int64_t most, int64_t *number);
/* Reads a member that must be a list. */
mica_status mica__json_list(const cJSON *object, const char *key, const cJSON **list);

typedef mica_status mica__json_step(void *user, const cJSON *object, const char *type);
/* Calls `parse` with the object or, if its type is Sequence, with each member of its list under `key`, recursively. A
 * NULL object is skipped. Messages name `what` ("normalizer"). */
mica_status mica__json_steps(const cJSON *object, const char *what, const char *key, mica__json_step *parse,
                             void *user);

#endif
