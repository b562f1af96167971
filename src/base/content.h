/* base/content.h: BLAKE2b-512 hashes of file contents that need no signature, because this process wrote them or has
 * checked their signature (signature.h). */
#ifndef MICA_BASE_CONTENT_H
#define MICA_BASE_CONTENT_H

#include "base/file.h"

/* The environment variable that names a required key. Contents are remembered only while a key is required. */
#define MICA__REQUIRE_KEY "MICA_REQUIRE_KEY"

#if MICA_WITH_SODIUM
typedef struct mica__content {
  unsigned char hash[64];
} mica__content;

void mica__content_hash(const mica__bytes *pieces, size_t count, mica__content *content);

/* Forgets all hashes. on: remember hashes from now on. */
void mica__content_watch(bool on);
/* Adds a hash to the set, and tests whether it is there. */
void mica__content_remember(const mica__content *content);
bool mica__content_is_known(const mica__content *content);
#endif

/* Remembers the hash of content that this process wrote to a file, if a key is required. */
void mica__content_wrote(const mica__bytes *pieces, size_t count);

#endif
