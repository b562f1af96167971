/* base/minisign.h: reads and writes minisign's files: public keys, secret keys, signatures. Only in builds with
 * libsodium.
 *
 *   public key   untrusted comment: TEXT
 *                base64("Ed", number[8], key[32])
 *   secret key   untrusted comment: TEXT
 *                base64("Ed", kdf[2], "B2", salt[32], work (le64), memory (le64), number[8], key[64], check[32])
 *                kdf "Sc": scrypt of the password gives 104 bytes, and the last three fields are XORed with them;
 *                check is BLAKE2b-256 of "Ed", number and key. kdf zeros: the fields are plain.
 *   signature    untrusted comment: TEXT
 *                base64("ED", number[8], Ed25519[64] of the file's BLAKE2b-512)
 *                trusted comment: TEXT
 *                base64(Ed25519[64] of the first Ed25519[64] and the trusted TEXT) */
#ifndef MICA_BASE_MINISIGN_H
#define MICA_BASE_MINISIGN_H

#include "base/text.h"

#include <stdint.h>

enum {
  MICA__MINISIGN_NUMBER = 8,
  MICA__MINISIGN_PUBLIC = 32,
  MICA__MINISIGN_SECRET = 64,
  MICA__MINISIGN_SIGNATURE = 64,
  MICA__MINISIGN_HASH = 64,
  MICA__MINISIGN_COMMENT = 8192, /* maximum bytes of a trusted comment */
  MICA__MINISIGN_PUBLIC_TEXT = 56,
};

typedef struct mica__public_key {
  unsigned char number[MICA__MINISIGN_NUMBER], key[MICA__MINISIGN_PUBLIC];
} mica__public_key;

typedef struct mica__secret_key {
  unsigned char number[MICA__MINISIGN_NUMBER], key[MICA__MINISIGN_SECRET];
} mica__secret_key;

typedef struct mica__minisig {
  unsigned char number[MICA__MINISIGN_NUMBER];
  unsigned char signature[MICA__MINISIGN_SIGNATURE], all[MICA__MINISIGN_SIGNATURE];
  const char *comment; /* points into the parsed text, or to the comment to be signed */
  size_t comment_bytes;
} mica__minisig;

/* Parse a text; name is used in messages. MICA_E_FORMAT if it is malformed. */
mica_status mica__minisign_read_public(const char *name, const char *text, size_t bytes, mica__public_key *key);
mica_status mica__minisign_read_signature(const char *name, const char *text, size_t bytes, mica__minisig *signature);
/* password may be NULL. If key is NULL, only *encrypted is set. MICA_E_STATE if a password is missing or wrong. */
mica_status mica__minisign_read_secret(const char *name, const char *text, size_t bytes, const char *password,
                                       mica__secret_key *key, bool *encrypted);

/* Parses the base64 line of a public key; false if the text is not one. */
bool mica__minisign_is_public(const char *text, mica__public_key *key);

/* Append a text in minisign's format. */
void mica__minisign_add_public(mica__text *text, const mica__public_key *key);
void mica__minisign_add_signature(mica__text *text, const mica__minisig *signature);
/* Appends a secret key; password NULL: unencrypted. */
mica_status mica__minisign_add_secret(mica__text *text, const mica__secret_key *key, const char *password);

/* Formats a key's number as minisign shows it. */
void mica__minisign_number(const unsigned char number[MICA__MINISIGN_NUMBER], char text[17]);

/* Initialises libsodium; MICA_E_UNSUPPORTED if that fails. */
mica_status mica__minisign_ready(void);

#endif
