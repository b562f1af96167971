/* labels: null
 *
 * Files that are written through: pipes with a reader, without one, and with one that goes away; files by one of some
 * names. */
#include "base/file.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
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

/* The first name that there is in a folder, or beside a file, which is not found itself, nor are folders. */
START_TEST(a_file_is_found_by_its_names) {
  static const char *const names[] = {"none.csv", "folder", "ratings.csv", "items.csv", NULL}, *const none[] = {NULL};
  mica__text path = {0};
  char ratings[4096];
  files_write_text("ratings.csv", "");
  files_write_text("items.csv", "");
  ck_assert_int_eq(mkdir(files_path("folder"), 0700), 0);
  snprintf(ratings, sizeof ratings, "%s/ratings.csv", files_folder());
  ck_assert(mica__file_find(files_folder(), names, &path));
  ck_assert_str_eq(path.data, ratings);
  ck_assert(mica__file_find(ratings, names, &path));
  ck_assert_str_eq(path.data, files_path("items.csv"));
  ck_assert(!mica__file_find(files_folder(), none, &path));
  ck_assert(!mica__file_find(files_path("no"), names, &path));
  ck_assert_int_eq(chdir(files_folder()), 0);
  ck_assert(mica__file_find("items.csv", names, &path));
  ck_assert_str_eq(path.data, "ratings.csv");
  ck_assert_int_eq(chdir("/"), 0);
  mica__text_free(&path);
  files_remove();
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, a_pipe_is_written, a_pipe_without_a_reader_is_not_waited_for,
      a_reader_that_goes_ends_no_process, a_file_is_found_by_its_names)
