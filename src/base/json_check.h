/* base/json_check.h: what cJSON lets pass and files may not have. */
#ifndef MICA_BASE_JSON_CHECK_H
#define MICA_BASE_JSON_CHECK_H

#include "base/error.h"
#include "base/shared.h"

#include <stddef.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

/* MICA_E_FORMAT where a key of the object is there twice. what: the object, in the sentence. */
MICA__SHARED mica_status mica__json_check_keys(const char *path, const char *what, const cJSON *object);

/* MICA_E_FORMAT for a JSON text that is no UTF-8 or has U+0000, also escaped: cJSON's texts would end there. what: the
 * text, in the sentence. */
MICA__SHARED mica_status mica__json_check_text(const char *path, const char *what, const char *text, size_t length);

/* The depth to which arrays and objects are nested in a text, whatever it is. */
MICA__SHARED size_t mica__json_depth(const char *text, size_t length);

#endif
#endif
