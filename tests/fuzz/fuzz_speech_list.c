/* Lists of recordings and their texts. */
#include "base/utf8.h"
#include "data/sound/transcripts.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__speech_list list = {0};
  const char *content = data ? (const char *)data : "";
  const mica_status status = mica__speech_list_read("fuzz.tsv", "folder", content, size, &list);
  if (status == MICA_OK && (!list.count || list.count > size)) abort();
  for (size_t i = 0; i < list.count; i++) {
    const size_t length = strlen(list.texts[i]);
    if (list.lines[i] < 1 || !*list.files[i] || strchr(list.texts[i], '\t')) abort();
    if (mica__utf8_prefix(list.texts[i], length) != length) abort();
  }
  mica__speech_list_free(&list);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "a.wav\tone two\nb/c.wav\tthree\r\n\n/d.wav\t\n",
      "id\tsentence\tpath\n1\tgr\xc3\xbc\xc3\x9f\tx.flac\n2\t\xe2\x82\xac \xf0\x9f\x98\x80\ty.ogg\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
