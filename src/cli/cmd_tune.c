#include "cli/command.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/terminal.h"
#include "cli/worker.h"

#include <errno.h>
#include <mica/tune.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct values {
  const char *op;
  const char *shapes;
  const char *shape;
  const char *budget;
  const char *device;
  bool json;
  bool worker;
};

static const cli_option options[] = {
    CLI_ROW("OP", struct values, op, .role = CLI_OPTIONAL_OPERAND, .help = "op to tune (default: list the ops)"),
    CLI_ROW("shapes", struct values, shapes, .value = "FILE",
            .help =
                "file of shapes to tune, one per line as in --shape; - for standard input (default: common shapes)"),
    CLI_ROW("shape", struct values, shape, .value = "SHAPE",
            .help = "shape to tune, as in 512,512,512 for gemm; mica tune without OP shows the form for each op "
                    "(default: common shapes)"),
    CLI_ROW("budget", struct values, budget, .value = "SECONDS", .help = "time for all shapes together (default 60)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    CLI_ROW("worker", struct values, worker, .hidden = true,
            .help = "for mica's own use: measure the candidates that standard input names; tune starts such processes"),
    {0},
};

#define DEFAULT_BUDGET 60.0
#define MEASURE_SECONDS 0.05
/* A candidate that takes longer than this, including compilation, counts as hanging. */
#define HANG_SECONDS 60.0

typedef struct result {
  size_t best, measured, wrong;
  double first_seconds, best_seconds; /* of the default choice and of the best one; 0: none */
} result;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rate(const mica_tuner *tuner, double seconds) {
  return seconds > 0 ? mica_tuner_flops(tuner) / seconds * 1e-9 : 0;
}

/* Measures candidates, beginning with number `from`, and starts none after the deadline. Wrong ones are put in
 * quarantine. */
static void measure_from(mica_tuner *tuner, cli_worker *worker, const char *problem, size_t from, double deadline,
                         result *r) {
  for (size_t i = from; i < mica_tuner_count(tuner) && now() < deadline; i++) {
    double seconds = 0;
    char reason[256] = "";
    cli_progress("%s: %zu of %zu, best %.1f GFLOP/s", problem, i + 1, mica_tuner_count(tuner),
                 rate(tuner, r->best_seconds));
    cli_measured how = cli_worker_measure(worker, problem, mica_tuner_candidate(tuner, i), MEASURE_SECONDS,
                                          HANG_SECONDS, &seconds, reason);
    if (how == CLI_MEASURED_WRONG) {
      r->wrong++;
      cli_progress_end();
      fprintf(stderr, "%s: %s fails on this device and is put in quarantine: %s\n", problem,
              mica_tuner_candidate(tuner, i), reason);
      if (mica_tuner_quarantine(tuner, i, reason) != MICA_OK)
        fprintf(stderr, "%s: the quarantine cannot be saved for later processes: %s\n", problem, mica_error_message());
    }
    if (how != CLI_MEASURED) continue;
    r->measured++;
    if (i == 0) r->first_seconds = seconds;
    if (r->best_seconds == 0 || seconds < r->best_seconds) {
      r->best_seconds = seconds;
      r->best = i;
    }
  }
}

/* Measures the tuner's initial candidates, then those that differ from the best one in one parameter. Repeats the
 * second step while it finds a better candidate and time is left. */
static result search(mica_tuner *tuner, cli_worker *worker, const char *problem, double deadline) {
  result r = {0};
  size_t from = 0, widened = (size_t)-1;
  do {
    measure_from(tuner, worker, problem, from, deadline, &r);
    from = mica_tuner_count(tuner);
    if (r.best_seconds == 0 || r.best == widened || mica_tuner_widen(tuner, r.best) != MICA_OK) break;
    widened = r.best;
  } while (from < mica_tuner_count(tuner) && now() < deadline);
  cli_progress_end();
  return r;
}

static void report(const mica_tuner *tuner, const result *r, cli_json *json, cJSON *shapes) {
  const char *candidate = mica_tuner_candidate(tuner, r->best);
  if (!json) {
    printf("%-40s %9.1f  %9.1f  %s\n", mica_tuner_key(tuner), rate(tuner, r->first_seconds),
           rate(tuner, r->best_seconds), candidate);
    fflush(stdout);
    return;
  }
  cJSON *row = cli_json_object(json, shapes, NULL);
  cli_json_text(json, row, "problem", mica_tuner_key(tuner));
  cli_json_text(json, row, "best", candidate);
  cli_json_real(json, row, "gflops", rate(tuner, r->best_seconds));
  cli_json_real(json, row, "default_gflops", rate(tuner, r->first_seconds));
  cli_json_integer(json, row, "measured", r->measured);
  cli_json_integer(json, row, "wrong", r->wrong);
}

typedef struct job {
  const cli_command *self;
  mica_engine *engine;
  cli_worker *worker;
  cli_json *json; /* NULL without --json */
  cJSON *rows;
} job;

/* Shapes to tune. If they come from a file: also its name and the line number of each. */
typedef struct shape_list {
  const char *const *texts;
  const size_t *lines; /* of the file; NULL without one */
  const char *file;
  size_t count;
} shape_list;

static int fail_shape(const job *j, const shape_list *shapes, size_t i) {
  if (!shapes->lines) return cli_fail_library(j->self);
  return cli_fail(j->self, "%s line %zu: %s", shapes->file, shapes->lines[i], mica_error_message());
}

/* Tunes one shape; starts no candidate after `budget` seconds. Sets *wrong to true if the text is not a shape. Returns
 * an exit status. */
static int tune_shape(const job *j, const char *op, const shape_list *shapes, size_t i, double budget, bool *wrong) {
  char problem[256];
  mica_tuner *tuner = NULL;
  snprintf(problem, sizeof problem, "%s %s", op, shapes->texts[i]);
  if (mica_tuner_create(j->engine, problem, &tuner) != MICA_OK) {
    *wrong = mica_error_status() == MICA_E_FORMAT;
    return fail_shape(j, shapes, i);
  }
  result r = search(tuner, j->worker, problem, now() + budget);
  int status = CLI_OK;
  if (r.best_seconds > 0) {
    report(tuner, &r, j->json, j->rows);
    if (mica_tuner_keep(tuner, r.best, r.best_seconds) != MICA_OK) status = cli_fail_library(j->self);
  } else {
    status = cli_fail(j->self, "%s: no candidate could be measured within the budget on this device", problem);
  }
  mica_tuner_destroy(tuner);
  return status;
}

/* The shapes in a file, one per line, without empty lines and comments. */
typedef struct shape_file {
  char **texts;
  size_t *lines, count;
} shape_file;

static bool add_shape(shape_file *to, const char *text, size_t line) {
  char **texts = realloc(to->texts, (to->count + 1) * sizeof *texts);
  if (texts) to->texts = texts;
  size_t *lines = texts ? realloc(to->lines, (to->count + 1) * sizeof *lines) : NULL;
  if (lines) to->lines = lines;
  char *copy = lines ? malloc(strlen(text) + 1) : NULL;
  if (!copy) return false;
  lines[to->count] = line;
  texts[to->count++] = strcpy(copy, text);
  return true;
}

/* Reads the first word of each line of a file, or of standard input for "-"; "#" begins a comment. Returns 0, or an
 * errno if the file cannot be read or memory is short. */
static int read_shapes(const char *path, shape_file *shapes) {
  FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
  char *line = NULL;
  size_t room = 0;
  int error = file ? 0 : errno;
  for (size_t number = 1; !error && getline(&line, &room, file) >= 0; number++) {
    line[strcspn(line, "#\r\n")] = '\0';
    char *word = line + strspn(line, " \t");
    word[strcspn(word, " \t")] = '\0';
    if (*word && !add_shape(shapes, word, number)) error = ENOMEM;
  }
  if (!error && !feof(file)) error = errno ? errno : EIO;
  free(line);
  if (file && file != stdin) fclose(file);
  return error;
}

/* Tunes all shapes. Stops at a line of a file that is not a shape: the others are probably not shapes either. */
static int tune_all(const job *j, const char *op, const shape_list *shapes, double budget) {
  double end = now() + budget;
  int status = CLI_OK;
  bool wrong = false;
  if (!j->json) printf("%-40s %9s  %9s  %s\n", "problem", "default", "GFLOP/s", "best");
  for (size_t i = 0; i < shapes->count && !wrong; i++) {
    /* Time that a shape does not use is divided among the later ones. */
    double left = end - now();
    left = (left > 0 ? left : 0) / (double)(shapes->count - i) + MEASURE_SECONDS;
    int one = tune_shape(j, op, shapes, i, left, &wrong);
    if (one != CLI_OK) status = one;
  }
  return status;
}

static int tune_file(const job *j, const mica_tunable *tunable, const char *path, double budget) {
  shape_file read = {0};
  const char *name = strcmp(path, "-") ? path : "standard input";
  int status;
  const int error = read_shapes(path, &read);
  if (error)
    status = cli_fail(j->self, "cannot read %s: %s", name, strerror(error));
  else if (!read.count)
    status = cli_fail(j->self, "%s has no shapes; write one per line, as %s", name, tunable->syntax);
  else
    status =
        tune_all(j, tunable->op, &(shape_list){(const char *const *)read.texts, read.lines, name, read.count}, budget);
  for (size_t i = 0; i < read.count; i++) free(read.texts[i]);
  free(read.texts);
  free(read.lines);
  return status;
}

static size_t count_of(const char *const *texts) {
  size_t count = 0;
  while (texts[count]) count++;
  return count;
}

static int tune(const cli_command *self, const struct values *values, const mica_tunable *tunable, mica_engine *engine,
                double budget) {
  cli_worker worker = {.device = values->device};
  cli_json json = {0};
  job j = {.self = self, .engine = engine, .worker = &worker, .json = values->json ? &json : NULL};
  if (values->json) {
    cli_json_begin(&json);
    j.rows = cli_json_array(&json, json.root, "problems");
  }
  int status;
  if (values->shapes)
    status = tune_file(&j, tunable, values->shapes, budget);
  else if (values->shape)
    status = tune_all(&j, tunable->op, &(shape_list){.texts = &values->shape, .count = 1}, budget);
  else
    status = tune_all(&j, tunable->op, &(shape_list){.texts = tunable->problems, .count = count_of(tunable->problems)},
                      budget);
  cli_worker_stop(&worker);
  if (values->json) {
    int printed = cli_json_print(&json, self);
    if (status == CLI_OK) status = printed;
  } else if (status == CLI_OK && *mica_engine_cache_dir(engine)) {
    printf("kept in %s\n", mica_engine_cache_dir(engine));
  }
  if (status == CLI_OK && !*mica_engine_cache_dir(engine))
    fprintf(stderr, "mica tune: nothing is kept, for there is no cache directory (MICA_CACHE_DIR is empty)\n");
  return status;
}

static int list_ops(bool json_wanted, const cli_command *self) {
  mica_tunable tunable;
  cli_json json = {0};
  cJSON *rows = NULL;
  if (json_wanted) {
    cli_json_begin(&json);
    rows = cli_json_array(&json, json.root, "ops");
  }
  for (size_t i = 0; mica_tunable_get(i, &tunable); i++) {
    if (!json_wanted) {
      printf("%-8s %s: %s\n", tunable.op, tunable.summary, tunable.syntax);
      continue;
    }
    cJSON *row = cli_json_object(&json, rows, NULL);
    cli_json_text(&json, row, "op", tunable.op);
    cli_json_text(&json, row, "summary", tunable.summary);
    cli_json_text(&json, row, "syntax", tunable.syntax);
  }
  return json_wanted ? cli_json_print(&json, self) : CLI_OK;
}

static bool find_op(const char *name, mica_tunable *tunable) {
  for (size_t i = 0; mica_tunable_get(i, tunable); i++)
    if (!strcmp(tunable->op, name)) return true;
  return false;
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  mica_tunable tunable = {0};
  const char *lost = values->shapes ? "shapes" : values->shape ? "shape" : values->budget ? "budget" : NULL;
  if (!lost && values->device && !values->worker) lost = "device";
  if (!values->op && !values->worker && lost) {
    cli_fail(self, "--%s is for an op to tune, but no op is named; mica tune lists the ops", lost);
    return CLI_USAGE;
  }
  if (values->shapes && values->shape) {
    cli_fail(self, "give --shapes or --shape, not both");
    return CLI_USAGE;
  }
  if (!values->op && !values->worker) return list_ops(values->json, self);
  if (values->op && !find_op(values->op, &tunable)) {
    cli_fail(self, "%s cannot be tuned; mica tune lists what can", values->op);
    return CLI_USAGE;
  }
  double budget = DEFAULT_BUDGET;
  if (cli_number(self, "budget", values->budget, 1e-3, 1e6, &budget) != CLI_OK) return CLI_USAGE;
  if (cli_refuse_null(self, values->device) != CLI_OK) return CLI_USAGE;
  /* A write to a worker that has died must fail instead of ending this process. */
  signal(SIGPIPE, SIG_IGN);
  mica_engine_config config = mica_engine_config_default();
  config.device = values->device;
  mica_engine *engine = NULL;
  if (mica_engine_create(&config, &engine) != MICA_OK) return cli_fail_library(self);
  int status = values->worker ? cli_worker_serve(self, engine) : tune(self, values, &tunable, engine, budget);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_tune = {
    .name = "tune",
    .summary = "find the fastest kernels for the shapes in use",
    .details = "\nEvery candidate runs in a process of its own, and is compared with a reference\n"
               "before it is timed. A candidate that is wrong, hangs or crashes is not used on\n"
               "this device again. The fastest candidates are stored in the cache folder, where\n"
               "every program on this machine finds them. Without shapes, common shapes are\n"
               "tuned; without an op, the ops are listed.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
