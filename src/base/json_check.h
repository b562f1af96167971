/* base/json_check.h: rejects faults in JSON files that cJSON accepts. */
#ifndef MICA_BASE_JSON_CHECK_H
#define MICA_BASE_JSON_CHECK_H

#include "base/error.h"
#include "base/shared.h"

#include <stddef.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

/* MICA_E_FORMAT if `object` has a key twice; objects inside it are not checked. path, what: name the file and the
 * object in the message. */
MICA__SHARED mica_status mica__json_check_keys(const char *path, const char *what, const cJSON *object);

/* MICA_E_FORMAT if a JSON text is not UTF-8, or contains U+0000 (also as an escape), at which cJSON's strings would
 * end. path, what: name the file and the text in the message. */
MICA__SHARED mica_status mica__json_check_text(const char *path, const char *what, const char *text, size_t length);

/* Returns how deep arrays and objects are nested in any text, valid or not. */
MICA__SHARED size_t mica__json_depth(const char *text, size_t length);

#endif
#endif
