#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <mica/data.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Name (of a field of mica_augment_config), type, and the value used if none is given. */
#define AUGMENTATIONS(X)                                                                                               \
  X(crop, int32_t, 4)                                                                                                  \
  X(flip, bool, 1)                                                                                                     \
  X(rotate, float, 15)                                                                                                 \
  X(scale, float, 0.1)                                                                                                 \
  X(brightness, float, 0.2)                                                                                            \
  X(contrast, float, 0.2)                                                                                              \
  X(cutout, int32_t, 8)                                                                                                \
  X(elastic, float, 4)                                                                                                 \
  X(cutmix, float, 1)                                                                                                  \
  X(mixup, float, 0.2)

const char *mica_augment_name(size_t index) {
  static const char *const names[] = {
#define AUGMENTATION_NAME(field, type, usual) #field,
      AUGMENTATIONS(AUGMENTATION_NAME)
#undef AUGMENTATION_NAME
  };
  return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* MICA_E_INVALID for n characters that are not an augmentation; the message lists all. */
static mica_status fail_name(const char *text, size_t n) {
  mica__text names = {0};
  for (size_t i = 0; mica_augment_name(i); i++) mica__text_addf(&names, "%s%s", i ? ", " : "", mica_augment_name(i));
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_INVALID, "\"%.*s\" is not an augmentation; choose from %s, with or without =VALUE",
                        (int)(n < 60 ? n : 60), text, names.data);
  mica__text_free(&names);
  return status;
}

/* MICA_E_INVALID for n characters with a malformed value. */
static mica_status fail_value(const char *text, size_t n, const char *wants) {
  return mica__fail(MICA_E_INVALID, "the augmentation \"%.*s\" needs %s", (int)(n < 60 ? n : 60), text, wants);
}

enum { WHOLE, SWITCH, REAL };
#define KIND_OF(type) _Generic((type)0, bool : SWITCH, int32_t : WHOLE, float : REAL)

/* Parses one "name" or "name=value" of n characters; *seen has one bit per augmentation seen so far. */
static mica_status parse_one(const char *text, size_t n, mica_augment_config *config, uint32_t *seen) {
  const char *equals = memchr(text, '=', n);
  const size_t name = equals ? (size_t)(equals - text) : n;
  uint32_t bit = 1;
  char *end = NULL;
  const double value = equals ? mica__strtod(equals + 1, &end) : 0;
  const bool plain = equals && end == text + n && equals + 1 < text + n && !strcspn(equals + 1, "+.0123456789-") &&
                     !memchr(equals, 'x', n - name) && !memchr(equals, 'X', n - name);
#define PARSE_AUGMENTATION(field, type, usual)                                                                         \
  if (name == sizeof #field - 1 && !memcmp(text, #field, name)) {                                                      \
    if (equals && !(plain && value >= 0 && value <= 1e6))                                                              \
      return fail_value(text, n, "a number from 0 to 1000000, as in " #field "=" #usual);                              \
    if (equals && KIND_OF(type) == WHOLE && value != floor(value)) return fail_value(text, n, "a whole number");       \
    if (equals && KIND_OF(type) == SWITCH && value != 0 && value != 1) return fail_value(text, n, "0 or 1");           \
    if (*seen & bit) return mica__fail(MICA_E_INVALID, "the augmentation " #field " is given twice");                  \
    *seen |= bit;                                                                                                      \
    config->field = (type)(equals ? value : usual);                                                                    \
    return MICA_OK;                                                                                                    \
  }                                                                                                                    \
  bit <<= 1;
  AUGMENTATIONS(PARSE_AUGMENTATION)
#undef PARSE_AUGMENTATION
  return fail_name(text, n);
}

mica_status mica_augment_parse(const char *text, mica_augment_config *config) {
  if (!text || !config) return mica__fail(MICA_E_INVALID, "mica_augment_parse: text or config is NULL");
  mica_augment_config parsed = {0};
  uint32_t seen = 0;
  while (strcmp(text, "none") && *text) {
    const size_t n = strcspn(text, ",");
    MICA_TRY(parse_one(text, n, &parsed, &seen));
    text += n;
    if (*text && !*++text) return fail_name(text, 0);
  }
  *config = parsed;
  return MICA_OK;
}
