/* Makes keys, and signs files with them. */
#include "base/minisign.h"
#include "base/signature.h"

#include <string.h>

#if MICA_WITH_SODIUM
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* --- secret keys --- */

static mica_status read_secret(const char *path, const char *password, mica__secret_key *key, bool *encrypted) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__minisign_ready());
  MICA_TRY(mica__file_read(path, &text, &bytes));
  mica_status status = mica__minisign_read_secret(path, (const char *)text, bytes, password, key, encrypted);
  sodium_memzero(text, bytes);
  free(text);
  return status;
}

mica_status mica_signature_key_is_encrypted(const char *key, bool *encrypted) {
  bool is = false;
  if (!key || !encrypted) return mica__fail(MICA_E_INVALID, "mica_signature_key_is_encrypted: a pointer is NULL");
  MICA_TRY(read_secret(key, NULL, NULL, &is));
  *encrypted = is;
  return MICA_OK;
}

/* Writes a file that must not exist yet, with this mode. */
static mica_status create(const char *path, const mica__text *text, mode_t mode) {
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0 && errno == EEXIST)
    return mica__fail(MICA_E_STATE, "%s exists already; choose another name for the new key", path);
  if (file < 0) return mica__fail(MICA_E_IO, "cannot write %s: %s", path, strerror(errno));
  size_t at = 0;
  int error = 0;
  while (at < text->length && !error) {
    const ssize_t put = write(file, text->data + at, text->length - at);
    if (put > 0) at += (size_t)put;
    if (put <= 0 && errno != EINTR) error = put ? errno : EIO;
  }
  if (!error && fsync(file)) error = errno;
  if (close(file) && !error) error = errno;
  if (!error) return MICA_OK;
  unlink(path);
  return mica__fail(MICA_E_IO, "cannot write %s: %s", path, strerror(error));
}

typedef struct pair {
  mica__text secret_path, public_path, secret, open;
} pair;

static mica_status make_pair(pair *p, const char *name, const char *password) {
  mica__secret_key key;
  mica__public_key public_key;
  mica__text_addf(&p->secret_path, "%s.key", name);
  mica__text_addf(&p->public_path, "%s.pub", name);
  MICA_TRY(mica__text_status(&p->secret_path));
  MICA_TRY(mica__text_status(&p->public_path));
  if (access(p->public_path.data, F_OK) == 0)
    return mica__fail(MICA_E_STATE, "%s exists already; choose another name for the new key", p->public_path.data);
  crypto_sign_keypair(public_key.key, key.key);
  randombytes_buf(key.number, sizeof key.number);
  memcpy(public_key.number, key.number, sizeof key.number);
  mica_status status = mica__minisign_add_secret(&p->secret, &key, password && *password ? password : NULL);
  sodium_memzero(&key, sizeof key);
  mica__minisign_add_public(&p->open, &public_key);
  if (status == MICA_OK) status = mica__text_status(&p->open);
  if (status == MICA_OK) status = create(p->secret_path.data, &p->secret, 0600);
  if (status != MICA_OK) return status;
  status = create(p->public_path.data, &p->open, 0666);
  if (status != MICA_OK) unlink(p->secret_path.data);
  return status;
}

mica_status mica_signature_make_keys(const char *name, const char *password) {
  pair p = {0};
  if (!name || !*name) return mica__fail(MICA_E_INVALID, "mica_signature_make_keys: name is NULL or empty");
  MICA_TRY(mica__minisign_ready());
  mica_status status = make_pair(&p, name, password);
  if (p.secret.data) sodium_memzero(p.secret.data, p.secret.length);
  mica__text_free(&p.secret_path);
  mica__text_free(&p.public_path);
  mica__text_free(&p.secret);
  mica__text_free(&p.open);
  return status;
}

/* --- signing --- */

static mica_status check_comment(const char *comment) {
  if (strlen(comment) > MICA__MINISIGN_COMMENT)
    return mica__fail(MICA_E_INVALID, "the comment has %zu bytes, but may have at most %d", strlen(comment),
                      MICA__MINISIGN_COMMENT);
  for (const char *at = comment; *at; at++)
    if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
      return mica__fail(MICA_E_INVALID, "the comment has a control character, but must be one line of text");
  return MICA_OK;
}

/* Adds the time and the file's name without its folder, as minisign does. */
static void add_default_comment(mica__text *text, const char *path) {
  const char *slash = strrchr(path, '/');
  mica__text_addf(text, "timestamp:%lld\tfile:", (long long)time(NULL));
  for (const char *at = slash ? slash + 1 : path; *at; at++)
    mica__text_addf(text, "%c", (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
  mica__text_add(text, "\thashed");
}

static mica_status sign(const char *path, const mica__secret_key *key, const char *comment, mica__text *out) {
  unsigned char hash[MICA__MINISIGN_HASH], all[MICA__MINISIGN_SIGNATURE + MICA__MINISIGN_COMMENT];
  const unsigned char *data = NULL;
  size_t size = 0;
  mica__minisig s = {.comment = comment, .comment_bytes = strlen(comment)};
  MICA_TRY(mica__file_map(path, &data, &size));
  crypto_generichash(hash, sizeof hash, data, size, NULL, 0);
  mica__file_unmap(data, size);
  memcpy(s.number, key->number, sizeof s.number);
  crypto_sign_detached(s.signature, NULL, hash, sizeof hash, key->key);
  memcpy(all, s.signature, sizeof s.signature);
  memcpy(all + sizeof s.signature, comment, s.comment_bytes);
  crypto_sign_detached(s.all, NULL, all, sizeof s.signature + s.comment_bytes, key->key);
  mica__minisign_add_signature(out, &s);
  return mica__text_status(out);
}

mica_status mica_signature_write(const char *path, const mica_signature_config *config) {
  mica__text made = {0}, beside = {0}, signature = {0};
  mica__secret_key key;
  bool encrypted = false;
  if (!path || !config || !config->key)
    return mica__fail(MICA_E_INVALID, "mica_signature_write: path, config or the key of config is NULL");
  if (config->comment) MICA_TRY(check_comment(config->comment));
  MICA_TRY(read_secret(config->key, config->password, &key, &encrypted));
  if (!config->comment) add_default_comment(&made, path);
  mica__text_addf(&beside, "%s.minisig", path);
  mica_status status = mica__text_status(&made);
  if (status == MICA_OK) status = mica__text_status(&beside);
  if (status == MICA_OK) status = check_comment(config->comment ? config->comment : made.data);
  if (status == MICA_OK) status = sign(path, &key, config->comment ? config->comment : made.data, &signature);
  if (status == MICA_OK) status = mica__file_replace(beside.data, &(mica__bytes){signature.data, signature.length}, 1);
  sodium_memzero(&key, sizeof key);
  mica__text_free(&made);
  mica__text_free(&beside);
  mica__text_free(&signature);
  return status;
}

#else

mica_status mica_signature_write(const char *path, const mica_signature_config *config) {
  (void)path, (void)config;
  return mica__fail_lacks("a signature", "libsodium");
}
mica_status mica_signature_make_keys(const char *name, const char *password) {
  (void)name, (void)password;
  return mica__fail_lacks("a key for signatures", "libsodium");
}
mica_status mica_signature_key_is_encrypted(const char *key, bool *encrypted) {
  (void)key, (void)encrypted;
  return mica__fail_lacks("a key for signatures", "libsodium");
}
#endif
