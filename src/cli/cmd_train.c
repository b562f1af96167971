#include "cli/compiling.h"
#include "cli/energy.h"
#include "cli/number.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/report_page.h"
#include "cli/result.h"
#include "cli/speeds.h"
#include "cli/stop.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/train_adapter.h"
#include "cli/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FOLDER "mica-run"

struct values {
  const char *data, *task, *out, *device, *devices, *watchdog, *parallel, *speeds, *lora;
  bool resume, json, quiet, shard, elastic;
  cli_settings settings;
};

static const cli_option options[] = {
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "training data: file, folder or the name fashion-mnist; a layout above, IDX, CIFAR, npy, CSV or "
                    "TSV; JSON lines with --lora (required, except with --resume)"),
    CLI_ROW("task", struct values, task, .value = "NAME", .names = mica_task_name,
            .help = "task to train (default: inferred from the data)"),
    CLI_ROW("out", struct values, out, .value = "DIR", .help = "folder to write (default " DEFAULT_FOLDER ")"),
    CLI_ROW("resume", struct values, resume, .help = "continue the run in the folder --out"),
    CLI_ROW("json", struct values, json, .help = "print a JSON object as the last line: task and metrics"),
    CLI_ROW("quiet", struct values, quiet, .help = "print errors only"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("devices", struct values, devices, .value = "LIST",
            .help = "devices to train on together, one rank each, as in 0:0,1:0, instead of --device; 0:0/2 splits a "
                    "device in two if its driver allows it, as drivers of CPUs do (default: one device)"),
    CLI_ROW("parallel", struct values, parallel, .value = "LIST",
            .help = "how ranks share work: data=N replicas, pipe=N pipeline stages, tensor=N parts of each layer; "
                    "micro=N micro-batches per batch; order=1f1b or order=gpipe; as in data=2,pipe=2,micro=8 (default: "
                    "all ranks are replicas; with pipe up to two micro-batches per stage, in the order 1f1b)"),
    CLI_ROW("shard", struct values, shard, .help = "divide the optimizer's state among the replicas of --parallel"),
    CLI_ROW("speeds", struct values, speeds, .value = "LIST",
            .help = "relative speeds of the ranks, by which batches are divided, as in 3,1 (default: measured if "
                    "devices differ, else equal)"),
    CLI_ROW("elastic", struct values, elastic,
            .help = "start or continue with the devices that are available, and drop devices that fail"),
    CLI_ROW("lora", struct values, lora, .value = "LIST", .help = CLI_LORA_HELP),
    CLI_ROW("watchdog", struct values, watchdog, .value = "SECONDS",
            .help = "several ranks: stop if one is silent for SECONDS (default 300)"),
    {0},
};

/* --- what is shown --- */

static uint64_t count_of(const mica_run *run, mica_part part) {
  const mica_dataset *data = mica_run_data(run, part);
  return data ? mica_dataset_count(data) : 0;
}

/* Prints a title and the names in a list of columns that is stored with the run: "not used: colour, size". Prints
 * nothing if the run lacks the list. */
static void print_columns(FILE *out, const mica_run *run, const char *fact, const char *title) {
  size_t count = 0;
  const char *const *names = mica_run_fact(run, fact, &count);
  if (count) fprintf(out, "          %s: ", title);
  for (size_t i = 0; i < count; i++) fprintf(out, "%s%s", cli_clean(names[i]), i + 1 < count ? ", " : "\n");
}

#define SHOWN_NUMBERS 20

static void print_numbers(FILE *out, const mica_run *run, const mica_dataset *data) {
  const char *const *input = mica_run_fact(run, "input_column", NULL);
  const size_t x = mica_dataset_column_index(data, input ? *input : "");
  const mica_column *column = mica_dataset_column(data, x);
  if (!column || column->shape.rank != 1 || !mica_dataset_number_name(data, x, 0)) return;
  const long long count = (long long)column->shape.dim[0];
  fprintf(out, "          numbers that are inputs: ");
  for (long long i = 0; i < count && i < SHOWN_NUMBERS; i++)
    fprintf(out, "%s%s", i ? ", " : "", cli_clean(mica_dataset_number_name(data, x, i)));
  if (count > SHOWN_NUMBERS) fprintf(out, " and %lld more", count - SHOWN_NUMBERS);
  fprintf(out, "\n");
}

static void print_epoch(FILE *out, const mica_run *run) {
  const mica_run_epoch epoch = mica_run_epoch_of(run);
  fprintf(out, "          %s epochs of %" PRIu64 " step%s\n", mica_run_setting(run, "epochs"), epoch.batches,
          epoch.batches == 1 ? "" : "s");
  if (epoch.batch && (double)epoch.batch < mica_run_number(run, "batch"))
    fprintf(out, "          one batch of %" PRIu64 ": there are no more samples\n", epoch.batch);
  if (epoch.left_out)
    fprintf(out,
            "          an epoch leaves out %" PRIu64 " of %" PRIu64
            " samples, others each time, to keep batches whole\n",
            epoch.left_out, epoch.batch * epoch.batches + epoch.left_out);
}

static void print_sentences(FILE *out, const char *summary) {
  for (const char *at = summary, *end; *at; at = *end ? end + 2 : end) {
    char line[1024];
    end = strstr(at, "; ");
    if (!end) end = at + strlen(at);
    snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
    fprintf(out, "          %s\n", cli_clean(line));
  }
}

/* Prints the range of the known depths, so that a wrong --depth-scale is noticed, and the share of unknown ones. */
static void print_depths(FILE *out, const mica_run *run) {
  size_t count = 0, some = 0;
  const double *range = mica_run_fact_numbers(run, "depth_range", &count);
  const double *maps = mica_run_fact_numbers(run, "depth_maps", &some);
  if (count != 3) return;
  fprintf(out, "          depths from %.3g to %.3g, %.1f %% unknown", range[0], range[1], 100 * range[2]);
  if (some == 1) fprintf(out, ", of %.0f maps", maps[0]);
  putc('\n', out);
}

void cli_train_summary(FILE *out, mica_run *run) {
  const mica_device_info *device = mica_engine_device(mica_run_engine(run));
  const mica_dataset *data = mica_run_data(run, MICA_PART_TRAIN);
  char shape[MICA_SHAPE_TEXT];
  char *text = NULL;
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  fprintf(out, "device    %s, %s\n", device->name, device->platform);
  fprintf(out, "data      %s\n", cli_clean(mica_dataset_name(data)));
  print_sentences(out, mica_dataset_summary(data));
  print_numbers(out, run, data);
  print_columns(out, run, "categories", "classes that are inputs");
  print_columns(out, run, "unused", "not used");
  print_depths(out, run);
  const char *const *from = mica_run_fact(run, "from", NULL), *const *to = mica_run_fact(run, "to", NULL);
  if (from && to) fprintf(out, "          translated from %s into %s\n", cli_clean(*from), cli_clean(*to));
  fprintf(out, "          %" PRIu64 " to train on, %" PRIu64 " to validate, %" PRIu64 " to test",
          count_of(run, MICA_PART_TRAIN), count_of(run, MICA_PART_VALIDATION), count_of(run, MICA_PART_TEST));
  /* Texts and recordings have no common shape, so no shape is printed for them. */
  if (mica_dataset_shape(data).rank) fprintf(out, "; %s", mica_shape_format(mica_dataset_shape(data), shape));
  if (classes) fprintf(out, "%s%zu classes", mica_dataset_shape(data).rank ? ", " : "; ", classes);
  fprintf(out, "\ntask      %s\ntraining  %s, %s at %s, %s, weight decay %s\n", mica_run_task(run),
          mica_run_setting(run, "model"), mica_run_setting(run, "optimizer"), mica_run_setting(run, "lr"),
          mica_run_setting(run, "schedule"), mica_run_setting(run, "weight-decay"));
  fprintf(out, "          batch %s, %s, augmentation %s, seed %s\n", mica_run_setting(run, "batch"),
          mica_run_setting(run, "precision"), mica_run_setting(run, "augment"), mica_run_setting(run, "seed"));
  print_epoch(out, run);
  if (mica_nn_summary(mica_trainer_network(mica_run_trainer(run)), &text) == MICA_OK) fprintf(out, "\n%s\n", text);
  mica_free(text);
}

static double rss_mib(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss / 1024;
}

/* --- the run --- */

static bool model_path(const cli_training *how, char *path, size_t size) {
  return snprintf(path, size, "%s/model.safetensors", how->folder) < (int)size && access(path, R_OK) == 0;
}

static const char *weights_of(const mica_run *run, char text[64]) {
  const int64_t epoch = mica_run_weights_epoch(run);
  if (epoch > 0)
    snprintf(text, 64, "the weights of epoch %" PRId64 ", kept so far", epoch);
  else
    snprintf(text, 64, epoch ? "the weights so far" : "the weights of this stop within epoch 1");
  return text;
}

static int say_stopped(const cli_command *self, const cli_training *how, const mica_run *run,
                       const cli_progress_state *progress) {
  int status = CLI_OK;
  char path[4096];
  if (how->speaks && model_path(how, path, sizeof path))
    fprintf(how->out ? how->out : stderr, "model     %s, %s\n", path, weights_of(run, (char[64]){0}));
  if (how->speaks)
    fprintf(how->out ? how->out : stderr, "stopped: %s; the checkpoint is written, and %s goes on\n",
            mica_run_stopped(run), how->again);
  if (how->json && how->speaks) status = cli_print_stopped(self, mica_run_task(run), progress->part, &progress->last);
  return status == CLI_OK && *cli_stop_flag() ? 128 + *cli_stop_flag() : status;
}

/* Prints the library's error; after a lost device or rank how to continue, after a failed write where the weights
 * are. */
static int say_failed(const cli_command *self, const cli_training *how, const mica_run *run) {
  char path[4096];
  const bool lost = mica_error_status() == MICA_E_DEVICE_LOST;
  if (mica_error_status() == MICA_E_IO && mica_run_weights_epoch(run) >= 0 && model_path(how, path, sizeof path))
    return cli_fail(self, "%s; %s has %s", mica_error_message(), path, weights_of(run, (char[64]){0}));
  if (!lost && mica_error_status() != MICA_E_STATE) return cli_fail_library(self);
  if (snprintf(path, sizeof path, "%s/last.safetensors", how->folder) < (int)sizeof path && access(path, R_OK) == 0)
    return cli_fail(self, "%s; %s goes on from the last checkpoint", mica_error_message(), how->again);
  return lost ? cli_fail(self, "%s; there was no checkpoint yet to continue from", mica_error_message())
              : cli_fail_library(self);
}

static int write_report(const cli_command *self, mica_run *run, const char *folder, mica_report *report,
                        const char *energy) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/config.json", folder) < (int)sizeof path && access(path, F_OK) != 0)
    return cli_fail(self, "there is no %s any more; was the folder deleted or moved?", path);
  if (snprintf(path, sizeof path, "%s/report.html", folder) >= (int)sizeof path)
    return cli_fail(self, "the path %s is too long", folder);
  if (energy &&
      (mica_report_begin(report, "Cost") != MICA_OK || mica_report_add_text(report, "energy", energy) != MICA_OK))
    return cli_fail_library(self);
  return cli_report_page_write(self, path, mica_run_setting(run, "model"), report);
}

static bool is_of_data(mica_status status) {
  return status == MICA_E_FORMAT || status == MICA_E_IO || status == MICA_E_NOT_FOUND || status == MICA_E_UNSUPPORTED;
}

/* Tests the kept weights on the test part (else validation, else training data), and writes the report. If the test
 * part cannot be read, uses the validation part and returns CLI_FAILED. Prints the remarks from `remarks` on. */
static int finish(const cli_command *self, const cli_training *how, mica_run *run, const char *energy, size_t remarks) {
  FILE *out = how->out;
  mica_part part = mica_run_data(run, MICA_PART_TEST)         ? MICA_PART_TEST
                   : mica_run_data(run, MICA_PART_VALIDATION) ? MICA_PART_VALIDATION
                                                              : MICA_PART_TRAIN;
  mica_metrics metrics;
  mica_report *report = NULL;
  mica_status made = mica_run_evaluate(run, NULL, part, &metrics);
  int tested = CLI_OK;
  if (made != MICA_OK && part == MICA_PART_TEST && is_of_data(made) && mica_run_data(run, MICA_PART_VALIDATION)) {
    tested = cli_fail(self, "%s; the weights are kept, and the validation part stands in for the test part",
                      mica_error_message());
    part = MICA_PART_VALIDATION;
    made = mica_run_evaluate(run, NULL, part, &metrics);
  }
  if (made != MICA_OK || mica_run_report(run, &report) != MICA_OK) return say_failed(self, how, run);
  if (out) {
    cli_print_tables(out, report);
    cli_print_metrics(out, mica_part_name(part), run, &metrics);
    for (size_t i = remarks; mica_run_remark(run, i); i++)
      fprintf(out, "%s%s\n", i == remarks ? "\n" : "", cli_clean(mica_run_remark(run, i)));
  }
  int status = how->speaks ? write_report(self, run, how->folder, report, energy) : CLI_OK;
  if (status == CLI_OK && out)
    fprintf(out, "\nmodel     %s/model.safetensors\nreport    %s/report.html\n", how->folder, how->folder);
  mica_report_destroy(report);
  if (status == CLI_OK && how->json && how->speaks)
    status = cli_print_json(self, run, mica_part_name(part), &metrics, NULL);
  return status == CLI_OK ? tested : status;
}

int cli_train_fit(const cli_command *self, const cli_training *how, mica_run *run, const cli_progress_state *progress) {
  FILE *out = how->out;
  cli_energy energy;
  double joules = 0;
  char spent[64] = "";
  size_t remarks = 0;
  while (mica_run_remark(run, remarks)) remarks++;
  cli_stop_catch();
  cli_energy_begin(&energy, mica_engine_device(mica_run_engine(run)));
  mica_status status = mica_run_fit(run);
  cli_stop_in_order();
  if (cli_energy_end(&energy, &joules) && joules > 0)
    snprintf(spent, sizeof spent, "%.0f J, %.1f samples a joule", joules, (double)progress->samples / joules);
  if (how->speaks) cli_progress_end();
  if (status != MICA_OK) return say_failed(self, how, run);
  if (out) {
    fprintf(out, "energy    %s\n", *spent ? spent : "not available");
    fprintf(out, "memory    %.0f MiB resident at most, %.0f MiB on the device\n", rss_mib(),
            (double)mica_engine_stats(mica_run_engine(run)).bytes_peak / (1 << 20));
  }
  /* A run that ended early by `patience` is complete. A run that a signal stopped, on any rank, is not complete; it has
   * written a checkpoint. */
  if (!mica_run_is_complete(run)) return say_stopped(self, how, run, progress);
  if (mica_run_stopped(run) && out) fprintf(out, "stopped: %s\n", mica_run_stopped(run));
  if (out) cli_progress_print_kept(out, progress, run);
  return finish(self, how, run, *spent ? spent : NULL, remarks);
}

/* Progress callback. From the first event after BEGIN on, a signal no longer ends the process at once but lets training
 * write a checkpoint and stop. */
bool cli_train_report(void *progress, const mica_train_progress *event) {
  if (event->event != MICA_TRAIN_EVENT_BEGIN) cli_stop_in_order();
  return cli_progress_report(progress, event);
}

/* Until the first training step, lets a signal end the process at once (cli_stop_at_once). If config.json is written by
 * then, the message says how to resume the run; otherwise the message is `otherwise`. Does nothing
 *   - for processes of mpirun, because all of them must agree on a stop
 *   - if all epochs are done already, because the weights are then written without a further step */
void cli_train_stop_at_once(const cli_training *how, const mica_run *run, const char *otherwise) {
  char path[4352], said[CLI_STOP_TEXT], json[128];
  if (mica_communicator_mpi_asked() ||
      (double)mica_trainer_epoch(mica_run_trainer(run)) >= mica_run_number(run, "epochs"))
    return;
  snprintf(path, sizeof path, "%s/config.json", how->folder);
  snprintf(said, sizeof said, CLI_STOP_EARLY "; %s goes on\n", how->again);
  snprintf(json, sizeof json, CLI_STOP_JSON, mica_run_task(run));
  cli_stop_at_once(fileno(how->out ? how->out : stderr), path, said, otherwise, how->json ? json : NULL);
}

static bool is_given(const mica_run_config *config, const char *name) {
  for (size_t i = 0; i < config->setting_count; i++)
    if (!strcmp(config->settings[i].name, name)) return true;
  return false;
}

/* Finds errors before any data are read: a mistyped command, or a folder that is taken. */
static int check(const cli_command *self, const mica_run_config *config) {
  if (!config->resume && !is_given(config, "teacher") &&
      (is_given(config, "temperature") || is_given(config, "alpha"))) {
    cli_fail(self, "--temperature and --alpha need --teacher");
    return CLI_USAGE;
  }
  mica_status status = mica_run_check(config);
  if (status == MICA_OK) return CLI_OK;
  if (!config->data && !config->resume) {
    cli_fail(self, "--data is missing; try --data fashion-mnist");
    return CLI_USAGE;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/config.json", config->folder);
  if (status == MICA_E_STATE && !config->resume && access(path, F_OK) == 0)
    cli_fail(self, "%s; mica train --resume --out %s continues it, another --out begins a new one",
             mica_error_message(), config->folder);
  else
    cli_fail_library(self);
  return status == MICA_E_INVALID ? CLI_USAGE : CLI_FAILED;
}

typedef struct job {
  const cli_command *self;
  const struct values *v;
  const double *speeds;       /* of the ranks; NULL: equal */
  char again[CLI_AGAIN_TEXT]; /* the command line that resumes */
  /* Results of measure(), written by the first rank of this process: the speeds from mica_run_measure, and the batch
   * size. */
  double measured[MICA_TRAIN_RANKS];
  mica_run_speeds found;
  double batch;
} job;

/* Writes the command line that resumes the run. Besides --resume it needs only the options that config.json does not
 * store: the folder, the devices, how ranks share the work, and the watchdog's time. */
static void write_again(const struct values *v, const cli_ranks *ranks, char text[CLI_AGAIN_TEXT]) {
  const struct {
    const char *name, *value;
  } words[] = {{"--out", v->out ? v->out : DEFAULT_FOLDER},
               {"--device", v->device},
               {"--devices", v->devices},
               {"--parallel", v->parallel},
               {"--speeds", v->speeds},
               {"--watchdog", v->watchdog},
               {"--shard", v->shard ? "" : NULL},
               {"--elastic", v->elastic ? "" : NULL}};
  *text = '\0';
  if (mica_communicator_mpi_asked() && ranks->communicator[0])
    snprintf(text, CLI_AGAIN_TEXT, "mpirun -n %d", (int)ranks->communicator[0]->ranks);
  cli_add_word(text, CLI_AGAIN_TEXT, "mica");
  cli_add_word(text, CLI_AGAIN_TEXT, "train");
  cli_add_word(text, CLI_AGAIN_TEXT, "--resume");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (words[i].value) cli_add_word(text, CLI_AGAIN_TEXT, words[i].name);
    if (words[i].value && *words[i].value) cli_add_word(text, CLI_AGAIN_TEXT, words[i].value);
  }
}

/* True if the run is resumed: with --resume, or with --elastic if rank 0 finds a run in the folder. */
static bool resumes(const job *j, mica_communicator *communicator) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/config.json", j->v->out ? j->v->out : DEFAULT_FOLDER);
  int32_t there = j->v->resume || (j->v->elastic && length < (int)sizeof path && access(path, F_OK) == 0);
  const mica_transfer first = {.kind = MICA_COLLECTIVE_BROADCAST, .dtype = MICA_I32, .data = &there, .count = 1};
  /* A communicator that fails here fails again, with a message, when the run is created. */
  if (j->v->elastic && communicator && mica_communicator_run(communicator, &first) != MICA_OK) return j->v->resume;
  return there;
}

static mica_run_config configure(const job *j, const cli_ranks *ranks, size_t index, const mica_engine_config *engine,
                                 cli_progress_state *progress) {
  const struct values *v = j->v;
  return (mica_run_config){.task = v->task,
                           .data = v->data,
                           .folder = v->out ? v->out : DEFAULT_FOLDER,
                           .settings = v->settings.list,
                           .setting_count = v->settings.count,
                           .resume = resumes(j, ranks->communicator[index]),
                           .report = cli_train_report,
                           .user = progress,
                           .stop = cli_stop_flag(),
                           .engine = engine,
                           .communicator = ranks->communicator[index],
                           .parallel = v->parallel,
                           .shard = v->shard,
                           .speeds = j->speeds,
                           .uneven = v->elastic};
}

static int create(const job *j, const mica_run_config *config, mica_run **run) {
  int status = check(j->self, config);
  if (status != CLI_OK) mica_communicator_abort(config->communicator, mica_error_message());
  if (status != CLI_OK) return status;
  const mica_status made = mica_run_create(NULL, config, run);
  if (made == MICA_OK) return CLI_OK;
  cli_fail_library(j->self);
  return made == MICA_E_INVALID ? CLI_USAGE : CLI_FAILED;
}

/* Trains on one rank. Only rank 0 prints anything but errors. */
static int train(cli_ranks *ranks, size_t index, void *user) {
  const job *j = user;
  const cli_command *self = j->self;
  const struct values *v = j->v;
  mica_communicator *communicator = ranks->communicator[index];
  const bool speaks = !communicator || communicator->rank == 0;
  FILE *out = v->quiet || !speaks ? NULL : v->json ? stderr : stdout;
  cli_progress_state progress = {.out = out, .task = v->task};
  mica_engine_config engine = mica_engine_config_default();
  mica_run *run = NULL;
  engine.device = ranks->device[index];
  cli_compile_with(j->self, &engine);
  const mica_run_config config = configure(j, ranks, index, &engine, &progress);
  int status = create(j, &config, &run);
  if (status != CLI_OK) return status;
  progress.task = mica_run_task(run);
  const cli_training how = {.json = v->json, .out = out, .folder = config.folder, .again = j->again, .speaks = speaks};
  /* Until the first step, a signal ends the process and removes the folder if it is new and empty. This includes
   * SIGPIPE, which arrives if the summary is piped to a program that ends. */
  if (speaks) cli_train_stop_at_once(&how, run, CLI_STOP_EARLY "\n");
  cli_stop_catch();
  if (!v->quiet && speaks) cli_print_remarks(self, run);
  if (!v->quiet && v->watchdog && !communicator)
    fprintf(stderr, "mica train: watchdog does nothing: there is one rank\n");
  if (out && communicator)
    fprintf(out, "ranks     %d%s%s\n", (int)communicator->ranks, v->parallel ? ", " : "",
            v->parallel ? v->parallel : "");
  if (out) cli_train_summary(out, run);
  status = cli_train_fit(self, &how, run, &progress);
  /* A restart with --elastic omits devices that were lost, that reported an error or that ran out of memory. */
  const mica_status failed = status == CLI_OK ? MICA_OK : mica_error_status();
  ranks->lost[index] = failed == MICA_E_DEVICE_LOST || failed == MICA_E_DEVICE || failed == MICA_E_DEVICE_MEMORY;
  mica_run_destroy(run);
  return status;
}

/* Measures the speeds of the ranks with the run that will be trained; writes no files. */
static int measure(cli_ranks *ranks, size_t index, void *user) {
  job *j = user;
  mica_engine_config engine = mica_engine_config_default();
  mica_run *run = NULL;
  double speeds[MICA_TRAIN_RANKS];
  mica_run_speeds found;
  engine.device = ranks->device[index];
  cli_compile_with(j->self, &engine);
  mica_run_config config = configure(j, ranks, index, &engine, NULL);
  config.report = NULL;
  config.speeds = NULL;
  config.uneven = true;
  int status = create(j, &config, &run);
  if (status == CLI_OK && mica_run_measure(run, speeds, &found) != MICA_OK) status = cli_fail_library(j->self);
  if (status == CLI_OK && index == 0) {
    memcpy(j->measured, speeds, sizeof speeds);
    j->found = found;
    j->batch = mica_run_number(run, "batch");
  }
  mica_run_destroy(run);
  return status;
}

/* Finds the speeds of the ranks: the numbers of --speeds, or measured ones (--speeds measured; or devices differ and
 * neither --speeds nor --parallel is given). Measuring may drop slow devices. Otherwise batches are equal: measured
 * speeds vary a little from run to run, and the result of training would vary with them. */
static int find_speeds(const cli_command *self, cli_ranks *ranks, job *j) {
  const char *text = j->v->speeds;
  const mica_communicator *c = ranks->communicator[0];
  bool keeps[CLI_MOST_DEVICES];
  static double given[MICA_TRAIN_RANKS];
  const bool measured = text ? !strcmp(text, "measured") : c && ranks->differ && !j->v->parallel;
  if (!c && text) {
    const int status = measured ? CLI_OK : cli_speeds_parse(self, text, 0, NULL);
    if (status == CLI_OK && !j->v->quiet) fprintf(stderr, "mica train: speeds does nothing: there is one rank\n");
    return status;
  }
  if (!c || (!text && !measured)) return CLI_OK;
  if (c->ranks > MICA_TRAIN_RANKS) return cli_fail(self, "at most %d ranks may differ in speed", MICA_TRAIN_RANKS);
  if (!measured) {
    j->speeds = given;
    return cli_speeds_parse(self, text, c->ranks, given);
  }
  const bool speaks = c->rank == 0 && !j->v->quiet;
  int status = cli_ranks_run(self, ranks, measure, j);
  if (status != CLI_OK) return status;
  const size_t kept =
      cli_speeds_decide(speaks ? j->v->json ? stderr : stdout : NULL, ranks, j->batch, j->measured, &j->found, keeps);
  size_t next = 0;
  for (int32_t r = 0; r < c->ranks; r++)
    if (keeps[r] || ranks->count == 1) given[next++] = j->measured[r];
  j->speeds = given;
  return ranks->count > 1 && kept < ranks->count ? cli_ranks_keep(self, ranks, keeps) : CLI_OK;
}

static int run_lora(const cli_command *self, const struct values *v) {
  const char *refused = v->parallel   ? "parallel"
                        : v->speeds   ? "speeds"
                        : v->shard    ? "shard"
                        : v->elastic  ? "elastic"
                        : v->watchdog ? "watchdog"
                                      : NULL;
  const cli_lora lora = {.data = v->data,
                         .out = v->out ? v->out : DEFAULT_FOLDER,
                         .device = v->device,
                         .devices = v->devices,
                         .task = v->task,
                         .adapter = v->lora,
                         .settings = &v->settings,
                         .resume = v->resume,
                         .json = v->json,
                         .quiet = v->quiet};
  if (!refused) return cli_train_adapter(self, &lora);
  cli_fail(self, "--%s is not for --lora; leave it out", refused);
  return CLI_USAGE;
}

static bool is_lines(const char *path) {
  const size_t n = path ? strlen(path) : 0;
  struct stat about;
  return n > 6 && !strcmp(path + n - 6, ".jsonl") && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static int run_train(const cli_command *self, const void *given) {
  const struct values *v = given;
  static cli_ranks ranks;
  static job j;
  double watchdog = 0;
  j = (job){.self = self, .v = v};
  if (v->quiet) cli_compile_silently();
  int status = cli_refuse_null(self, v->device);
  if (status == CLI_OK && v->lora) return run_lora(self, v);
  if (status == CLI_OK && !v->task && is_lines(v->data)) {
    cli_fail(self, "%s: to train on conversations in JSON lines, add --lora rank=8 and --init MODEL", v->data);
    return CLI_USAGE;
  }
  cli_stop_note_folder(v->out ? v->out : DEFAULT_FOLDER);
  if (status == CLI_OK) status = cli_number(self, "watchdog", v->watchdog, 1e-3, 1e9, &watchdog);
  if (status == CLI_OK) status = cli_ranks_begin(self, v->device, v->devices, watchdog, cli_stop_flag(), &ranks);
  if (status == CLI_OK) write_again(v, &ranks, j.again);
  if (status == CLI_OK) status = find_speeds(self, &ranks, &j);
  if (status == CLI_OK) status = cli_ranks_run(self, &ranks, train, &j);
  if (status != CLI_OK && v->elastic && !*cli_stop_flag()) cli_ranks_restart(self, &ranks);
  if (ranks.hangs) {
    fflush(NULL);
    _exit(status);
  }
  cli_ranks_end(&ranks);
  return status;
}

const cli_command cli_command_train = {
    .name = "train",
    .summary = "train a network on pictures, boxes, masks, sounds, tables or text",
    .details = "\nDIR receives model.safetensors (the weights that are kept, usually of the best\n"
               "epoch), best.safetensors and last.safetensors (checkpoints), config.json,\n"
               "history.csv, event files for TensorBoard and, at the end, report.html. Training\n"
               "never overwrites a run, and DIR may not be DATA, lie in it or hold it. Cells of\n"
               "a table are separated by commas, semicolons or tabs.\n\n"
               "If a run is stopped by ctrl-C (exit status 130), a closed terminal or a power\n"
               "cut, mica predict, eval and export can use it, and name the epoch of its\n"
               "weights. --resume continues from the last checkpoint and gives the result of a\n"
               "run that was not stopped; with --epochs N it trains longer or shorter. If the\n"
               "data have changed, it needs --data. A stopped run has no report.html; --resume\n"
               "--epochs 1 ends it after the epochs that are done, and writes the report.\n\n"
               "DATA has one of the layouts below, or has folders train, val and test that each\n"
               "have one. Other names for these are training; valid, validation, dev; testing,\n"
               "eval, evaluation; in upper or lower case, also as in test_set or \"Training\n"
               "Data\". Files in folders within a class folder belong to the class. Layouts:\n"
               "  classes     CLASS/NAME.png or .jpg\n"
               "  sounds      CLASS/NAME.wav, .flac or .ogg; or LABEL_SPEAKER_N.wav\n"
               "  masks       images/NAME.png or .jpg and masks/NAME.png\n"
               "  depth       images/NAME.png or .jpg and depth/NAME.png, .npy or .pfm\n"
               "  volumes     images/NAME.nii or .nii.gz and masks/NAME.nii or .nii.gz\n"
               "  texts       CLASS/NAME.txt\n"
               "or one of these:\n"
               "  Pascal VOC  JPEGImages/NAME.jpg and Annotations/NAME.xml; parts are lists\n"
               "              of names in ImageSets/Main: train.txt, val.txt, test.txt\n"
               "  COCO        images/ and annotations.json or annotations/NAME.json; parts\n"
               "              are annotations/instances_train.json, ..._val, ..._test\n"
               "  YOLO        images/train/NAME.jpg, labels/train/NAME.txt and data.yaml or\n"
               "              classes.txt; val and test likewise\n"
               "  text        a file NAME.txt; or train.txt, validation.txt and test.txt\n"
               "  pairs       lines of train.en and train.de; val.*, test.* likewise\n"
               "  tables      a file NAME.csv; or train.csv, val.csv and test.csv\n"
               "  arrays      x_train.npy and y_train.npy; x_val, x_test likewise. Inputs of u8\n"
               "              are divided by 255, others are read as they are\n" CLI_LORA_DETAILS,
    .options = options,
    .values_size = sizeof(struct values),
    .settings_at = offsetof(struct values, settings),
    .run = run_train,
};
