#include "run/suggest.h"

#include <string.h>
#include <strings.h>

static const struct {
  const char *typed, *ours;
} foreign[] = {
#define FOREIGN(typed, ours) {typed, ours},
#include "run/foreign_values.def"
#undef FOREIGN
};

static const char *find(const char *(*names)(size_t index), const char *name) {
  for (size_t i = 0; names(i); i++)
    if (!strcasecmp(names(i), name)) return names(i);
  return NULL;
}

const char *mica__suggest(const char *(*names)(size_t index), const char *typed) {
  const char *found = find(names, typed);
  for (size_t i = 0; !found && i < sizeof foreign / sizeof *foreign; i++)
    if (!strcasecmp(foreign[i].typed, typed)) found = find(names, foreign[i].ours);
  const size_t length = strlen(typed);
  for (size_t i = 0; !found && length > 2 && names(i); i++)
    if (!strncasecmp(names(i), typed, length)) found = names(i);
  return found;
}
