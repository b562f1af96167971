#include "cli/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A request is "PROBLEM\tCANDIDATE\tBUDGET\n". An answer is one of
 *
 *   ok SECONDS     the measured time
 *   wrong REASON   the result is wrong, or the device reported an error
 *   not REASON     the candidate cannot be measured
 *   lost REASON    the device is lost; the process ends after this answer */
#define LINE_BYTES 1024

static bool start(cli_worker *worker) {
  int in[2], out[2];
  char *words[] = {"mica", "tune", "--worker", worker->device ? "--device" : NULL, (char *)worker->device, NULL};
  if (pipe(in)) return false;
  if (pipe(out)) {
    close(in[0]), close(in[1]);
    return false;
  }
  /* The child must not inherit the parent's ends of the pipes, or its input would never end. */
  fcntl(in[1], F_SETFD, FD_CLOEXEC);
  fcntl(out[0], F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  bool started = posix_spawn_file_actions_init(&actions) == 0;
  if (started) {
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, in[0]);
    posix_spawn_file_actions_addclose(&actions, out[1]);
    started = posix_spawn(&worker->process, CLI_ITSELF, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(in[0]);
  close(out[1]);
  worker->to = in[1];
  worker->from = out[0];
  if (!started) {
    close(worker->to), close(worker->from);
    worker->process = 0;
  }
  return started;
}

/* Waits for the process, after killing it if asked; returns waitpid's status. */
static int reap(cli_worker *worker, bool murder) {
  int how = 0;
  if (murder) kill(worker->process, SIGKILL);
  close(worker->to);
  close(worker->from);
  while (waitpid(worker->process, &how, 0) < 0 && errno == EINTR) continue;
  worker->process = 0;
  return how;
}

void cli_worker_stop(cli_worker *worker) {
  if (worker->process) reap(worker, false);
}

static bool send_line(int file, const char *line) {
  for (size_t n = strlen(line); n > 0;) {
    ssize_t put = write(file, line, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    line += put;
    n -= (size_t)put;
  }
  return true;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Receives a line without its newline. Returns 1; 0 at the end of the stream; -1 if the line is not complete after
 * `seconds`. */
static int receive_line(int file, double seconds, char line[LINE_BYTES]) {
  const double end = now() + seconds;
  size_t n = 0;
  while (n + 1 < LINE_BYTES) {
    struct pollfd wanted = {.fd = file, .events = POLLIN};
    const double left = fmin(fmax(end - now(), 0), INT_MAX / 1000);
    int ready = poll(&wanted, 1, (int)ceil(left * 1e3));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || (ready == 0 && now() >= end)) return -1;
    if (ready == 0) continue;
    ssize_t got = read(file, line + n, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    if (line[n] == '\n') break;
    n++;
  }
  line[n] = '\0';
  return 1;
}

static cli_measured read_answer(const char *line, double *seconds, char reason[256]) {
  if (sscanf(line, "ok %lf", seconds) == 1) return CLI_MEASURED;
  const char *text = strchr(line, ' ');
  snprintf(reason, 256, "%s", text ? text + 1 : line);
  return strncmp(line, "wrong", 5) == 0 || strncmp(line, "lost", 4) == 0 ? CLI_MEASURED_WRONG : CLI_MEASURED_NOT;
}

cli_measured cli_worker_measure(cli_worker *worker, const char *problem, const char *candidate, double budget,
                                double limit, double *seconds, char reason[256]) {
  char line[LINE_BYTES];
  if (!worker->process && !start(worker)) {
    snprintf(reason, 256, "no process could be started for the measurement: %s", strerror(errno));
    return CLI_MEASURED_NOT;
  }
  int n = snprintf(line, sizeof line, "%s\t%s\t%.9g\n", problem, candidate, budget);
  int got = n > 0 && (size_t)n < sizeof line && send_line(worker->to, line)
                ? receive_line(worker->from, budget + limit, line)
                : 0;
  if (got > 0 && strncmp(line, "lost", 4) == 0) (void)reap(worker, false);
  if (got > 0) return read_answer(line, seconds, reason);
  int how = reap(worker, got < 0);
  if (got < 0)
    snprintf(reason, 256, "it did not end within %.0f seconds", budget + limit);
  else if (WIFSIGNALED(how))
    snprintf(reason, 256, "signal %d ended its process", WTERMSIG(how));
  else
    snprintf(reason, 256, "its process ended with status %d", WEXITSTATUS(how));
  return CLI_MEASURED_WRONG;
}

/* Answers with the first line of the library's message, because an answer is one line. */
static void answer_failure(mica_status status) {
  char line[256];
  snprintf(line, sizeof line, "%s", mica_error_message());
  line[strcspn(line, "\n")] = '\0';
  bool wrong = status == MICA_E_NUMERIC || status == MICA_E_DEVICE;
  printf("%s %s\n", wrong ? "wrong" : status == MICA_E_DEVICE_LOST ? "lost" : "not", line);
}

static mica_status measure(mica_engine *engine, mica_tuner **tuner, char problem[LINE_BYTES], char *request,
                           double *seconds) {
  char *candidate = strchr(request, '\t'), *budget = candidate ? strchr(candidate + 1, '\t') : NULL;
  if (!budget) return MICA_E_FORMAT;
  *candidate++ = '\0';
  *budget++ = '\0';
  if (strcmp(problem, request) != 0) {
    mica_tuner_destroy(*tuner);
    *tuner = NULL;
    problem[0] = '\0';
    mica_status status = mica_tuner_create(engine, request, tuner);
    if (status != MICA_OK) return status;
    strcpy(problem, request);
  }
  size_t index = 0;
  mica_status status = mica_tuner_add(*tuner, candidate, &index);
  return status == MICA_OK ? mica_tuner_measure(*tuner, index, strtod(budget, NULL), seconds) : status;
}

int cli_worker_serve(const cli_command *self, mica_engine *engine) {
  (void)self;
  char request[LINE_BYTES], problem[LINE_BYTES] = "";
  mica_tuner *tuner = NULL;
  mica_status status = MICA_OK;
  while (status != MICA_E_DEVICE_LOST && fgets(request, sizeof request, stdin)) {
    double seconds = 0;
    status = measure(engine, &tuner, problem, request, &seconds);
    if (status == MICA_OK)
      printf("ok %.9g\n", seconds);
    else
      answer_failure(status);
    fflush(stdout);
  }
  mica_tuner_destroy(tuner);
  return CLI_OK;
}
