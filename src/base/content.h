/* base/content.h: BLAKE2b-512 hashes of contents, and which contents need no signature (signature.h). */
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

/* Forgets all contents; later ones are remembered if `on`. */
void mica__content_watch(bool on);
void mica__content_remember(const mica__content *content);
bool mica__content_is_known(const mica__content *content);
#endif

/* Remembers what this process wrote to a file. */
void mica__content_wrote(const mica__bytes *pieces, size_t count);

#endif
