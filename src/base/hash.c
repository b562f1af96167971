#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

mica__hash mica__hash_bytes(mica__hash seed, const void *data, size_t n) {
  /* The high half of the seed is mixed in separately, so that all 128 bits of the chain count. */
  XXH128_hash_t h = XXH3_128bits_withSeed(data, n, seed.low ^ (seed.high * 0x9e3779b97f4a7c15u));
  return (mica__hash){.low = h.low64 ^ seed.high, .high = h.high64 + seed.low};
}

mica__hash mica__hash_text(mica__hash seed, const char *text) {
  /* The terminator is hashed too, so that "ab","c" and "a","bc" differ. */
  return mica__hash_bytes(seed, text, strlen(text) + 1);
}

const char *mica__hash_format(mica__hash hash, char text[MICA__HASH_TEXT]) {
  snprintf(text, MICA__HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
  return text;
}

bool mica__hash_parse(const char *text, mica__hash *hash) {
  if (strspn(text, "0123456789abcdef") < MICA__HASH_TEXT - 1) return false;
  return sscanf(text, "%16" SCNx64 "%16" SCNx64, &hash->high, &hash->low) == 2;
}
