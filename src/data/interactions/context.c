/* Reads the context of a user-item pair, its features besides those of user and item, from names and values. */
#include "base/text.h"
#include "data/interactions/features.h"

#include <string.h>

mica_status mica__features_context(const mica_setting *context, size_t count, char separator, mica__features *f) {
  mica__text text = {0}, names = {0};
  bool any = false;
  for (size_t k = 0; k < f->count; k++)
    if (f->list[k].side == MICA__SIDE_PAIR) mica__text_addf(&names, any ? ", %s" : "%s", f->list[k].name), any = true;
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < f->count && (f->list[k].side != MICA__SIDE_PAIR || strcmp(f->list[k].name, context[i].name) != 0)) k++;
    if (k < f->count) continue;
    mica_status status = mica__fail(
        MICA_E_NOT_FOUND, "context: '%s' is not a column of the interactions that the run reads; those are: %s",
        context[i].name, any ? names.data : "none");
    mica__text_free(&names);
    return status;
  }
  mica__text_free(&names);
  if (!any) return MICA_OK;
  /* Writes the pair as a table: a header and one row, with quoted cells. */
  for (int line = 0; line < 2; line++, mica__text_add(&text, "\n"))
    for (size_t k = 0, n = 0; k < f->count; k++) {
      const char *cell = line ? "" : f->list[k].name;
      if (f->list[k].side != MICA__SIDE_PAIR) continue;
      for (size_t i = 0; line && i < count; i++)
        if (!strcmp(context[i].name, f->list[k].name)) cell = context[i].value;
      mica__text_add(&text, n++ ? ",\"" : "\"");
      for (; *cell; cell++) mica__text_addf(&text, *cell == '"' ? "\"\"" : "%c", *cell);
      mica__text_add(&text, "\"");
    }
  MICA_TRY(mica__text_status(&text));
  mica__records records = mica__records_in("context", text.data, strlen(text.data));
  const mica__feature_config config = {
      .separator = separator, .key = SIZE_MAX, .title = SIZE_MAX, .header = true, .known = true};
  mica_status status = mica__features_read(&records, MICA__SIDE_PAIR, &config, f);
  mica__records_free(&records);
  mica__text_free(&text);
  return status;
}
