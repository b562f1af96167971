#include "base/minisign.h"

#if MICA_WITH_SODIUM
#include "base/byte_order.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define UNTRUSTED "untrusted comment: "
#define TRUSTED "trusted comment: "

enum { UNTRUSTED_BYTES = 1024, HIDDEN = 104, CHECK = 32, SALT = 32 };

/* The most memory and work of scrypt that a file may ask for: four times what minisign writes. */
#define MOST_MEMORY ((uint64_t)4 * crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE)
#define MOST_WORK ((uint64_t)4 * crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE)

/* Byte offsets of a secret key's fields after base64 decoding. */
enum { KDF_AT = 2, CHECK_NAME_AT = 4, SALT_AT = 6, WORK_AT = 38, MEMORY_AT = 46, HIDDEN_AT = 54, SECRET_BYTES = 158 };

_Static_assert(MICA__MINISIGN_PUBLIC == crypto_sign_PUBLICKEYBYTES, "a public key of Ed25519");
_Static_assert(MICA__MINISIGN_SECRET == crypto_sign_SECRETKEYBYTES, "a secret key of Ed25519");
_Static_assert(MICA__MINISIGN_SIGNATURE == crypto_sign_BYTES, "a signature of Ed25519");
_Static_assert(SALT == crypto_pwhash_scryptsalsa208sha256_SALTBYTES, "the salt of scrypt");

mica_status mica__minisign_ready(void) {
  return sodium_init() < 0 ? mica__fail(MICA_E_UNSUPPORTED, "libsodium cannot be used on this system") : MICA_OK;
}

void mica__minisign_number(const unsigned char number[MICA__MINISIGN_NUMBER], char text[17]) {
  static const char digits[] = "0123456789ABCDEF";
  for (int i = 0; i < MICA__MINISIGN_NUMBER; i++) {
    const unsigned char byte = number[MICA__MINISIGN_NUMBER - 1 - i];
    text[2 * i] = digits[byte >> 4];
    text[2 * i + 1] = digits[byte & 15];
  }
  text[16] = '\0';
}

/* --- lines --- */

typedef struct lines {
  const char *name, *what; /* for messages */
  const char *at, *end;
} lines;

static mica_status damaged(const lines *l) {
  return mica__fail(MICA_E_FORMAT, "%s is damaged, or not a minisign %s", l->name, l->what);
}

/* Reads the next line, without its line end. */
static mica_status next_line(lines *l, const char **line, size_t *bytes) {
  if (l->at == l->end) return damaged(l);
  const char *end = memchr(l->at, '\n', (size_t)(l->end - l->at));
  const char *stop = end ? end : l->end;
  *line = l->at;
  l->at = end ? end + 1 : l->end;
  while (stop > *line && stop[-1] == '\r') stop--;
  *bytes = (size_t)(stop - *line);
  return MICA_OK;
}

/* Reads a line that begins with `word`; *text is the rest of it. */
static mica_status take_comment(lines *l, const char *word, size_t most, const char **text, size_t *bytes) {
  MICA_TRY(next_line(l, text, bytes));
  const size_t n = strlen(word);
  if (*bytes < n || memcmp(*text, word, n) != 0 || *bytes - n > most) return damaged(l);
  *text += n;
  *bytes -= n;
  for (size_t i = 0; i < *bytes; i++)
    if (((unsigned char)(*text)[i] < 0x20 && (*text)[i] != '\t') || (*text)[i] == 0x7f) return damaged(l);
  return MICA_OK;
}

static bool decode(const char *text, size_t bytes, unsigned char *out, size_t size) {
  size_t got = 0;
  const char *end = NULL;
  /* Reject these first, because libsodium 1.0.18 reads the byte 0xC1 as 'A'. */
  for (size_t i = 0; i < bytes; i++)
    if ((unsigned char)text[i] >= 0x80) return false;
  return sodium_base642bin(out, size, text, bytes, NULL, &got, &end, sodium_base64_VARIANT_ORIGINAL) == 0 &&
         got == size && end == text + bytes;
}

static mica_status take_bytes(lines *l, unsigned char *out, size_t size) {
  const char *line = NULL;
  size_t bytes = 0;
  MICA_TRY(next_line(l, &line, &bytes));
  return decode(line, bytes, out, size) ? MICA_OK : damaged(l);
}

/* MICA_E_FORMAT unless only blank lines follow. */
static mica_status take_end(const lines *l) {
  for (const char *at = l->at; at < l->end; at++)
    if (*at != '\n' && *at != '\r') return damaged(l);
  return MICA_OK;
}

static void add_bytes(mica__text *text, const unsigned char *data, size_t bytes) {
  char encoded[sodium_base64_ENCODED_LEN(SECRET_BYTES, sodium_base64_VARIANT_ORIGINAL)];
  sodium_bin2base64(encoded, sizeof encoded, data, bytes, sodium_base64_VARIANT_ORIGINAL);
  mica__text_addf(text, "%s\n", encoded);
  sodium_memzero(encoded, sizeof encoded);
}

/* --- public keys --- */

static bool take_public(const unsigned char bytes[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_PUBLIC],
                        mica__public_key *key) {
  if (memcmp(bytes, "Ed", 2) != 0) return false;
  memcpy(key->number, bytes + 2, sizeof key->number);
  memcpy(key->key, bytes + 2 + sizeof key->number, sizeof key->key);
  return true;
}

bool mica__minisign_is_public(const char *text, mica__public_key *key) {
  unsigned char bytes[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_PUBLIC];
  return strlen(text) == MICA__MINISIGN_PUBLIC_TEXT && decode(text, MICA__MINISIGN_PUBLIC_TEXT, bytes, sizeof bytes) &&
         take_public(bytes, key);
}

mica_status mica__minisign_read_public(const char *name, const char *text, size_t bytes, mica__public_key *key) {
  lines l = {name, "public key", text, text + bytes};
  const char *comment = NULL;
  size_t comment_bytes = 0;
  unsigned char read[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_PUBLIC];
  MICA_TRY(take_comment(&l, UNTRUSTED, UNTRUSTED_BYTES, &comment, &comment_bytes));
  MICA_TRY(take_bytes(&l, read, sizeof read));
  MICA_TRY(take_end(&l));
  return take_public(read, key) ? MICA_OK : damaged(&l);
}

void mica__minisign_add_public(mica__text *text, const mica__public_key *key) {
  unsigned char bytes[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_PUBLIC] = "Ed";
  char number[17];
  memcpy(bytes + 2, key->number, sizeof key->number);
  memcpy(bytes + 2 + sizeof key->number, key->key, sizeof key->key);
  mica__minisign_number(key->number, number);
  mica__text_addf(text, UNTRUSTED "minisign public key %s\n", number);
  add_bytes(text, bytes, sizeof bytes);
}

/* --- signatures --- */

mica_status mica__minisign_read_signature(const char *name, const char *text, size_t bytes, mica__minisig *s) {
  lines l = {name, "signature", text, text + bytes};
  const char *comment = NULL;
  size_t comment_bytes = 0;
  unsigned char read[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_SIGNATURE];
  MICA_TRY(take_comment(&l, UNTRUSTED, UNTRUSTED_BYTES, &comment, &comment_bytes));
  MICA_TRY(take_bytes(&l, read, sizeof read));
  MICA_TRY(take_comment(&l, TRUSTED, MICA__MINISIGN_COMMENT, &s->comment, &s->comment_bytes));
  MICA_TRY(take_bytes(&l, s->all, sizeof s->all));
  MICA_TRY(take_end(&l));
  if (!memcmp(read, "Ed", 2))
    return mica__fail(MICA_E_FORMAT, "%s is in minisign's legacy format; sign the file again without -l", name);
  if (memcmp(read, "ED", 2) != 0) return damaged(&l);
  memcpy(s->number, read + 2, sizeof s->number);
  memcpy(s->signature, read + 2 + sizeof s->number, sizeof s->signature);
  return MICA_OK;
}

void mica__minisign_add_signature(mica__text *text, const mica__minisig *s) {
  unsigned char bytes[2 + MICA__MINISIGN_NUMBER + MICA__MINISIGN_SIGNATURE] = "ED";
  char number[17];
  memcpy(bytes + 2, s->number, sizeof s->number);
  memcpy(bytes + 2 + sizeof s->number, s->signature, sizeof s->signature);
  mica__minisign_number(s->number, number);
  mica__text_addf(text, UNTRUSTED "signature by key %s\n", number);
  add_bytes(text, bytes, sizeof bytes);
  mica__text_add(text, TRUSTED);
  mica__text_add_bytes(text, s->comment, s->comment_bytes);
  mica__text_add(text, "\n");
  add_bytes(text, s->all, sizeof s->all);
}

/* --- secret keys --- */

static uint64_t load_u64(const unsigned char *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  mica__bytes_from_file(false, (uint8_t *)&value, 1, sizeof value);
  return value;
}

static void store_u64(unsigned char *bytes, uint64_t value) {
  mica__bytes_from_file(false, (uint8_t *)&value, 1, sizeof value);
  memcpy(bytes, &value, sizeof value);
}

/* Encrypts or decrypts the number, key and check of a secret key, by XOR with the bytes that scrypt derives from the
 * password. */
static mica_status hide(const char *name, unsigned char bytes[SECRET_BYTES], const char *password) {
  unsigned char stream[HIDDEN];
  const uint64_t work = load_u64(bytes + WORK_AT), memory = load_u64(bytes + MEMORY_AT);
  if (memory > MOST_MEMORY || work > MOST_WORK)
    return mica__fail(
        MICA_E_FORMAT,
        "%s is damaged: checking its password would take %llu MiB of memory and %llu operations, but at most "
        "%llu MiB and %llu operations are accepted",
        name, (unsigned long long)(memory >> 20), (unsigned long long)work, (unsigned long long)MOST_MEMORY >> 20,
        (unsigned long long)MOST_WORK);
  if (memory > SIZE_MAX || crypto_pwhash_scryptsalsa208sha256(stream, sizeof stream, password, strlen(password),
                                                              bytes + SALT_AT, work, (size_t)memory) != 0)
    return mica__fail(MICA_E_NOMEM, "%s: there is not enough memory: deriving its key from the password needs %llu MiB",
                      name, (unsigned long long)(memory >> 20));
  for (size_t i = 0; i < sizeof stream; i++) bytes[HIDDEN_AT + i] ^= stream[i];
  sodium_memzero(stream, sizeof stream);
  return MICA_OK;
}

static void check_of(const unsigned char bytes[SECRET_BYTES], unsigned char check[CHECK]) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, CHECK);
  crypto_generichash_update(&state, bytes, 2);
  crypto_generichash_update(&state, bytes + HIDDEN_AT, HIDDEN - CHECK);
  crypto_generichash_final(&state, check, CHECK);
}

/* Copies the number and the key from a secret key after base64 decoding. If `encrypted`, first decrypts `bytes` in
 * place and checks the password. The caller wipes `bytes`. */
static mica_status open_secret(const char *name, unsigned char bytes[SECRET_BYTES], const char *password,
                               mica__secret_key *key, bool encrypted) {
  unsigned char check[CHECK];
  if (encrypted) {
    if (!password) return mica__fail(MICA_E_STATE, "%s is encrypted, but no password is given", name);
    MICA_TRY(hide(name, bytes, password));
    check_of(bytes, check);
    if (sodium_memcmp(check, bytes + HIDDEN_AT + HIDDEN - CHECK, CHECK) != 0)
      return mica__fail(MICA_E_STATE, "%s: the password is wrong", name);
  }
  memcpy(key->number, bytes + HIDDEN_AT, sizeof key->number);
  memcpy(key->key, bytes + HIDDEN_AT + sizeof key->number, sizeof key->key);
  return MICA_OK;
}

mica_status mica__minisign_read_secret(const char *name, const char *text, size_t size, const char *password,
                                       mica__secret_key *key, bool *encrypted) {
  lines l = {name, "secret key", text, text + size};
  const char *comment = NULL;
  size_t comment_bytes = 0;
  unsigned char bytes[SECRET_BYTES];
  MICA_TRY(take_comment(&l, UNTRUSTED, UNTRUSTED_BYTES, &comment, &comment_bytes));
  mica_status status = take_bytes(&l, bytes, sizeof bytes);
  if (status == MICA_OK) status = take_end(&l);
  const bool scrypt = status == MICA_OK && !memcmp(bytes + KDF_AT, "Sc", 2);
  const bool plain = status == MICA_OK && !memcmp(bytes + KDF_AT, "\0\0", 2);
  if (status == MICA_OK &&
      (memcmp(bytes, "Ed", 2) != 0 || memcmp(bytes + CHECK_NAME_AT, "B2", 2) != 0 || (!scrypt && !plain)))
    status = damaged(&l);
  if (status == MICA_OK) *encrypted = scrypt;
  if (status == MICA_OK && key) status = open_secret(name, bytes, password, key, scrypt);
  sodium_memzero(bytes, sizeof bytes);
  return status;
}

mica_status mica__minisign_add_secret(mica__text *text, const mica__secret_key *key, const char *password) {
  unsigned char bytes[SECRET_BYTES] = "Ed";
  mica_status status = MICA_OK;
  memcpy(bytes + CHECK_NAME_AT, "B2", 2);
  memcpy(bytes + HIDDEN_AT, key->number, sizeof key->number);
  memcpy(bytes + HIDDEN_AT + sizeof key->number, key->key, sizeof key->key);
  if (password) {
    memcpy(bytes + KDF_AT, "Sc", 2);
    randombytes_buf(bytes + SALT_AT, SALT);
    store_u64(bytes + WORK_AT, crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE);
    store_u64(bytes + MEMORY_AT, crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE);
    check_of(bytes, bytes + HIDDEN_AT + HIDDEN - CHECK);
    status = hide("a new key", bytes, password);
  }
  if (status == MICA_OK) {
    mica__text_add(text, password ? UNTRUSTED "minisign encrypted secret key\n" : UNTRUSTED "minisign secret key\n");
    add_bytes(text, bytes, sizeof bytes);
    status = mica__text_status(text);
  }
  sodium_memzero(bytes, sizeof bytes);
  return status;
}
#endif
