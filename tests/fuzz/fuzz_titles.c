/* The reader of titles from lines without names or quotes, as MovieLens has them. */
#include "base/utf8.h"
#include "data/interactions/interactions.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"1", "2", "a b"};
  char *list[3] = {NULL};
  mica__id_names items = {0};
  int32_t id = 0;
  if (size == 0) return 0;
  /* The first byte chooses what stands between columns. */
  char *content = malloc(size);
  if (!content) return 0;
  memcpy(content, data + 1, size - 1);
  content[size - 1] = '\0';
  bool ready = true;
  for (int i = 0; i < 3; i++) ready = ready && mica__id_names_add(&items, names[i], &id) == MICA_OK;
  mica__titles titles = {&items, list};
  if (ready) {
    const mica_status status =
        mica__titles_parse("fuzz", content, size - 1, data[0] & 1 ? MICA__BETWEEN_BARS : MICA__BETWEEN_COLONS, &titles);
    if (status != MICA_OK && status != MICA_E_FORMAT && status != MICA_E_NOMEM) abort();
  }
  for (int i = 0; i < 3; i++) {
    if (list[i] && mica__utf8_prefix(list[i], strlen(list[i])) != strlen(list[i])) abort();
    free(list[i]);
  }
  mica__id_names_free(&items);
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"11|Toy Story (1995)|01-Jan-1995||http://x|0\n2|Caf\xe9|\n\na b|C\xc3\xa9\n",
                                      "01::Toy Story (1995)::Animation|War\r\n2::M: \"x\"::Drama\n1::Other::\n",
                                      "0a b::\n2::::\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
