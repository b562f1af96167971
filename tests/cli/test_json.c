/* labels: null single
 *
 * JSON that cJSON alone would get wrong. */
#include "cli/json.h"
#include "support/check_main.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In the command main.c has it. */
int cli_fail(const cli_command *self, const char *format, ...) {
  (void)self, (void)format;
  return CLI_FAILED;
}

static void expect_text(const char *text, const char *json_text) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "t", text);
  ck_assert(!json.failed);
  char *got = cJSON_PrintUnformatted(json.root);
  char want[256];
  snprintf(want, sizeof want, "{\"t\":%s}", json_text);
  ck_assert_str_eq(got, want);
  cJSON_free(got);
  cJSON_Delete(json.root);
}

#define LOST "\xef\xbf\xbd"

START_TEST(texts_become_utf8) {
  expect_text(NULL, "null");
  expect_text("", "\"\"");
  expect_text("a \"quoted\" \\ \t name\x01", "\"a \\\"quoted\\\" \\\\ \\t name\\u0001\"");
  expect_text("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  expect_text("caf\xe9 noir", "\"caf" LOST " noir\"");
  expect_text("cut \xe2\x82", "\"cut " LOST LOST "\"");
  expect_text("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xff", "\"" LOST LOST LOST LOST LOST LOST LOST LOST LOST LOST "\"");
}
END_TEST

/* cJSON would end the text there. */
START_TEST(bytes_of_zero_stay) {
  static const char text[] = "a\0\"\\\n\xc3\xa9\xe9\0";
  cli_json json;
  cli_json_begin(&json);
  cli_json_bytes(&json, json.root, "t", text, sizeof text - 1);
  ck_assert(!json.failed);
  char *got = cJSON_PrintUnformatted(json.root);
  ck_assert_str_eq(got, "{\"t\":\"a\\u0000\\\"\\\\\\u000a\xc3\xa9\\ufffd\\u0000\"}");
  cJSON_free(got);
  cJSON_Delete(json.root);
}
END_TEST

START_TEST(numbers_are_exact) {
  cli_json json;
  cli_json_begin(&json);
  cJSON *list = cli_json_array(&json, json.root, "n");
  cli_json_integer(&json, list, NULL, UINT64_MAX);
  cli_json_integer(&json, list, NULL, 9007199254740993);
  cli_json_real(&json, list, NULL, 0.25);
  cli_json_real(&json, list, NULL, (double)NAN);
  cli_json_real(&json, list, NULL, (double)INFINITY);
  cli_json_bool(&json, list, NULL, true);
  ck_assert(!json.failed);
  char *got = cJSON_PrintUnformatted(json.root);
  ck_assert_str_eq(got, "{\"n\":[18446744073709551615,9007199254740993,0.25,null,null,true]}");
  cJSON_free(got);
  cJSON_Delete(json.root);
}
END_TEST

static int allocations_left;
static void *scarce_malloc(size_t size) { return allocations_left-- > 0 ? malloc(size) : NULL; }

START_TEST(scarce_memory_is_a_failure) {
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = scarce_malloc, .free_fn = free});
  int granted = 0, status = CLI_FAILED;
  for (; status != CLI_OK && granted < 100; granted++) {
    allocations_left = granted;
    cli_json json;
    cli_json_begin(&json);
    cJSON *object = cli_json_object(&json, json.root, "o");
    cli_json_text(&json, object, "t", "text");
    cli_json_integer(&json, object, "i", 1);
    status = cli_json_print(&json, NULL);
  }
  cJSON_InitHooks(NULL);
  ck_assert_int_eq(status, CLI_OK);
  ck_assert_int_gt(granted, 5);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, texts_become_utf8, bytes_of_zero_stay, numbers_are_exact, scarce_memory_is_a_failure)
