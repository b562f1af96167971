/* labels: null slow
 *
 * Secret keys under a password, of minisign and of Mica. Each use takes scrypt a GiB and some seconds. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <mica/signature.h>
#include <stdio.h>
#include <string.h>

/* The sentence has the word. */
static void refused(mica_status got, mica_status wanted, const char *word) {
  ck_assert_msg(got == wanted, "%s: %s", mica_status_name(got), mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), word), "%s", mica_error_message());
}

START_TEST(encrypted_keys_need_their_password) {
  bool encrypted = false;
  char model[256], name[256], open_key[256];
  files_write_text("model", "a model");
  snprintf(model, sizeof model, "%s", files_path("model"));
  const char *key = golden_path("minisign", "encrypted.key");
  ck_ok(mica_signature_key_is_encrypted(key, &encrypted));
  ck_assert(encrypted);
  ck_ok(mica_signature_key_is_encrypted(golden_path("minisign", "plain.key"), &encrypted));
  ck_assert(!encrypted);
  refused(mica_signature_write(model, &(mica_signature_config){.key = key}), MICA_E_STATE, "password");
  mica_status status = mica_signature_write(model, &(mica_signature_config){.key = key, .password = "pass word"});
  if (status == MICA_E_NOMEM) return; /* scrypt takes a GiB */
  ck_ok(status);
  ck_ok(mica_signature_check(model, golden_path("minisign", "encrypted.pub"), NULL));
  refused(mica_signature_write(model, &(mica_signature_config){.key = key, .password = "password"}), MICA_E_STATE,
          "wrong");
  snprintf(name, sizeof name, "%s", files_path("c"));
  ck_ok(mica_signature_make_keys(name, "two words"));
  snprintf(name, sizeof name, "%s", files_path("c.key"));
  snprintf(open_key, sizeof open_key, "%s", files_path("c.pub"));
  ck_ok(mica_signature_key_is_encrypted(name, &encrypted));
  ck_assert(encrypted);
  ck_ok(mica_signature_write(model, &(mica_signature_config){.key = name, .password = "two words"}));
  ck_ok(mica_signature_check(model, open_key, NULL));
}
END_TEST

TESTS(NEEDS(SODIUM), NULL, files_remove, encrypted_keys_need_their_password)
