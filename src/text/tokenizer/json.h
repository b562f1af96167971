/* text/tokenizer/json.h: members of objects of tokenizer.json (cJSON). Each says in a sentence what is missing or of
 * another kind. */
#ifndef MICA_TEXT_TOKENIZER_JSON_H
#define MICA_TEXT_TOKENIZER_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Objects in objects (Sequence in Sequence), and members of a list of steps. */
#define MICA__DEEPEST_SEQUENCE 8
#define MICA__MOST_STEPS 64

/* NULL for an absent member and for null; of a NULL object too. */
const cJSON *mica__json_member(const cJSON *object, const char *key);
/* The object's "type"; "?" where it has none. */
const char *mica__json_type(const cJSON *object);
/* A text; *text stays where it is absent or null, unless it is `needed`. */
mica_status mica__json_text(const cJSON *object, const char *key, bool needed, const char **text);
mica_status mica__json_bool(const cJSON *object, const char *key, bool *flag);
/* A whole number of 0 to `most`. */
mica_status mica__json_integer(const cJSON *object, const char *key, int64_t most, int64_t *number);
/* The number of an item that is one of 0 to `most`; MICA_E_FORMAT, calling it `what`. */
mica_status mica__json_whole(const cJSON *item, const char *what, int64_t most, int64_t *number);
/* A member that must be a list. */
mica_status mica__json_list(const cJSON *object, const char *key, const cJSON **list);

/* Calls `parse` with the object, or with each member of the list under `key` where its type is Sequence, and so on.
 * `what` ("normalizer") stands in sentences. null calls nothing. */
typedef mica_status mica__json_step(void *user, const cJSON *object, const char *type);
mica_status mica__json_steps(const cJSON *object, const char *what, const char *key, mica__json_step *parse,
                             void *user);

#endif
