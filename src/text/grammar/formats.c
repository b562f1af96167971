/* Finds formats of strings by name. */
#include "base/text.h"
#include "text/grammar/language.h"

#include <string.h>

static const struct {
  const char *name, *pattern;
} formats[] = {
#define FORMAT(name, pattern) {name, pattern},
#include "text/grammar/formats.def"
#undef FORMAT
};

mica_status mica__language_format(const char *name, size_t bytes, mica__automaton *out) {
  const size_t count = sizeof formats / sizeof *formats;
  for (size_t i = 0; i < count; i++)
    if (strlen(formats[i].name) == bytes && !memcmp(formats[i].name, name, bytes))
      return mica__language_regex(formats[i].pattern, strlen(formats[i].pattern), true, out);
  mica__text names = {0};
  for (size_t i = 0; i < count; i++) mica__text_addf(&names, "%s%s", i ? ", " : "", formats[i].name);
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_UNSUPPORTED, "the format \"%.*s\" is not known; choose from %s", mica__text_shown(bytes),
                        name, names.data);
  mica__text_free(&names);
  return status;
}
