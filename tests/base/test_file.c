/* labels: null
 *
 * Files that are written through: pipes with a reader, without one, and with one that goes away. */
#include "base/file.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *make_pipe(void) {
  const char *path = files_path("pipe");
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  return path;
}

static mica_status put(const char *path, const char *text, size_t bytes) {
  return mica__file_replace(path, &(mica__bytes){text, bytes}, 1);
}

START_TEST(a_pipe_is_written) {
  const char *path = make_pipe();
  char got[8] = "";
  const int reader = open(path, O_RDONLY | O_NONBLOCK);
  ck_assert_int_ge(reader, 0);
  ck_ok(put(path, "text", 4));
  ck_assert_int_eq(read(reader, got, sizeof got), 4);
  ck_assert_str_eq(got, "text");
  close(reader);
  struct stat about;
  ck_assert_int_eq(stat(path, &about), 0);
  ck_assert(S_ISFIFO(about.st_mode));
  files_remove();
}
END_TEST

START_TEST(a_pipe_without_a_reader_is_not_waited_for) {
  const char *path = make_pipe();
  ck_assert_int_eq(put(path, "text", 4), MICA_E_IO);
  ck_assert_msg(strstr(mica_error_message(), path), "%s", mica_error_message());
  files_remove();
}
END_TEST

/* Reads a little of what is written, and goes. */
static void *read_some(void *reader) {
  char some[16];
  const int file = *(int *)reader;
  while (read(file, some, sizeof some) <= 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  close(file);
  return NULL;
}

START_TEST(a_reader_that_goes_ends_no_process) {
  const size_t bytes = 1 << 22; /* more than a pipe holds */
  const char *path = make_pipe();
  char *much = calloc(1, bytes);
  pthread_t thread;
  sigset_t set;
  ck_assert_ptr_nonnull(much);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  ck_assert_int_ge(reader, 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, read_some, &reader), 0);
  ck_assert_int_eq(put(path, much, bytes), MICA_E_IO);
  ck_assert_msg(strstr(mica_error_message(), strerror(EPIPE)), "%s", mica_error_message());
  pthread_join(thread, NULL);
  /* Nothing of it is left in the thread. */
  ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
  ck_assert_int_eq(sigismember(&set, SIGPIPE), 0);
  ck_assert_int_eq(sigpending(&set), 0);
  ck_assert_int_eq(sigismember(&set, SIGPIPE), 0);
  free(much);
  files_remove();
}
END_TEST

Suite *test_suite(void) {
  Suite *suite = suite_create("file");
  TCase *pipes = tcase_create("pipes");
  tcase_add_test(pipes, a_pipe_is_written);
  tcase_add_test(pipes, a_pipe_without_a_reader_is_not_waited_for);
  tcase_add_test(pipes, a_reader_that_goes_ends_no_process);
  suite_add_tcase(suite, pipes);
  return suite;
}
