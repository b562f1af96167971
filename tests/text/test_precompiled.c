/* labels: null single
 *
 * The normaliser Precompiled beside the package `tokenizers`, by a charsmap of seven rules, and charsmaps that are
 * wrong. */
#include "support/check_main.h"
#include "support/small_vocabulary.h"
#include "text/tokenizer/precompiled.h"

#include <check.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON && MICA_WITH_UTF8PROC

static void becomes(const mica__charsmap *map, const char *text, const char *wanted) {
  mica__text out = {0};
  mica__text_add(&out, "");
  mica__charsmap_run(map, text, strlen(text), &out);
  ck_assert_str_eq(out.data, wanted);
  mica__text_free(&out);
}

START_TEST(characters_are_replaced) {
  mica__charsmap *map = NULL;
  ck_assert_msg(mica__charsmap_create(small_charsmap_base64, &map) == MICA_OK, "%s", mica_error_message());
  becomes(map, "", "");
  becomes(map, "plain z", "plain z");
  becomes(map, "\xef\xac\x81 \xe2\x91\xa0x\xe3\x80\x80 z\xe2\x80\x8bz", "fi 1x  zz");
  /* A grapheme becomes the text of the shortest key that it begins with: here of "A" alone. */
  becomes(map,
          "A\xcc\x8a"
          "A\xcc\x81",
          "aa");
  becomes(map, "e\xcc\x81 E\xcc\x81", "\xc3\xa9 E\xcc\x81");
  /* Longer graphemes go character by character. */
  becomes(map, "A\xcc\x8a\xcc\x81\xcc\x81", "a\xcc\x8a\xcc\x81\xcc\x81");
  mica__charsmap_free(map);
}
END_TEST

START_TEST(in_a_tokeniser) {
  mica__text json = {0};
  mica_tokenizer *t = NULL;
  mica_encoding encoding = {0};
  mica__text_addf(&json,
                  "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"},\"model\":{\"type\":"
                  "\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"fi\":1}}}",
                  small_charsmap_base64);
  ck_assert_msg(mica_tokenizer_open_memory("t", json.data, json.length, &t) == MICA_OK, "%s", mica_error_message());
  ck_assert_int_eq(mica_tokenizer_encode(t, "\xef\xac\x81", 3, NULL, &encoding), MICA_OK);
  ck_assert(encoding.count == 1 && encoding.ids[0] == 1);
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(t);
  mica__text_free(&json);
}
END_TEST

START_TEST(wrong_charsmaps) {
  static const char *const wrong[] = {"", "A", "AAA*", "AAAA", "AwAAAAAA", "////fwAA", "BAAAAAAEAAD/"};
  mica__charsmap *map = NULL;
  mica__text bytes = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(mica__charsmap_create(wrong[i], &map) == MICA_E_FORMAT, "%s", wrong[i]);
    ck_assert_ptr_null(map);
  }
  /* Cut short, the trie or its texts are past the end. */
  small_charsmap(&bytes);
  for (size_t n = 0; n + 20 < bytes.length; n++)
    ck_assert_int_eq(mica__charsmap_read((const uint8_t *)bytes.data, n, &map), MICA_E_FORMAT);
  mica__text_free(&bytes);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, characters_are_replaced, in_a_tokeniser, wrong_charsmaps)

#else
SKIPS("the normaliser Precompiled needs cJSON and utf8proc")
#endif
