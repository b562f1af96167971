/* The values of the setting "tokenizer". */
#include "base/text.h"
#include "run/tokens.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_OF(name, text) text,
static const char *const kinds[] = {MICA_TOKENIZER_KIND_LIST(TEXT_OF) NULL};
#undef TEXT_OF

const char *mica__tokenizer_kind_at(size_t i) { return kinds[i]; }

bool mica__tokenizer_find_kind(const char *name, mica_tokenizer_kind *kind) {
  for (int i = 0; kinds[i]; i++) {
    *kind = (mica_tokenizer_kind)i;
    if (!strcmp(kinds[i], name) || (!strcmp(name, "char") && !strcmp(kinds[i], "character"))) return true;
  }
  return false;
}

mica_status mica__tokens_check(const char *value) {
  mica_tokenizer_kind kind;
  struct stat about;
  mica__text list = {0};
  if (mica__tokenizer_find_kind(value, &kind)) return MICA_OK;
  if (stat(value, &about) == 0 && S_ISREG(about.st_mode) && access(value, R_OK) == 0) return MICA_OK;
  const int reason = errno;
  const bool path = strpbrk(value, "./") != NULL;
  for (int i = 0; kinds[i]; i++) mica__text_addf(&list, i ? ", %s" : "%s", kinds[i]);
  if (path)
    mica__fail(MICA_E_INVALID, "tokenizer: cannot read %s: %s", value,
               stat(value, &about) == 0 && !S_ISREG(about.st_mode) ? "it is not a file" : strerror(reason));
  else
    mica__fail(MICA_E_INVALID, "tokenizer cannot be \"%s\"; choose a tokenizer.json or one of %s", value,
               list.data ? list.data : "some kinds");
  mica__text_free(&list);
  return MICA_E_INVALID;
}
