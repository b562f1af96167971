/* labels: null single
 *
 * Philox4x32-10 on the host gives the known answers that Random123 publishes; the kernel is checked against the
 * host. */
#include "ops/random/philox.h"
#include "support/check_main.h"

#include <string.h>

/* Counter, key and words, from Random123's kat_vectors. */
static const struct {
  uint32_t counter[4], key[2], words[4];
} answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(known_answers) {
  uint32_t words[4];
  memcpy(words, answers[_i].counter, sizeof words);
  mica__philox(words, answers[_i].key[0], answers[_i].key[1]);
  for (int k = 0; k < 4; k++) ck_assert_uint_eq(words[k], answers[_i].words[k]);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(known_answers, 0, (int)(sizeof answers / sizeof *answers)))
