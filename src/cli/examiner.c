#include "cli/examiner.h"

#include "cli/json.h"
#include "ops/select/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A request is one line of JSON: "word", the index of the command-line argument to begin with; "op", the index of the
 * op to begin with; and "ends", the positions at which the driver ended earlier processes, at most MOST_ENDS. A
 * position (mica__doctor_position) names the op, the kernel and the cases that are being examined.
 *
 * The answer has one line of JSON for the device, one for each new position, one for each line of the report, and the
 * line "end". If "end" is missing, the driver or a signal ended the process. */
#define MOST_ENDS 32

typedef struct process {
  pid_t id;
  FILE *from;      /* the process's standard output */
  FILE *words;     /* its standard error; NULL: inherited */
  off_t passed_on; /* bytes of its standard error that were passed on */
  off_t said;      /* size of its standard error when it reported its last position */
} process;

typedef struct follower {
  cli_examination *e;
  process child;
  size_t word, position_word;
  mica__doctor_position position;
  mica__doctor_end ends[MOST_ENDS];
  size_t end_count, first_op;
  /* told: number of report lines of the current op that this process has sent. known: number of such lines that earlier
   * processes sent; they are not passed on again. */
  size_t told, known;
  mica_stats stats; /* the child's */
  bool begun, has_position, complete, healthy;
} follower;

/* --- the process --- */

static bool spawn(process *child, const cli_examination *e, int in, int out) {
  size_t count = 0;
  char **words = calloc(e->ops->count + 6, sizeof *words);
  if (!words) return false;
  words[count++] = "mica";
  words[count++] = "doctor";
  words[count++] = "--worker";
  if (e->device) {
    words[count++] = "--device";
    words[count++] = (char *)e->device;
  }
  for (size_t i = 0; i < e->ops->count; i++) words[count++] = e->ops->words[i];
  posix_spawn_file_actions_t actions;
  bool started = posix_spawn_file_actions_init(&actions) == 0;
  if (started) {
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (child->words) posix_spawn_file_actions_adddup2(&actions, fileno(child->words), STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, in);
    posix_spawn_file_actions_addclose(&actions, out);
    started = posix_spawn(&child->id, CLI_ITSELF, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  free(words);
  return started;
}

static void close_process(process *child) {
  if (child->from) fclose(child->from);
  if (child->words) fclose(child->words);
}

static bool start(process *child, const cli_examination *e, const char *request) {
  int in[2], out[2];
  *child = (process){.words = tmpfile()};
  if (pipe(in)) return false;
  if (pipe(out)) {
    close(in[0]), close(in[1]);
    return false;
  }
  /* Writes the request before the process is started, while this process still holds the reading end. If the new
   * process ended at once, writing to it would raise SIGPIPE. The request fits into the pipe's buffer. */
  const ssize_t length = (ssize_t)strlen(request);
  bool started = write(in[1], request, (size_t)length) == length && write(in[1], "\n", 1) == 1;
  close(in[1]);
  fcntl(out[0], F_SETFD, FD_CLOEXEC);
  if (child->words) fcntl(fileno(child->words), F_SETFD, FD_CLOEXEC);
  started = started && (child->from = fdopen(out[0], "r"));
  started = started && spawn(child, e, in[0], out[1]);
  if (!child->from) close(out[0]);
  close(in[0]), close(out[1]);
  return started;
}

/* Passes on what the child has written to its standard error. */
static void pass_on(process *child) {
  char text[512];
  for (ssize_t got; child->words && (got = pread(fileno(child->words), text, sizeof text, child->passed_on)) > 0;) {
    fwrite(text, 1, (size_t)got, stderr);
    child->passed_on += got;
  }
}

/* Copies the first line that the child has written to its standard error since its last position; "" if there is
 * none. */
static void find_words(const process *child, char words[256]) {
  ssize_t got = child->words ? pread(fileno(child->words), words, 255, child->said) : 0;
  words[got > 0 ? got : 0] = '\0';
  memmove(words, words + strspn(words, "\n"), strlen(words + strspn(words, "\n")) + 1);
  words[strcspn(words, "\n")] = '\0';
}

/* --- answers of the process --- */

static const char *text_of(const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return text ? text : "";
}

static size_t count_of(const cJSON *object, const char *key) {
  const double value = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return value > 0 ? (size_t)value : 0;
}

#define COPY_TEXT(to, object, key) snprintf(to, sizeof(to), "%s", text_of(object, key))

static void take_device(follower *f, const cJSON *device) {
  mica_device_info info = {.id = ""};
  COPY_TEXT(info.id, device, "id");
  COPY_TEXT(info.name, device, "name");
  COPY_TEXT(info.platform, device, "platform");
  COPY_TEXT(info.driver, device, "driver");
  if (!f->begun) f->e->begin(f->e->user, &info);
  f->begun = true;
}

static void take_position(follower *f, const cJSON *at) {
  const mica__doctor_position before = f->position;
  const size_t word = f->position_word;
  f->position_word = count_of(at, "word");
  f->position.op = count_of(at, "op");
  COPY_TEXT(f->position.group, at, "group");
  COPY_TEXT(f->position.kernel, at, "kernel");
  COPY_TEXT(f->position.variant, at, "variant");
  if (f->has_position && (before.op != f->position.op || word != f->position_word)) f->told = f->known = 0;
  f->has_position = true;
  f->child.said = (off_t)count_of(at, "said");
}

static void pass_line(follower *f, const mica_doctor_line *line) {
  mica_doctor_summary *all = &f->e->summary;
  if (++f->told <= f->known) return;
  ++*(line->status == MICA_OK ? &all->passed : line->status == MICA_E_UNSUPPORTED ? &all->skipped : &all->failed);
  f->e->line(f->e->user, line);
}

static void take_line(follower *f, const cJSON *line) {
  const cJSON *worst = cJSON_GetObjectItemCaseSensitive(line, "worst");
  const cJSON *status = cJSON_GetObjectItemCaseSensitive(line, "status");
  pass_line(f, &(mica_doctor_line){.op = text_of(line, "op"),
                                   .kernel = text_of(line, "kernel"),
                                   .variant = text_of(line, "variant"),
                                   .cases = text_of(line, "cases"),
                                   .status = cJSON_IsNumber(status) ? (mica_status)status->valueint : MICA_E_FORMAT,
                                   .message = text_of(line, "message"),
                                   .worst = cJSON_IsNumber(worst) ? worst->valuedouble : (double)INFINITY});
}

static void take_stats(follower *f, const cJSON *stats) {
#define TAKE_COUNTER(name, text) f->stats.name = count_of(stats, #name);
  MICA_STATS_LIST(TAKE_COUNTER)
#undef TAKE_COUNTER
}

static void take(follower *f, const char *text) {
  cJSON *record = cJSON_Parse(text);
  const cJSON *item = NULL;
  pass_on(&f->child);
  if ((item = cJSON_GetObjectItemCaseSensitive(record, "stats"))) take_stats(f, item);
  if ((item = cJSON_GetObjectItemCaseSensitive(record, "device"))) take_device(f, item);
  if ((item = cJSON_GetObjectItemCaseSensitive(record, "position"))) take_position(f, item);
  if ((item = cJSON_GetObjectItemCaseSensitive(record, "line"))) take_line(f, item);
  if ((item = cJSON_GetObjectItemCaseSensitive(record, "end"))) {
    f->complete = true;
    f->healthy = cJSON_IsTrue(item);
  }
  cJSON_Delete(record);
}

/* --- one process after another --- */

/* Makes the request; NULL: there is not enough memory. Free it with cJSON_free. */
static char *request_of(const follower *f) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_integer(&json, json.root, "word", f->word);
  cli_json_integer(&json, json.root, "op", f->first_op);
  cJSON *ends = cli_json_array(&json, json.root, "ends");
  for (size_t i = 0; i < f->end_count; i++) {
    cJSON *end = cli_json_object(&json, ends, NULL);
    cli_json_text(&json, end, "group", f->ends[i].position.group);
    cli_json_text(&json, end, "kernel", f->ends[i].position.kernel);
    cli_json_text(&json, end, "variant", f->ends[i].position.variant);
    cli_json_text(&json, end, "message", f->ends[i].message);
  }
  char *text = json.failed ? NULL : cJSON_PrintUnformatted(json.root);
  cJSON_Delete(json.root);
  return text;
}

/* Prepares the next process after the driver ended one: adds its last position to f->ends, so that the next process
 * skips that group of cases. If the driver has ended two processes in the same group, or this one outside of a group,
 * reports a failure instead and continues with the next op. Returns false, after a message, if the process ended before
 * its first position or f->ends is full. */
static bool go_on(const cli_command *self, follower *f, const char *how) {
  mica__doctor_end end = {.position = f->position};
  char words[256];
  find_words(&f->child, words);
  snprintf(end.message, sizeof end.message, "the driver ended the process (%s)%s%s", how, *words ? ": " : "", words);
  if (!f->has_position || f->end_count == MOST_ENDS) return cli_fail(self, "%s", end.message), false;
  bool again = !*f->position.group;
  for (size_t i = 0; i < f->end_count; i++) again |= !strcmp(f->ends[i].position.group, f->position.group);
  if (again) {
    f->known = 0;
    pass_line(f, &(mica_doctor_line){.op = f->position.kernel,
                                     .kernel = f->position.kernel,
                                     .variant = f->position.variant,
                                     .cases = "",
                                     .status = MICA_E_BUILD,
                                     .message = end.message});
  } else {
    f->ends[f->end_count++] = end;
  }
  f->word = f->position_word;
  f->first_op = f->position.op + again;
  f->known = again ? 0 : f->told > f->known ? f->told : f->known;
  f->told = 0;
  return true;
}

/* Runs one process. True: another process must follow; else *status is set. */
static bool run_one(const cli_command *self, follower *f, int *status) {
  char *line = NULL, how[64];
  size_t room = 0;
  int ended = 0;
  *status = CLI_FAILED;
  f->stats = (mica_stats){0};
  char *request = request_of(f);
  const bool started = request && start(&f->child, f->e, request);
  if (!started)
    cli_fail(self, "no process could be started for the examination: %s", strerror(request ? errno : ENOMEM));
  cJSON_free(request);
  if (!started) {
    if (request) close_process(&f->child);
    return false;
  }
  while (getline(&line, &room, f->child.from) > 0) take(f, line);
  free(line);
  while (waitpid(f->child.id, &ended, 0) < 0 && errno == EINTR) continue;
  pass_on(&f->child);
#define ADD_COUNTER(name, text) f->e->stats.name += f->stats.name;
  MICA_STATS_LIST(ADD_COUNTER)
#undef ADD_COUNTER
  const int number = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
  snprintf(how, sizeof how, number ? "signal %d" : "exit status %d", number ? number : WEXITSTATUS(ended));
  const bool stopped = number == SIGINT || number == SIGTERM || number == SIGHUP;
  if (stopped) cli_fail(self, "the examination was stopped");
  const bool more = !f->complete && !stopped && go_on(self, f, how);
  close_process(&f->child);
  if (f->complete && f->healthy) *status = CLI_OK;
  return more;
}

int cli_examine(const cli_command *self, cli_examination *e) {
  follower *f = calloc(1, sizeof *f);
  int status = CLI_FAILED;
  if (!f) return cli_fail(self, "there is not enough memory for an examination");
  f->e = e;
  while (run_one(self, f, &status)) continue;
  free(f);
  return status;
}

/* --- the process that examines --- */

typedef struct teller {
  const cli_command *self;
  mica_engine *engine;
  size_t word;
} teller;

static void add_stats(cli_json *json, const mica_engine *engine) {
  const mica_stats stats = mica_engine_stats(engine);
  cJSON *object = cli_json_object(json, json->root, "stats");
#define WRITE_COUNTER(name, text) cli_json_integer(json, object, #name, stats.name);
  MICA_STATS_LIST(WRITE_COUNTER)
#undef WRITE_COUNTER
}

static void print_record(cli_json *json, const cli_command *self) {
  cli_json_print_line(json, self);
  fflush(stdout);
}

static void tell_position(void *user, const mica__doctor_position *position) {
  const teller *t = user;
  cli_json json;
  cli_json_begin(&json);
  cJSON *at = cli_json_object(&json, json.root, "position");
  cli_json_integer(&json, at, "word", t->word);
  cli_json_integer(&json, at, "op", position->op);
  cli_json_text(&json, at, "group", position->group);
  cli_json_text(&json, at, "kernel", position->kernel);
  cli_json_text(&json, at, "variant", position->variant);
  cli_json_real(&json, at, "said", (double)lseek(STDERR_FILENO, 0, SEEK_CUR));
  add_stats(&json, t->engine);
  print_record(&json, t->self);
}

static void tell_line(void *user, const mica_doctor_line *line) {
  const teller *t = user;
  cli_json json;
  cli_json_begin(&json);
  cJSON *to = cli_json_object(&json, json.root, "line");
  cli_json_text(&json, to, "op", line->op);
  cli_json_text(&json, to, "kernel", line->kernel);
  cli_json_text(&json, to, "variant", line->variant);
  cli_json_text(&json, to, "cases", line->cases);
  cli_json_real(&json, to, "status", line->status);
  cli_json_text(&json, to, "message", line->message);
  cli_json_real(&json, to, "worst", line->worst);
  print_record(&json, t->self);
}

static void tell_device(const teller *t) {
  const mica_device_info *info = mica_engine_device(t->engine);
  cli_json json;
  cli_json_begin(&json);
  cJSON *device = cli_json_object(&json, json.root, "device");
  cli_json_text(&json, device, "id", info->id);
  cli_json_text(&json, device, "name", info->name);
  cli_json_text(&json, device, "platform", info->platform);
  cli_json_text(&json, device, "driver", info->driver);
  print_record(&json, t->self);
}

static void tell_end(const teller *t, bool complete) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_bool(&json, json.root, "end", complete);
  if (t->engine) add_stats(&json, t->engine);
  print_record(&json, t->self);
}

/* Reads a request from the first line of standard input into ends and watch. Returns the index of the command-line
 * argument to begin with. */
static size_t read_request(mica__doctor_watch *watch, mica__doctor_end ends[MOST_ENDS]) {
  char *line = NULL;
  size_t room = 0;
  cJSON *request = getline(&line, &room, stdin) > 0 ? cJSON_Parse(line) : NULL;
  const cJSON *end = NULL;
  cJSON_ArrayForEach(end, cJSON_GetObjectItemCaseSensitive(request, "ends")) {
    if (watch->end_count == MOST_ENDS) break;
    mica__doctor_end *to = &ends[watch->end_count++];
    COPY_TEXT(to->position.group, end, "group");
    COPY_TEXT(to->position.kernel, end, "kernel");
    COPY_TEXT(to->position.variant, end, "variant");
    COPY_TEXT(to->message, end, "message");
  }
  const size_t word = count_of(request, "word");
  watch->first_op = count_of(request, "op");
  cJSON_Delete(request);
  free(line);
  return word;
}

int cli_examine_serve(const cli_command *self, const char *device, const cli_words *ops) {
  static mica__doctor_end ends[MOST_ENDS];
  teller t = {.self = self};
  mica__doctor_watch watch = {.ends = ends, .at = tell_position, .user = &t};
  mica_doctor_summary summary = {0};
  mica_engine_config config = mica_engine_config_default();
  config.device = device;
  config.builder = CLI_ITSELF;
  t.word = read_request(&watch, ends);
  mica_status status = mica_engine_create(&config, &t.engine);
  if (status == MICA_OK) tell_device(&t);
  for (bool first = true; status == MICA_OK && (first || t.word < ops->count); t.word++, first = false) {
    const char *op = t.word < ops->count ? ops->words[t.word] : NULL;
    status = mica__doctor_run_watched(t.engine, op, &watch, tell_line, &t, &summary);
    watch.first_op = 0;
  }
  const int ended = status == MICA_OK ? CLI_OK : cli_fail_library(self);
  tell_end(&t, status == MICA_OK);
  mica_engine_destroy(t.engine);
  return ended;
}
