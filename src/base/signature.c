#include "base/signature.h"
#include "base/content.h"
#include "base/minisign.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_SODIUM
#include <sodium.h>
#endif

#define SUFFIX ".minisig"

#if MICA_WITH_SODIUM
static struct {
  pthread_mutex_t lock;
  bool asked;      /* the fields below are set, by mica_signature_require or from the environment */
  bool required;   /* signatures are required; also true if `wrong` is */
  bool wrong;      /* the environment's value is not a key */
  char *complaint; /* error message if `wrong` is true */
  mica__public_key key;
} demand = {.lock = PTHREAD_MUTEX_INITIALIZER};

static mica_status read_key(const char *key, mica__public_key *out) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__minisign_ready());
  if (mica__minisign_is_public(key, out)) return MICA_OK;
  MICA_TRY(mica__file_read(key, &text, &bytes));
  mica_status status = mica__minisign_read_public(key, (const char *)text, bytes, out);
  free(text);
  return status;
}

/* --- one file --- */

static mica_status read_signature(const char *path, const mica__text *beside, unsigned char **text, size_t *bytes) {
  mica__attempt_begin();
  mica_status status = mica__file_read(beside->data, text, bytes);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  if (status == MICA_OK) return MICA_OK;
  return mica__fail(MICA_E_STATE, "%s is not signed: there is no %s; sign it with 'mica sign'", path, beside->data);
}

/* Checks the second signature of the file, which covers the first one and the trusted comment. */
static mica_status check_comment(const char *name, const mica__minisig *s, const mica__public_key *key) {
  unsigned char all[MICA__MINISIGN_SIGNATURE + MICA__MINISIGN_COMMENT];
  memcpy(all, s->signature, sizeof s->signature);
  memcpy(all + sizeof s->signature, s->comment, s->comment_bytes);
  if (crypto_sign_verify_detached(s->all, all, sizeof s->signature + s->comment_bytes, key->key) == 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: its trusted comment does not match the signature of the comment; one of them was changed",
                    name);
}

static mica_status verify(const char *path, const char *name, const mica__minisig *s, const mica__public_key *key,
                          const mica__content *c) {
  char made[17], wanted[17];
  if (memcmp(s->number, key->number, sizeof s->number) != 0) {
    mica__minisign_number(s->number, made);
    mica__minisign_number(key->number, wanted);
    return mica__fail(MICA_E_STATE, "%s is signed with key %s, but key %s is required", path, made, wanted);
  }
  if (crypto_sign_verify_detached(s->signature, c->hash, sizeof c->hash, key->key) != 0)
    return mica__fail(MICA_E_FORMAT, "%s does not match its signature %s; one of them was changed", path, name);
  return check_comment(name, s, key);
}

static mica_status check(const char *path, const mica__public_key *key, const mica__content *c,
                         mica_signature_info *info) {
  mica__text beside = {0};
  unsigned char *text = NULL;
  size_t bytes = 0;
  mica__minisig signature = {.comment = ""};
  mica__text_addf(&beside, "%s" SUFFIX, path);
  mica_status status = mica__text_status(&beside);
  if (status == MICA_OK) status = read_signature(path, &beside, &text, &bytes);
  if (status == MICA_OK) status = mica__minisign_read_signature(beside.data, (const char *)text, bytes, &signature);
  if (status == MICA_OK) status = verify(path, beside.data, &signature, key, c);
  if (status == MICA_OK && info) {
    mica__minisign_number(signature.number, info->key);
    memcpy(info->comment, signature.comment, signature.comment_bytes);
    info->comment[signature.comment_bytes] = '\0';
  }
  free(text);
  mica__text_free(&beside);
  return status;
}

mica_status mica_signature_check(const char *path, const char *key, mica_signature_info *info) {
  const unsigned char *data = NULL;
  size_t size = 0;
  mica__public_key public_key;
  mica__content c;
  if (!path || !key || !*key)
    return mica__fail(MICA_E_INVALID, "mica_signature_check: path is NULL, or key is NULL or empty");
  MICA_TRY(read_key(key, &public_key));
  MICA_TRY(mica__file_map(path, &data, &size));
  mica__content_hash(&(mica__bytes){data, size}, 1, &c);
  mica__file_unmap(data, size);
  return check(path, &public_key, &c, info);
}

/* --- what is required --- */

/* Reads the required key from the environment, unless that was done before or mica_signature_require was called with a
 * key or "". Called with the lock held. */
static void ask_environment(void) {
  const char *key = getenv(MICA__REQUIRE_KEY);
  if (demand.asked) return;
  demand.asked = true;
  demand.required = key && *key;
  if (!demand.required) return;
  mica__attempt_begin();
  demand.wrong = read_key(key, &demand.key) != MICA_OK;
  if (demand.wrong) demand.complaint = mica__strdup(mica_error_message());
  mica__attempt_end();
}

mica_status mica_signature_require(const char *key) {
  mica__public_key read = {0};
  const bool required = key && *key;
  if (required) MICA_TRY(read_key(key, &read));
  pthread_mutex_lock(&demand.lock);
  free(demand.complaint);
  demand.complaint = NULL;
  demand.wrong = false;
  demand.asked = key != NULL;
  demand.required = required;
  demand.key = read;
  ask_environment();
  mica__content_watch(demand.required);
  pthread_mutex_unlock(&demand.lock);
  return MICA_OK;
}

/* Gets the required key; *required is false if no key is required. */
static mica_status find_key(mica__public_key *key, bool *required) {
  mica_status status = MICA_OK;
  pthread_mutex_lock(&demand.lock);
  ask_environment();
  *required = demand.required;
  *key = demand.key;
  if (demand.wrong)
    status = mica__fail(MICA_E_STATE, MICA__REQUIRE_KEY ": %s",
                        demand.complaint ? demand.complaint : "its key cannot be read");
  pthread_mutex_unlock(&demand.lock);
  return status;
}

mica_status mica__signature_demand(const char *path, const void *data, size_t bytes) {
  bool required = false;
  mica__public_key key;
  mica__content c;
  MICA_TRY(find_key(&key, &required));
  if (!required) return MICA_OK;
  mica__content_hash(&(mica__bytes){data, bytes}, 1, &c);
  if (mica__content_is_known(&c)) return MICA_OK;
  MICA_TRY(check(path, &key, &c, NULL));
  pthread_mutex_lock(&demand.lock);
  if (!memcmp(&demand.key, &key, sizeof key)) mica__content_remember(&c);
  pthread_mutex_unlock(&demand.lock);
  return MICA_OK;
}

#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool off; /* set by mica_signature_require("") */

mica_status mica_signature_check(const char *path, const char *key, mica_signature_info *info) {
  (void)path, (void)key, (void)info;
  return mica__fail_lacks("a signature", "libsodium");
}

mica_status mica_signature_require(const char *key) {
  if (key && *key) return mica__fail_lacks("a required signature", "libsodium");
  pthread_mutex_lock(&lock);
  off = key != NULL;
  pthread_mutex_unlock(&lock);
  return MICA_OK;
}

mica_status mica__signature_demand(const char *path, const void *data, size_t bytes) {
  const char *key = getenv(MICA__REQUIRE_KEY);
  (void)path, (void)data, (void)bytes;
  pthread_mutex_lock(&lock);
  const bool required = !off && key && *key;
  pthread_mutex_unlock(&lock);
  return required ? mica__fail_lacks(MICA__REQUIRE_KEY, "libsodium") : MICA_OK;
}

#endif

/* --- readers --- */

mica_status mica__file_read_signed(const char *path, unsigned char **data, size_t *size) {
  unsigned char *read = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__file_read(path, &read, &bytes));
  mica_status status = mica__signature_demand(path, read, bytes);
  if (status != MICA_OK) {
    free(read);
    return status;
  }
  *data = read;
  *size = bytes;
  return MICA_OK;
}

mica_status mica__file_map_signed(const char *path, const unsigned char **data, size_t *size) {
  const unsigned char *mapped = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__file_map(path, &mapped, &bytes));
  mica_status status = mica__signature_demand(path, mapped, bytes);
  if (status != MICA_OK) {
    mica__file_unmap(mapped, bytes);
    return status;
  }
  *data = mapped;
  *size = bytes;
  return MICA_OK;
}
