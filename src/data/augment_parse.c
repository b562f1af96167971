#include "base/text.h"

#include <mica/data.h>
#include <stdlib.h>
#include <string.h>

/* Name (of a field of mica_augment_config), type, value where none is given. */
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

/* MICA_E_INVALID for n characters that are no augmentation, with the names that there are. */
static mica_status fail_name(const char *text, size_t n) {
  mica__text names = {0};
  for (size_t i = 0; mica_augment_name(i); i++) mica__text_addf(&names, "%s%s", i ? ", " : "", mica_augment_name(i));
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_INVALID, "\"%.*s\" is no augmentation: there are %s, each also with =VALUE",
                        (int)(n < 60 ? n : 60), text, names.data);
  mica__text_free(&names);
  return status;
}

/* Parses one "name" or "name=value" of n characters; false if it is neither. */
static bool parse_one(const char *text, size_t n, mica_augment_config *config) {
  const char *equals = memchr(text, '=', n);
  size_t name = equals ? (size_t)(equals - text) : n;
  char *end = NULL;
  double value = equals ? strtod(equals + 1, &end) : 0;
  if (equals && (end != text + n || equals + 1 == text + n || !(value >= 0 && value <= 1e6))) return false;
#define PARSE_AUGMENTATION(field, type, usual)                                                                         \
  if (name == sizeof #field - 1 && !memcmp(text, #field, name)) {                                                      \
    config->field = (type)(equals ? value : usual);                                                                    \
    return true;                                                                                                       \
  }
  AUGMENTATIONS(PARSE_AUGMENTATION)
#undef PARSE_AUGMENTATION
  return false;
}

mica_status mica_augment_parse(const char *text, mica_augment_config *config) {
  if (!text || !config) return mica__fail(MICA_E_INVALID, "mica_augment_parse: a pointer is NULL");
  mica_augment_config parsed = {0};
  while (strcmp(text, "none") && *text) {
    size_t n = strcspn(text, ",");
    if (!parse_one(text, n, &parsed)) return fail_name(text, n);
    text += n;
    text += *text == ',';
  }
  *config = parsed;
  return MICA_OK;
}
