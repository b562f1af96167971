/* mica/signature.h: signed models and bundles, in the format of minisign.
 *
 *   mica_signature_require("vendor.pub");                                  this process opens signed models only
 *   if (mica_onnx_open("model.onnx", &model) != MICA_OK)                   model.onnx.minisig must be right
 *     fprintf(stderr, "%s\n", mica_error_message());
 *
 * The signature of FILE is the file FILE.minisig beside it: Ed25519 (RFC 8032) of the file's BLAKE2b-512 (RFC 7693).
 * `minisign -S` and mica_signature_write write it, `minisign -V` and mica_signature_check read it. A signature covers
 * the content of a file, not its name. Keys have minisign's format too. The library needs libsodium for all of it.
 *
 * Threads: any thread may call these functions. The required key belongs to the process. */
#ifndef MICA_SIGNATURE_H
#define MICA_SIGNATURE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL

MICA_BEGIN_DECLS

/* Demands from now on that every file of a model and every bundle that this process opens by name is signed with this
 * key: safetensors, GGUF and ONNX files with their external data, files of runs and of published models, tokenisers,
 * n-gram models, adapters, bundles. Data sets, histories and files in memory need no signature. Content that this
 * process wrote itself after the call needs no signature.
 *
 * key: the name of a public key's file, or its 56 characters; "": demand nothing; NULL: what the environment variable
 * MICA_REQUIRE_KEY says, which also holds before the first call. The file of a key is read during the call, or at the
 * first model if the environment names it.
 *
 * Opening such a file fails with MICA_E_STATE if a signature is missing or made with another key, or if the key that
 * the environment names cannot be read. It fails with MICA_E_FORMAT if the signature is of other content or is damaged.
 * Every file is read in full, about a second per GB.
 *
 * MICA_E_NOT_FOUND, MICA_E_FORMAT: there is no such key, or it is damaged; the earlier demand still holds.
 * MICA_E_UNSUPPORTED: a key is given, but the build has no libsodium. (If the environment names a key in such a build,
 * opening a file fails with this status.) */
MICA_API MICA_CHECKED mica_status mica_signature_require(const char *key);

typedef struct mica_signature_info {
  char key[17];       /* number of the key, as minisign shows it */
  char comment[8193]; /* the trusted comment, which the signature covers */
} mica_signature_info;

/* Verifies a file against FILE.minisig. key is as in mica_signature_require, but must not be NULL or "". info may be
 * NULL. A missing, wrong or damaged signature gives the same status as when mica_signature_require is in force.
 * MICA_E_NOT_FOUND: no such file or key. */
MICA_API MICA_CHECKED mica_status mica_signature_check(const char *path, const char *key, mica_signature_info *info);

typedef struct mica_signature_config {
  const char *key;      /* file of the secret key; required */
  const char *password; /* of an encrypted key */
  const char *comment;  /* trusted comment, at most 8192 bytes; tabs are the only control characters allowed;
                         * NULL: the time and the name of the file, as minisign writes */
} mica_signature_config;

/* Writes FILE.minisig, also in place of an older one. MICA_E_NOT_FOUND: no such file or key. MICA_E_FORMAT: the key is
 * damaged. MICA_E_STATE: a password is missing or wrong. MICA_E_INVALID: the comment is too long or not one line. */
MICA_API MICA_CHECKED mica_status mica_signature_write(const char *path, const mica_signature_config *config);

/* Creates a pair of keys: the files NAME.key, which only this user can read, and NAME.pub. A password encrypts NAME.key
 * (scrypt, which takes 1 GiB of memory and some seconds, as in minisign); NULL or "": NAME.key is not encrypted.
 * MICA_E_STATE: one of the files exists. */
MICA_API MICA_CHECKED mica_status mica_signature_make_keys(const char *name, const char *password);

/* Sets *encrypted to true if the file of a secret key is encrypted. MICA_E_NOT_FOUND: no such file. MICA_E_FORMAT: it
 * is not a key. */
MICA_API MICA_CHECKED mica_status mica_signature_key_is_encrypted(const char *key, bool *encrypted);

MICA_END_DECLS

#endif
