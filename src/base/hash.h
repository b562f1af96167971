/* base/hash.h: 128-bit content hashes (XXH3) for keys and checksums; no protection against an adversary. */
#ifndef MICA_BASE_HASH_H
#define MICA_BASE_HASH_H

#include "base/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mica__hash {
  uint64_t low, high;
} mica__hash;

/* Hashes n bytes. To hash several pieces in sequence, pass the hash of the previous piece as seed, {0} for the first
 * piece. */
MICA__SHARED mica__hash mica__hash_bytes(mica__hash seed, const void *data, size_t n);
MICA__SHARED mica__hash mica__hash_text(mica__hash seed, const char *text);

static inline bool mica__hash_equal(mica__hash a, mica__hash b) { return a.low == b.low && a.high == b.high; }

/* 32 hexadecimal digits and the terminator. */
#define MICA__HASH_TEXT 33
MICA__SHARED const char *mica__hash_format(mica__hash hash, char text[MICA__HASH_TEXT]);
/* Parses the first 32 characters of a text of mica__hash_format; false if they are not a hash. */
bool mica__hash_parse(const char *text, mica__hash *hash);

#endif
