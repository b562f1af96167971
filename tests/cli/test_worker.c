/* labels: null single
 *
 * A worker process that crashes, hangs or talks nonsense costs its candidate, not the tuning. The worker here is this
 * program itself, started again by cli/worker.c as the command would start itself. */
#include "cli/worker.c"

#include "support/check_main.h"

#include <signal.h>

/* Writes an answer that takes 4 seconds, a byte every 0.1 seconds. */
static void drip(void) {
  for (int i = 0; i < 40; i++) {
    const struct timespec pause = {.tv_nsec = 100000000};
    if (write(STDOUT_FILENO, i < 39 ? "0" : "\n", 1) != 1) exit(0);
    nanosleep(&pause, NULL);
  }
}

/* Does to itself what the candidate's name asks for. */
static void misbehave(void) {
  char request[LINE_BYTES];
  while (fgets(request, sizeof request, stdin)) {
    if (strstr(request, "\tcrash\t")) raise(SIGKILL);
    if (strstr(request, "\thang\t")) pause();
    if (strstr(request, "\tquit\t")) exit(3);
    if (strstr(request, "\tdrip\t")) drip();
    if (strstr(request, "\twrong\t"))
      puts("wrong element 3 is 0");
    else if (strstr(request, "\tlame\t"))
      puts("not it does not build");
    else
      puts("ok 0.25");
    fflush(stdout);
  }
  exit(0);
}

/* True if this program was started as the command starts a worker: "mica tune --worker ...". */
static bool started_as_worker(void) {
  char words[256] = "";
  FILE *file = fopen("/proc/self/cmdline", "r");
  if (!file) return false;
  size_t n = fread(words, 1, sizeof words - 1, file);
  fclose(file);
  return n > strlen(words) + 1 && !strcmp(words + strlen(words) + 1, "tune");
}

/* Before main, which would take the worker's words for the name of a case. */
__attribute__((constructor)) static void become_worker(void) {
  if (started_as_worker()) misbehave();
}

static cli_worker worker;
static double seconds;
static char reason[256];

static cli_measured measure_it(const char *candidate, double limit) {
  return cli_worker_measure(&worker, "gemm 1,1,1", candidate, 0, limit, &seconds, reason);
}

START_TEST(answers_are_read) {
  ck_assert_int_eq(measure_it("good", 20), CLI_MEASURED);
  ck_assert_double_eq(seconds, 0.25);
  ck_assert_int_eq(measure_it("wrong", 20), CLI_MEASURED_WRONG);
  ck_assert_str_eq(reason, "element 3 is 0");
  ck_assert_int_eq(measure_it("lame", 20), CLI_MEASURED_NOT);
  ck_assert_str_eq(reason, "it does not build");
  cli_worker_stop(&worker);
  ck_assert_int_eq(worker.process, 0);
}
END_TEST

START_TEST(its_death_is_survived) {
  ck_assert_int_eq(measure_it("crash", 20), CLI_MEASURED_WRONG);
  ck_assert_ptr_nonnull(strstr(reason, "signal 9"));
  ck_assert_int_eq(measure_it("good", 20), CLI_MEASURED);
  ck_assert_int_eq(measure_it("quit", 20), CLI_MEASURED_WRONG);
  ck_assert_ptr_nonnull(strstr(reason, "status 3"));
  ck_assert_int_eq(measure_it("hang", 0.2), CLI_MEASURED_WRONG);
  ck_assert_ptr_nonnull(strstr(reason, "did not end"));
  ck_assert_int_eq(measure_it("good", 20), CLI_MEASURED);
  cli_worker_stop(&worker);
}
END_TEST

/* The limit holds for the whole answer, not for each of its bytes. */
START_TEST(slow_answers_are_not_awaited) {
  ck_assert_int_eq(measure_it("drip", 1), CLI_MEASURED_WRONG);
  ck_assert_ptr_nonnull(strstr(reason, "did not end"));
  ck_assert_int_eq(measure_it("good", 20), CLI_MEASURED);
  cli_worker_stop(&worker);
}
END_TEST

static void ignore_pipes(void) { signal(SIGPIPE, SIG_IGN); }

TESTS(ANYWHERE, ignore_pipes, NULL, answers_are_read, its_death_is_survived, slow_answers_are_not_awaited)
