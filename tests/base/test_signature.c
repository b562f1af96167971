/* labels: null
 *
 * Signatures of files: what minisign wrote is taken, what Mica writes comes back, and whatever is missing, cut off,
 * changed or made by another key is refused, wherever a required key demands signatures. */
#include "base/signature.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <mica/gguf.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>
#include <mica/tokenizer.h>
#include <mica/weights.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char model[256], beside[256], secret[256], open_key[256], other_secret[256], other_key[256];

static void keep(char to[256], const char *name) { snprintf(to, 256, "%s", files_path(name)); }

static void begin(void) {
  static const float weights[4] = {1, 2, 3, 4};
  const mica_safetensors_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = MICA_SHAPE(4), .data = weights, .bytes = sizeof weights};
  char name[256];
  files_write_text("begin", "");
  keep(model, "model.safetensors");
  keep(beside, "model.safetensors.minisig");
  keep(secret, "a.key");
  keep(open_key, "a.pub");
  keep(other_secret, "b.key");
  keep(other_key, "b.pub");
  ck_ok(mica_signature_require(""));
  ck_ok(mica_safetensors_write(model, &entry, 1, NULL, 0));
  keep(name, "a");
  ck_ok(mica_signature_make_keys(name, NULL));
  keep(name, "b");
  ck_ok(mica_signature_make_keys(name, ""));
}

static void end(void) {
  ck_ok(mica_signature_require(""));
  files_remove();
}

static void sign(const char *path, const char *key) {
  ck_ok(mica_signature_write(path, &(mica_signature_config){.key = key}));
}

/* The sentence has the word. */
static void refused(mica_status got, mica_status wanted, const char *word) {
  ck_assert_msg(got == wanted, "%s: %s", mica_status_name(got), mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), word), "%s", mica_error_message());
}

/* Copies of golden files, with the signature beside the message. */
static void take_golden(const char *signature) {
  size_t size = 0;
  uint8_t *data = files_read(golden_path("minisign", "message"), &size);
  files_write("message", data, size);
  free(data);
  data = files_read(golden_path("minisign", signature), &size);
  files_write("message.minisig", data, size);
  free(data);
}

START_TEST(signatures_of_minisign_are_taken) {
  static mica_signature_info info;
  take_golden("plain.minisig");
  ck_ok(mica_signature_check(files_path("message"), golden_path("minisign", "plain.pub"), &info));
  ck_assert_str_eq(info.comment, "a trusted comment");
  char text[256] = "";
  FILE *file = fopen(golden_path("minisign", "plain.pub"), "r");
  ck_assert(file && fgets(text, sizeof text, file));
  ck_assert_msg(strstr(text, info.key), "%s in %s", info.key, text);
  ck_assert(fgets(text, sizeof text, file));
  fclose(file);
  text[strcspn(text, "\n")] = '\0';
  ck_ok(mica_signature_check(files_path("message"), text, NULL));
  take_golden("encrypted.minisig");
  ck_ok(mica_signature_check(files_path("message"), golden_path("minisign", "encrypted.pub"), &info));
  ck_assert_msg(strstr(info.comment, "file:message"), "%s", info.comment);
  refused(mica_signature_check(files_path("message"), golden_path("minisign", "plain.pub"), NULL), MICA_E_STATE,
          "is required");
  take_golden("legacy.minisig");
  refused(mica_signature_check(files_path("message"), golden_path("minisign", "plain.pub"), NULL), MICA_E_FORMAT,
          "legacy");
}
END_TEST

/* Ed25519 is deterministic: the same comment gives the same signature. */
START_TEST(keys_of_minisign_sign_as_it_does) {
  size_t size = 0, size_of_both[2];
  take_golden("plain.minisig");
  uint8_t *theirs = files_read(files_path("message.minisig"), &size_of_both[0]);
  ck_ok(
      mica_signature_write(files_path("message"), &(mica_signature_config){.key = golden_path("minisign", "plain.key"),
                                                                           .comment = "a trusted comment"}));
  uint8_t *ours = files_read(files_path("message.minisig"), &size_of_both[1]);
  const char *a = strchr((char *)theirs, '\n'), *b = strchr((char *)ours, '\n');
  size = size_of_both[0] - (size_t)(a - (char *)theirs);
  ck_assert_uint_eq(size, size_of_both[1] - (size_t)(b - (char *)ours));
  ck_assert_mem_eq(a, b, size);
  free(theirs);
  free(ours);
}
END_TEST

START_TEST(keys_are_new_and_secret) {
  struct stat about;
  char name[256];
  ck_assert_int_eq(stat(secret, &about), 0);
  ck_assert_uint_eq(about.st_mode & 0777, 0600);
  keep(name, "a");
  refused(mica_signature_make_keys(name, NULL), MICA_E_STATE, "exists");
  ck_assert_int_eq(unlink(open_key), 0);
  refused(mica_signature_make_keys(name, NULL), MICA_E_STATE, "exists");
  ck_assert_int_ne(access(open_key, F_OK), 0);
}
END_TEST

START_TEST(changed_files_are_refused) {
  size_t size = 0;
  sign(model, secret);
  ck_ok(mica_signature_check(model, open_key, NULL));
  uint8_t *data = files_read(model, &size);
  for (size_t i = 0; i < size; i += 7) {
    data[i] ^= 1;
    files_write("model.safetensors", data, size);
    refused(mica_signature_check(model, open_key, NULL), MICA_E_FORMAT, "does not match");
    data[i] ^= 1;
  }
  files_write("model.safetensors", data, size - 1);
  refused(mica_signature_check(model, open_key, NULL), MICA_E_FORMAT, "does not match");
  files_write("model.safetensors", data, size);
  ck_ok(mica_signature_check(model, open_key, NULL));
  free(data);
}
END_TEST

/* Every byte counts but for those of the untrusted comment. */
START_TEST(changed_signatures_are_refused) {
  size_t size = 0;
  sign(model, secret);
  uint8_t *data = files_read(beside, &size);
  const size_t word = strlen("untrusted comment: "), line = (size_t)((uint8_t *)memchr(data, '\n', size) - data);
  for (size_t i = 0; i + 1 < size; i++) {
    if (i >= word && i < line) continue;
    for (int bit = 0; bit < 8; bit++) {
      data[i] ^= (uint8_t)(1 << bit);
      files_write("model.safetensors.minisig", data, size);
      const mica_status status = mica_signature_check(model, open_key, NULL);
      ck_assert_msg(status == MICA_E_FORMAT || status == MICA_E_STATE, "bit %d of byte %zu: %s", bit, i,
                    mica_status_name(status));
      data[i] ^= (uint8_t)(1 << bit);
    }
  }
  for (size_t n = 0; n + 1 < size; n++) {
    files_write("model.safetensors.minisig", data, n);
    refused(mica_signature_check(model, open_key, NULL), MICA_E_FORMAT, "minisig");
  }
  files_write("model.safetensors.minisig", data, size - 1); /* the last line's end alone */
  ck_ok(mica_signature_check(model, open_key, NULL));
  free(data);
}
END_TEST

START_TEST(other_keys_and_no_signatures_are_refused) {
  refused(mica_signature_check(model, open_key, NULL), MICA_E_STATE, "is not signed");
  sign(model, other_secret);
  refused(mica_signature_check(model, open_key, NULL), MICA_E_STATE, "is required");
  ck_ok(mica_signature_check(model, other_key, NULL));
  refused(mica_signature_check(files_path("none"), open_key, NULL), MICA_E_NOT_FOUND, "none");
  refused(mica_signature_check(model, files_path("none.pub"), NULL), MICA_E_NOT_FOUND, "none.pub");
  refused(mica_signature_check(model, model, NULL), MICA_E_FORMAT, "public key");
  refused(mica_signature_check(model, secret, NULL), MICA_E_FORMAT, "public key");
  refused(mica_signature_write(model, &(mica_signature_config){.key = open_key}), MICA_E_FORMAT, "secret key");
  refused(mica_signature_write(model, &(mica_signature_config){.key = secret, .comment = "two\nlines"}), MICA_E_INVALID,
          "one line");
  refused(mica_signature_write(model, &(mica_signature_config){0}), MICA_E_INVALID, "key");
  refused(mica_signature_check(NULL, open_key, NULL), MICA_E_INVALID, "path");
  refused(mica_signature_check(model, "", NULL), MICA_E_INVALID, "key");
}
END_TEST

/* A number of the key that was asked for, over the signature of another key: only the signature shows it. */
START_TEST(the_number_of_a_key_proves_nothing) {
  size_t size = 0, public_size = 0, made_size = 0;
  sign(model, other_secret);
  uint8_t *data = files_read(open_key, &public_size), *other = files_read(other_key, &made_size);
  const size_t at = (size_t)((uint8_t *)memchr(data, '\n', public_size) - data) + 1;
  /* Base64 of "Ed", number and the first two bytes of the key: 12 bytes are 16 characters. The key stays b's but for
   * these bytes, so it is not b's. */
  memcpy(other + at, data + at, 12);
  files_write("mixed.pub", other, made_size);
  const mica_status status = mica_signature_check(model, files_path("mixed.pub"), NULL);
  ck_assert(status == MICA_E_STATE || status == MICA_E_FORMAT);
  free(data);
  free(other);
  data = files_read(beside, &size);
  uint8_t *key = files_read(open_key, &public_size);
  const size_t line = (size_t)((uint8_t *)memchr(data, '\n', size) - data) + 1;
  memcpy(data + line + 3, key + at + 3, 9); /* the number lies in characters 2.67 to 13.33 */
  files_write("model.safetensors.minisig", data, size);
  const mica_status forged = mica_signature_check(model, open_key, NULL);
  ck_assert(forged == MICA_E_STATE || forged == MICA_E_FORMAT);
  free(data);
  free(key);
}
END_TEST

static void open_safetensors(mica_status wanted, const char *word) {
  mica_safetensors *file = NULL;
  mica_weights *weights = NULL;
  const mica_status status = mica_safetensors_open(model, &file);
  mica_safetensors_close(file);
  if (wanted != MICA_OK)
    refused(status, wanted, word);
  else
    ck_ok(status);
  ck_assert_int_eq(mica_weights_open(model, &weights), wanted);
  mica_weights_close(weights);
}

START_TEST(a_required_key_guards_models) {
  open_safetensors(MICA_OK, "");
  ck_ok(mica_signature_require(open_key));
  open_safetensors(MICA_E_STATE, "is not signed");
  sign(model, other_secret);
  open_safetensors(MICA_E_STATE, "is required");
  sign(model, secret);
  open_safetensors(MICA_OK, "");
  ck_assert_int_eq(unlink(beside), 0);
  open_safetensors(MICA_OK, ""); /* its content is known already */
  ck_ok(mica_signature_require(open_key));
  open_safetensors(MICA_E_STATE, "is not signed");
  refused(mica_signature_require(files_path("none.pub")), MICA_E_NOT_FOUND, "none.pub");
  open_safetensors(MICA_E_STATE, "is not signed");
  ck_ok(mica_signature_require(""));
  open_safetensors(MICA_OK, "");
}
END_TEST

START_TEST(files_of_the_process_need_none) {
  const float weight = 7;
  const mica_safetensors_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = MICA_SHAPE(1), .data = &weight, .bytes = sizeof weight};
  ck_ok(mica_signature_require(open_key));
  ck_ok(mica_safetensors_write(model, &entry, 1, NULL, 0));
  open_safetensors(MICA_OK, "");
}
END_TEST

START_TEST(the_environment_requires) {
  setenv("MICA_REQUIRE_KEY", open_key, 1);
  ck_ok(mica_signature_require(NULL));
  open_safetensors(MICA_E_STATE, "is not signed");
  sign(model, secret);
  open_safetensors(MICA_OK, "");
  setenv("MICA_REQUIRE_KEY", "/nowhere/x.pub", 1);
  ck_ok(mica_signature_require(NULL));
  open_safetensors(MICA_E_STATE, "MICA_REQUIRE_KEY");
  ck_ok(mica_signature_require(""));
  open_safetensors(MICA_OK, "");
  unsetenv("MICA_REQUIRE_KEY");
}
END_TEST

/* Readers of other kinds, each of a file that it would call damaged: without a signature none looks into it. */
START_TEST(every_reader_of_models_demands) {
  mica_gguf *gguf = NULL;
  mica_weights *weights = NULL;
  mica_onnx *onnx = NULL;
  mica_tokenizer *tokenizer = NULL;
  char path[256];
  ck_ok(mica_signature_require(open_key));
  files_write_text("x.gguf", "{}");
  files_write_text("x.safetensors.index.json", "{}");
  keep(path, "x.gguf");
  refused(mica_gguf_open(path, &gguf), MICA_E_STATE, "is not signed");
  refused(mica_weights_open(path, &weights), MICA_E_STATE, "is not signed");
  keep(path, "x.safetensors.index.json");
  refused(mica_weights_open(path, &weights), MICA_E_STATE, "is not signed");
#if MICA_WITH_ONNX
  refused(mica_onnx_open(path, &onnx), MICA_E_STATE, "is not signed");
#endif
#if MICA_WITH_CJSON
  refused(mica_tokenizer_open(path, &tokenizer), MICA_E_STATE, "is not signed");
#endif
  (void)onnx, (void)tokenizer;
}
END_TEST

TESTS(NEEDS(SODIUM), begin, end, signatures_of_minisign_are_taken, keys_of_minisign_sign_as_it_does,
      keys_are_new_and_secret, changed_files_are_refused, changed_signatures_are_refused,
      other_keys_and_no_signatures_are_refused, the_number_of_a_key_proves_nothing, a_required_key_guards_models,
      files_of_the_process_need_none, the_environment_requires, every_reader_of_models_demands)
