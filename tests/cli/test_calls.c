/* labels: null single
 *
 * Calls of functions in texts that a model wrote, whole and while they grow. */
#include "cli/serve/calls.h"
#include "support/check_main.h"

#include <string.h>

static cJSON *tools;

static bool read_text(const char *text, serve_calls *calls) {
  if (!tools)
    tools = cJSON_Parse("[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
                        "{\"type\":\"function\",\"function\":{\"name\":\"g\"}}]");
  ck_assert_ptr_nonnull(tools);
  return serve_calls_read(tools, text, strlen(text), calls);
}

static const struct {
  const char *text, *name, *arguments;
  size_t count, before;
} good[] = {
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", "f", "{\"a\":1}", 1, 0},
    {"Let me see.\n\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>\n", "g", "{}", 1, 11},
    {"<tool_call>[{\"name\":\"f\",\"arguments\":{\"a\":\"<tool_call>\"}},{\"name\":\"g\",\"arguments\":{}}]</"
     "tool_call>",
     "f", "{\"a\":\"<tool_call>\"}", 2, 0},
    {"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call><tool_call>{\"name\":\"g\",\"arguments\":{}}", "f", "{}",
     2, 0},
    {" {\"name\": \"f\", \"parameters\": {\"x\": [1, 2]}} ", "f", "{\"x\":[1,2]}", 1, 0},
    {"[{\"name\":\"g\",\"arguments\":{}}]", "g", "{}", 1, 0},
    {"{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}", "f", "{}", 1, 0},
};

START_TEST(calls_are_found) {
  serve_calls calls;
  ck_assert(read_text(good[_i].text, &calls));
  ck_assert_uint_eq(calls.count, good[_i].count);
  ck_assert_str_eq(calls.list[0].name, good[_i].name);
  ck_assert_str_eq(calls.list[0].arguments, good[_i].arguments);
  ck_assert_uint_eq(calls.before, good[_i].before);
  serve_calls_free(&calls);
  ck_assert_uint_eq(calls.count, 0);
}
END_TEST

static const char *const texts[] = {
    "",
    " ",
    "Hello <tool",
    "[]",
    "\001{\"name\":\"f\",\"arguments\":{}}",
    "{}",
    "{\"name\":\"h\",\"arguments\":{}}",
    "{\"name\":\"f\"}",
    "{\"name\":\"f\",\"arguments\":3}",
    "{\"name\":\"f\",\"arguments\":{}} is a call",
    "<tool_call>",
    "<tool_call>{\"name\":\"f\",\"arguments\":{}",
    "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> and more",
    "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call><tool_call>{\"name\":\"h\",\"arguments\":{}}</tool_call>",
    "[{\"name\":\"f\",\"arguments\":{}},1]",
};

START_TEST(other_texts_stay_texts) {
  serve_calls calls;
  ck_assert(!read_text(texts[_i], &calls));
  ck_assert_uint_eq(calls.count, 0);
}
END_TEST

START_TEST(seventeen_calls_are_a_text) {
  char text[2048] = "";
  serve_calls calls;
  for (int c = 0; c < SERVE_MOST_CALLS; c++) strcat(text, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
  ck_assert(read_text(text, &calls));
  ck_assert_uint_eq(calls.count, SERVE_MOST_CALLS);
  serve_calls_free(&calls);
  strcat(text, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
  ck_assert(!read_text(text, &calls));
}
END_TEST

/* What a stream has shown never has to be taken back: it only grows, and is text before the first call. */
START_TEST(a_stream_shows_text_alone) {
  const char *text = good[_i].text;
  size_t shown = 0;
  for (size_t bytes = 0; bytes <= strlen(text); bytes++) {
    const size_t plain = serve_calls_plain(text, bytes);
    ck_assert_uint_le(plain, bytes);
    ck_assert_uint_ge(plain, shown);
    ck_assert_uint_le(plain, good[_i].before);
    shown = plain;
  }
  ck_assert_uint_eq(shown, good[_i].before);
}
END_TEST

START_TEST(a_text_without_calls_is_shown_as_it_comes) {
  ck_assert_uint_eq(serve_calls_plain("a < b", 5), 5);
  ck_assert_uint_eq(serve_calls_plain("a <", 3), 1);
  ck_assert_uint_eq(serve_calls_plain("a <tool_", 8), 1);
  ck_assert_uint_eq(serve_calls_plain("a <tool_x", 9), 9);
  ck_assert_uint_eq(serve_calls_plain("{\"a\":", 5), 0);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(calls_are_found, 0, (int)(sizeof good / sizeof *good)),
      LOOP(other_texts_stay_texts, 0, (int)(sizeof texts / sizeof *texts)), seventeen_calls_are_a_text,
      LOOP(a_stream_shows_text_alone, 0, (int)(sizeof good / sizeof *good)), a_text_without_calls_is_shown_as_it_comes)
