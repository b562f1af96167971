/* Reads a file or a text that is given to predict. */
#include "run/predict/document.h"
#include "base/text.h"
#include "data/dataset.h"

#include <string.h>

mica_status mica__document_read(const mica_run_input *given, const char *path, mica__document *read) {
  uint8_t *content = NULL;
  *read = (mica__document){.name = path ? path : given->name ? given->name : "the text"};
  if (path) {
    MICA_TRY(mica__content_read(path, &content, &read->size));
    read->content = (char *)content;
    return MICA_OK;
  }
  read->content = mica__strdup(given->text);
  read->size = strlen(given->text);
  return read->content ? MICA_OK : mica__fail_nomem("a text");
}
