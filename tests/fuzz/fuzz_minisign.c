/* Signatures and keys in the format of minisign. What is read is written again and reads alike. */
#include "base/minisign.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#if MICA_WITH_SODIUM
static void read_signature(const char *text, size_t size) {
  mica__minisig signature, again;
  mica__text written = {0};
  if (mica__minisign_read_signature("fuzz", text, size, &signature) != MICA_OK) return;
  if (signature.comment_bytes > MICA__MINISIGN_COMMENT || signature.comment < text ||
      signature.comment + signature.comment_bytes > text + size)
    abort();
  mica__minisign_add_signature(&written, &signature);
  if (written.failed || mica__minisign_read_signature("again", written.data, written.length, &again) != MICA_OK)
    abort();
  if (memcmp(signature.number, again.number, sizeof again.number) != 0 ||
      memcmp(signature.signature, again.signature, sizeof again.signature) != 0 ||
      memcmp(signature.all, again.all, sizeof again.all) != 0 || signature.comment_bytes != again.comment_bytes ||
      memcmp(signature.comment, again.comment, again.comment_bytes) != 0)
    abort();
  mica__text_free(&written);
}

static void read_public(const char *text, size_t size) {
  mica__public_key key, again;
  mica__text written = {0};
  if (mica__minisign_read_public("fuzz", text, size, &key) != MICA_OK) return;
  mica__minisign_add_public(&written, &key);
  if (written.failed || mica__minisign_read_public("again", written.data, written.length, &again) != MICA_OK) abort();
  if (memcmp(&key, &again, sizeof key) != 0) abort();
  mica__text_free(&written);
}

static void read_secret(const char *text, size_t size) {
  mica__secret_key key, again;
  mica__text written = {0};
  bool encrypted = false;
  if (mica__minisign_read_secret("fuzz", text, size, NULL, &key, &encrypted) != MICA_OK) return;
  if (encrypted || mica__minisign_add_secret(&written, &key, NULL) != MICA_OK) abort();
  if (mica__minisign_read_secret("again", written.data, written.length, NULL, &again, &encrypted) != MICA_OK) abort();
  if (memcmp(&key, &again, sizeof key) != 0) abort();
  mica__text_free(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1); /* ends where the input does, so that a sanitizer sees what lies beyond */
  mica__public_key key;
  if (!text || mica__minisign_ready() != MICA_OK) abort();
  if (size) memcpy(text, data, size);
  text[size] = '\0';
  (void)mica__minisign_is_public(text, &key);
  char *exact = realloc(text, size ? size : 1);
  if (exact) text = exact;
  read_signature(text, size);
  read_public(text, size);
  read_secret(text, size);
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  const mica__minisig signature = {.number = {1, 2, 3}, .comment = "timestamp:1\tfile:x", .comment_bytes = 18};
  const mica__public_key public_key = {.number = {4, 5}, .key = {6, 7}};
  const mica__secret_key secret = {.number = {8}, .key = {9, 10}};
  if (index == 0) mica__minisign_add_signature(seed, &signature);
  if (index == 1) mica__minisign_add_public(seed, &public_key);
  if (index == 2 && mica__minisign_add_secret(seed, &secret, NULL) != MICA_OK) return false;
  return index < 3 && !seed->failed;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)data, (void)size;
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  (void)index, (void)seed;
  return false;
}
#endif
