/* Text models: ARPA of words and of letters, and plain texts. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <mica/speech.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int32_t letters[] = {' ', 'a', 'b', 0xe4};
  static const int32_t texts[][7] = {{2, 3, 1, 3, 1, 4, 2}, {1, 1, 2, 1, 1, 3, 1}};
  const mica_text_model_config config = {.letters = letters, .count = 4, .order = 1 + (int32_t)(size % 5)};
  mica_text_model *model = NULL;
  if (mica_text_model_read("fuzz", data ? (const char *)data : "", size, &config, &model) != MICA_OK) return 0;
  for (int i = 0; i < 2; i++)
    for (int64_t count = 0; count <= 7; count++)
      for (int32_t label = -1; label <= 4; label++)
        if (label && isnan(mica_text_model_score(model, texts[i], count, label))) abort();
  if (mica_text_model_context(model) < 1) abort();
  mica_text_model_destroy(model);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "\\data\\\nngram 1=5\nngram 2=4\n\n\\1-grams:\n-1.2\t<unk>\n-99\t<s>\t-0.3\n-1\t</s>\n-0.5\tab\t-0.2\n-0.7 b "
      "-0.1\n\n\\2-grams:\n-0.2\t<s> ab\n-0.4\tab b\n-0.3\tb </s>\n-0.9\tb b\n\n\\end\\\n",
      "a note\n\\data\\\r\nngram 1=4\r\n\\1-grams:\r\n-0.6\ta\r\n-0.6\t\xc3\xa4\r\n-0.6\t<space>\r\n-0.6\t</s>\r\n"
      "\\end\\\r\n",
      "ab b\n\nb-a \xc3\xa4\xc3\xa4\n a  b \n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
