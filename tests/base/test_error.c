/* labels: null
 *
 * Statuses, the sentence of the last failure, and the log. */
#include "base/error.h"
#include "support/check_main.h"

#include <mica/mica.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_status_has_a_name_and_a_meaning) {
  static const struct {
    mica_status status;
    const char *name;
  } all[] = {
#define ROW(name, value, text) {MICA_##name, "MICA_" #name},
      MICA_STATUS_LIST(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    ck_assert_int_le(all[i].status, MICA_OK);
    ck_assert_str_eq(mica_status_name(all[i].status), all[i].name);
    ck_assert_str_ne(mica_status_text(all[i].status), "unknown status");
    for (size_t j = 0; j < i; j++) ck_assert_int_ne(all[i].status, all[j].status);
  }
  ck_assert_int_eq(MICA_OK, 0);
  ck_assert_str_eq(mica_status_name((mica_status)1), "MICA_E_UNKNOWN");
  ck_assert_str_eq(mica_status_text((mica_status)-1000), "unknown status");
}
END_TEST

START_TEST(a_failure_leaves_its_sentence) {
  ck_assert_int_eq(mica__fail(MICA_E_SHAPE, "%d by %d", 2, 3), MICA_E_SHAPE);
  ck_assert_str_eq(mica_error_message(), "2 by 3");
  ck_assert_int_eq(mica__fail_in(MICA_E_SHAPE, "matmul"), MICA_E_SHAPE);
  ck_assert_str_eq(mica_error_message(), "matmul: 2 by 3");
  /* The present sentence as an argument. */
  mica__fail(MICA_E_IO, "again: %s", mica_error_message());
  ck_assert_str_eq(mica_error_message(), "again: matmul: 2 by 3");
  ck_assert_int_eq(mica__fail_nomem("a cat"), MICA_E_NOMEM);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "a cat"));
}
END_TEST

/* The libraries of CMakeLists.txt (mica_feature) by the names that messages give them. */
START_TEST(a_missing_library_is_named_with_its_option) {
  static const char *const list[][2] = {
      {"libjpeg", "-DMICA_WITH_JPEG=ON"},      {"protobuf-c", "-DMICA_WITH_ONNX=ON"},
      {"Open MPI", "-DMICA_WITH_MPI=ON"},      {"cJSON", "-DMICA_WITH_CJSON=ON"},
      {"PCRE2", "-DMICA_WITH_PCRE2=ON"},       {"utf8proc", "-DMICA_WITH_UTF8PROC=ON"},
      {"libpng", "-DMICA_WITH_PNG=ON"},        {"expat", "-DMICA_WITH_EXPAT=ON"},
      {"libsodium", "-DMICA_WITH_SODIUM=ON"},  {"libdeflate", "-DMICA_WITH_DEFLATE=ON"},
      {"libsndfile", "-DMICA_WITH_SNDFILE=ON"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    ck_assert_int_eq(mica__fail_lacks("a.jpg", list[i][0]), MICA_E_UNSUPPORTED);
    ck_assert_msg(strstr(mica_error_message(), list[i][1]) && strstr(mica_error_message(), "a.jpg needs "), "%s",
                  mica_error_message());
  }
}
END_TEST

START_TEST(a_long_sentence_is_cut) {
  char *text = malloc(100001);
  ck_assert_ptr_nonnull(text);
  memset(text, 'x', 100000);
  text[100000] = '\0';
  for (int i = 0; i < 3; i++) mica__fail(MICA_E_BUILD, "kernel k: %s%s", text, mica_error_message());
  ck_assert_int_eq(strncmp(mica_error_message(), "kernel k: xxx", 13), 0);
  ck_assert_uint_lt(strlen(mica_error_message()), 100000);
  free(text);
}
END_TEST

START_TEST(an_attempt_is_private) {
  mica__fail(MICA_E_IO, "of the caller");
  const char *before = mica_error_message();
  mica__attempt_begin();
  mica__fail(MICA_E_NOT_FOUND, "of the attempt");
  ck_assert_str_eq(mica_error_message(), "of the attempt");
  mica__attempt_begin();
  mica__fail(MICA_E_NOT_FOUND, "deeper");
  mica__attempt_end();
  mica__fail_in(MICA_E_NOT_FOUND, "up");
  ck_assert_str_eq(mica_error_message(), "up: of the attempt");
  ck_assert_int_eq(mica_error_status(), MICA_E_NOT_FOUND);
  mica__attempt_end();
  ck_assert_int_eq(mica_error_status(), MICA_E_IO);
  ck_assert_str_eq(mica_error_message(), "of the caller");
  ck_assert_ptr_eq(mica_error_message(), before);
}
END_TEST

/* An inner failure that is handled leaves the outer one, at each level that has an error of its own. */
START_TEST(attempts_nest) {
  enum { LEVELS = 7 };
  static const char *const names[LEVELS + 1] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  mica__fail(MICA_E_IO, "0");
  for (int i = 1; i <= LEVELS; i++) {
    mica__attempt_begin();
    ck_assert_str_eq(mica_error_message(), "");
    ck_assert_int_eq(mica_error_status(), MICA_OK);
    mica__fail(i % 2 ? MICA_E_STATE : MICA_E_IO, "%s", names[i]);
  }
  for (int i = LEVELS; i >= 1; i--) {
    ck_assert_str_eq(mica_error_message(), names[i]);
    ck_assert_int_eq(mica_error_status(), i % 2 ? MICA_E_STATE : MICA_E_IO);
    mica__attempt_end();
  }
  ck_assert_str_eq(mica_error_message(), "0");
  mica__attempt_begin();
  mica__fail(MICA_E_NOT_FOUND, "A");
  mica__attempt_begin();
  mica__fail(MICA_E_NOMEM, "B");
  mica__attempt_end();
  ck_assert_int_eq(mica__attempt_pass(MICA_E_NOT_FOUND), MICA_E_NOT_FOUND);
  ck_assert_str_eq(mica_error_message(), "A");
  ck_assert_int_eq(mica_error_status(), MICA_E_NOT_FOUND);
  /* A failure that is passed on replaces the one of the attempt around it, and no other. */
  mica__attempt_begin();
  mica__attempt_begin();
  mica__fail(MICA_E_NOMEM, "C");
  mica__attempt_pass(MICA_E_NOMEM);
  ck_assert_str_eq(mica_error_message(), "C");
  mica__attempt_end();
  ck_assert_str_eq(mica_error_message(), "A");
  /* Very deep attempts are still private. */
  for (int i = 0; i < 100; i++) mica__attempt_begin();
  mica__fail(MICA_E_IO, "deep");
  ck_assert_str_eq(mica_error_message(), "deep");
  for (int i = 0; i < 100; i++) mica__attempt_end();
  ck_assert_str_eq(mica_error_message(), "A");
}
END_TEST

static void *fail_elsewhere(void *unused) {
  (void)unused;
  int fresh = mica_error_message()[0] == '\0';
  mica__fail(MICA_E_IO, "another thread's");
  return fresh ? NULL : (void *)1;
}

START_TEST(each_thread_has_its_own_sentence) {
  pthread_t thread;
  void *result;
  mica__fail(MICA_E_IO, "this thread's");
  ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
  pthread_join(thread, &result);
  ck_assert_ptr_null(result);
  ck_assert_str_eq(mica_error_message(), "this thread's");
}
END_TEST

static mica_status try_goto(int fails, int *released) {
  mica_status status = MICA_OK;
  MICA_TRY_GOTO(fails ? mica__fail(MICA_E_IO, "x") : MICA_OK, done);
  MICA_TRY(MICA_OK);
  *released = 0;
  return MICA_OK;
done:
  *released = 1;
  return status;
}

START_TEST(failures_are_passed_on) {
  int released;
  ck_assert_int_eq(try_goto(0, &released), MICA_OK);
  ck_assert_int_eq(released, 0);
  ck_assert_int_eq(try_goto(1, &released), MICA_E_IO);
  ck_assert_int_eq(released, 1);
}
END_TEST

typedef struct lines {
  int count;
  mica_log_level level;
  char last[256];
} lines;

static void keep(void *user, mica_log_level level, const char *message) {
  lines *l = user;
  l->count++;
  l->level = level;
  strncpy(l->last, message, sizeof l->last - 1);
}

START_TEST(the_log_respects_its_level) {
  lines seen = {0};
  mica_log_set(MICA_LOG_LEVEL_INFO, keep, &seen);
  mica__log(MICA_LOG_LEVEL_DEBUG, "not wanted");
  ck_assert_int_eq(seen.count, 0);
  ck_assert(!mica__log_wanted(MICA_LOG_LEVEL_DEBUG));
  mica__log(MICA_LOG_LEVEL_INFO, "%d pieces", 3);
  ck_assert_int_eq(seen.count, 1);
  ck_assert_int_eq(seen.level, MICA_LOG_LEVEL_INFO);
  ck_assert_str_eq(seen.last, "3 pieces");
  mica__log(MICA_LOG_LEVEL_ERROR, "worse");
  ck_assert_int_eq(seen.count, 2);
  mica_log_set(MICA_LOG_LEVEL_DEBUG, NULL, NULL);
  mica__log(MICA_LOG_LEVEL_ERROR, "nobody hears");
  ck_assert(!mica__log_wanted(MICA_LOG_LEVEL_ERROR));
  ck_assert_int_eq(seen.count, 2);
}
END_TEST

START_TEST(a_log_message_is_one_line) {
  lines seen = {0};
  mica_log_set(MICA_LOG_LEVEL_DEBUG, keep, &seen);
  mica__log(MICA_LOG_LEVEL_DEBUG, "a driver\nsays %s", "this\nand that\n");
  mica_log_set(MICA_LOG_LEVEL_DEBUG, NULL, NULL);
  ck_assert_str_eq(seen.last, "a driver says this and that ");
}
END_TEST

/* Never from two threads at once: the callback needs no lock for what it keeps. */
static void *log_much(void *unused) {
  for (int i = 0; i < 2000; i++) mica__log(MICA_LOG_LEVEL_WARNING, "line %d", i);
  return unused;
}

START_TEST(the_log_is_never_called_twice_at_once) {
  lines seen = {0};
  pthread_t threads[4];
  mica_log_set(MICA_LOG_LEVEL_WARNING, keep, &seen);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, log_much, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  mica_log_set(MICA_LOG_LEVEL_WARNING, NULL, NULL);
  ck_assert_int_eq(seen.count, 8000);
}
END_TEST

START_TEST(the_version_is_that_of_the_headers) {
  char expected[64];
  snprintf(expected, sizeof expected, "%d.%d.%d", MICA_VERSION_MAJOR, MICA_VERSION_MINOR, MICA_VERSION_PATCH);
  ck_assert_str_eq(mica_version(), MICA_VERSION_STRING);
  ck_assert_str_eq(mica_version(), expected);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, every_status_has_a_name_and_a_meaning, a_failure_leaves_its_sentence,
      a_missing_library_is_named_with_its_option, a_long_sentence_is_cut, an_attempt_is_private, attempts_nest,
      each_thread_has_its_own_sentence, failures_are_passed_on, the_version_is_that_of_the_headers,
      the_log_respects_its_level, a_log_message_is_one_line, the_log_is_never_called_twice_at_once)
