#include "cli/energy.h"
#include "cli/number.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/score.h"
#include "cli/terminal.h"
#include "cli/trained.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FOLDER "mica-run"

struct values {
  const char *data, *model, *out;
  const char *epochs, *batch, *lr, *optimizer, *schedule, *weight_decay, *label_smoothing;
  const char *augment, *validation, *seed, *patience, *checkpoint_steps, *precision, *device;
  bool resume;
};

#define TEXT_OF(name, text) text,
static const char *optimizer_at(size_t i) {
  static const char *const names[] = {MICA_OPTIMIZER_LIST(TEXT_OF) NULL};
  return names[i];
}

static const char *schedule_at(size_t i) {
  static const char *const names[] = {MICA_SCHEDULE_LIST(TEXT_OF) NULL};
  return names[i];
}
#undef TEXT_OF

static const cli_option options[] = {
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "fashion-mnist, a folder (IDX, CIFAR, npy, CSV, pictures in folders) or a CSV file"),
    CLI_ROW("model", struct values, model, .value = "NAME", .names = mica_model_name, .help = "cnn by default"),
    CLI_ROW("epochs", struct values, epochs, .value = "N", .help = "times through the data; 10"),
    CLI_ROW("batch", struct values, batch, .value = "N", .help = "samples of a step; 64"),
    CLI_ROW("optimizer", struct values, optimizer, .value = "NAME", .names = optimizer_at,
            .help = "the model's own by default"),
    CLI_ROW("lr", struct values, lr, .value = "RATE", .help = "the highest learning rate; the optimizer's by default"),
    CLI_ROW("schedule", struct values, schedule, .value = "NAME", .names = schedule_at, .help = "one_cycle by default"),
    CLI_ROW("weight-decay", struct values, weight_decay, .value = "W", .help = "the model's own by default"),
    CLI_ROW("label-smoothing", struct values, label_smoothing, .value = "S", .help = "0"),
    CLI_ROW("augment", struct values, augment, .value = "LIST", .names = mica_augment_name,
            .help = "a list as in crop,rotate=15; none by default"),
    CLI_ROW("validation", struct values, validation, .value = "SHARE",
            .help = "of the training data, where it has no part of its own for that; 0.1"),
    CLI_ROW("patience", struct values, patience, .value = "N",
            .help = "stop after so many epochs without a better one"),
    CLI_ROW("checkpoint-steps", struct values, checkpoint_steps, .value = "N",
            .help = "write a checkpoint every so many steps, not only after an epoch"),
    CLI_ROW("seed", struct values, seed, .value = "N", .help = "of weights, order and augmentation; 0"),
    CLI_ROW("precision", struct values, precision, .value = "TYPE",
            .help = "f32 (default); f16 or bf16: mixed precision, weights stay f32"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "train on this one, named as in MICA_DEVICE"),
    CLI_ROW("out", struct values, out, .value = "DIR", .help = "where all is written; " DEFAULT_FOLDER),
    CLI_ROW("resume", struct values, resume, .help = "go on where the run in DIR stopped"),
    {0},
};

/* --- settings --- */

/* Default settings of a model, measured on Fashion-MNIST and CIFAR-10; the last row is for all others. */
static const struct model_defaults {
  const char *model, *optimizer;
  double lr, weight_decay;
} defaults[] = {
    {"resnet18", "sgd", 0.1, 5e-4}, {"resnet50", "sgd", 0.1, 5e-4}, {"mobilenetv2", "sgd", 0.1, 1e-4},
    {"vgg11", "sgd", 0.05, 5e-4},   {"", "adamw", 3e-3, 1e-2},
};

static double usual_rate(const char *optimizer) {
  if (!strcmp(optimizer, "sgd")) return 0.05;
  if (!strcmp(optimizer, "adagrad")) return 1e-2;
  return !strcmp(optimizer, "lion") ? 3e-4 : 1e-3;
}

static void set_text(char field[CLI_RUN_TEXT], const char *text) {
  if (text) snprintf(field, CLI_RUN_TEXT, "%s", text);
}

static void set_defaults(cli_run *run) {
  const struct model_defaults *d = defaults;
  while (*d->model && strcmp(d->model, run->model) != 0) d++;
  bool usual = !*run->optimizer || !strcmp(run->optimizer, d->optimizer);
  if (!*run->optimizer) set_text(run->optimizer, d->optimizer);
  if (run->lr == 0) run->lr = usual ? d->lr : usual_rate(run->optimizer);
  if (run->weight_decay < 0) run->weight_decay = usual ? d->weight_decay : 0;
  if (!*run->schedule) set_text(run->schedule, "one_cycle");
}

/* Overrides the settings of the run (defaults, or those of the run to resume) by the options given. */
static int take_options(const cli_command *self, const struct values *v, cli_run *run) {
  int status = cli_integer(self, "epochs", v->epochs, 1, 1000000, &run->epochs);
  if (status == CLI_OK) status = cli_integer(self, "batch", v->batch, 1, 1 << 20, &run->batch);
  if (status == CLI_OK) status = cli_number(self, "lr", v->lr, 1e-12, 1e6, &run->lr);
  if (status == CLI_OK) status = cli_number(self, "weight-decay", v->weight_decay, 0, 1e6, &run->weight_decay);
  if (status == CLI_OK) status = cli_number(self, "label-smoothing", v->label_smoothing, 0, 1, &run->label_smoothing);
  if (status == CLI_OK) status = cli_number(self, "validation", v->validation, 0, 0.9, &run->validation);
  if (status == CLI_OK) status = cli_integer(self, "seed", v->seed, 0, (int64_t)1 << 53, &run->seed);
  if (status != CLI_OK) return status;
  set_text(run->model, v->model);
  set_text(run->optimizer, v->optimizer);
  set_text(run->schedule, v->schedule);
  set_text(run->augment, v->augment);
  set_text(run->precision, v->precision);
  /* The path becomes absolute, since the run may be resumed from another folder. */
  char *whole = v->data ? realpath(v->data, NULL) : NULL;
  if (v->data && strlen(whole ? whole : v->data) >= CLI_RUN_TEXT)
    status = cli_fail(self, "the data's path is too long");
  set_text(run->data, whole ? whole : v->data);
  free(whole);
  if (status == CLI_OK && !*run->data) {
    cli_fail(self, "--data is missing; --data fashion-mnist is a beginning");
    return CLI_USAGE;
  }
  return status;
}

/* Begins a new run, or reads the one to resume. */
static int begin_run(const cli_command *self, const struct values *v, const char *folder, cli_run *run) {
  char path[CLI_PATH];
  struct stat about;
  if (!cli_run_path(path, folder, "config.json")) return cli_fail(self, "the path %s is too long", folder);
  bool there = stat(path, &about) == 0;
  if (v->resume) {
    int status = cli_run_read(run, self, folder);
    return status == CLI_OK ? take_options(self, v, run) : status;
  }
  if (there)
    return cli_fail(self, "%s holds a run already: --resume goes on with it, --out names another folder", folder);
  run->weight_decay = -1;
  if (!v->model) set_text(run->model, "cnn");
  int status = take_options(self, v, run);
  if (status == CLI_OK) set_defaults(run);
  return status;
}

static int make_folder(const cli_command *self, const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return cli_fail(self, "%s cannot be made: %s", folder, strerror(errno));
  if (access(folder, W_OK) != 0) return cli_fail(self, "%s cannot be written: %s", folder, strerror(errno));
  return CLI_OK;
}

/* --- data --- */

typedef struct parts {
  mica_dataset *all, *training, *validation, *test;
  mica_loader *training_loader, *validation_loader, *test_loader;
} parts;

static void close_parts(parts *p) {
  mica_loader_destroy(p->test_loader);
  mica_loader_destroy(p->validation_loader);
  mica_loader_destroy(p->training_loader);
  mica_dataset_destroy(p->test);
  mica_dataset_destroy(p->validation);
  if (p->training != p->all) mica_dataset_destroy(p->training);
  mica_dataset_destroy(p->all);
}

/* Opens a part; *part stays NULL if there is none. */
static mica_status open_optional(const cli_run *run, mica_part which, const mica_dataset *like, mica_dataset **part) {
  mica_dataset_config config = {.part = which, .like = like};
  mica_status status = mica_dataset_open(run->data, &config, part);
  return status == MICA_E_NOT_FOUND ? MICA_OK : status;
}

static mica_status open_training(const cli_run *run, parts *p) {
  mica_status status = mica_dataset_open(run->data, NULL, &p->all);
  if (!status) status = open_optional(run, MICA_PART_VALIDATION, p->all, &p->validation);
  p->training = p->all;
  if (!status && !p->validation && run->validation > 0)
    status = mica_dataset_split(p->all, run->validation, (uint64_t)run->seed, &p->validation, &p->training);
  return status;
}

static mica_status open_test(const cli_run *run, parts *p) {
  return open_optional(run, MICA_PART_TEST, p->all, &p->test);
}

/* A read in a thread of its own, and its result; the library's sentence is per thread, hence the copy. */
typedef struct reading {
  mica_status (*open)(const cli_run *run, parts *p);
  const cli_run *run;
  parts *parts;
  pthread_t thread;
  bool apart;
  mica_status status;
  char message[1024];
} reading;

static void *read_parts(void *user) {
  reading *r = user;
  r->status = r->open(r->run, r->parts);
  if (r->status != MICA_OK) snprintf(r->message, sizeof r->message, "%s", mica_error_message());
  return NULL;
}

/* Starts the read; without a thread it is done at once. */
static void begin_reading(reading *r) {
  r->apart = pthread_create(&r->thread, NULL, read_parts, r) == 0;
  if (!r->apart) read_parts(r);
}

/* Waits for the read. Returns status, or the failure of the read if status is CLI_OK. */
static int end_reading(reading *r, const cli_command *self, int status) {
  if (r->apart) pthread_join(r->thread, NULL);
  return status == CLI_OK && r->status != MICA_OK ? cli_fail(self, "%s", r->message) : status;
}

static mica_status make_loaders(mica_engine *engine, cli_run *run, parts *p) {
  mica_loader_config config = cli_run_loader(run);
  config.shuffle = config.drop_last = true;
  mica_status status = mica_augment_parse(run->augment, &config.augment);
  if (!status) status = mica_loader_create(engine, p->training, &config, &p->training_loader);
  if (status) return status;
  if (!cli_run_take_data(run, p->training, mica_loader_mean(p->training_loader),
                         mica_loader_deviation(p->training_loader)))
    return MICA_E_NOMEM;
  config = cli_run_loader(run);
  return p->validation ? mica_loader_create(engine, p->validation, &config, &p->validation_loader) : MICA_OK;
}

/* Opens the data and puts it on the device. Reading takes as long as the other work, so the engine is created while the
 * training data are read, and these are uploaded while the test data are read. */
static int open_parts(const cli_command *self, const struct values *v, cli_run *run, mica_engine **engine, parts *p) {
  mica_engine_config config = mica_engine_config_default();
  reading training = {.open = open_training, .run = run, .parts = p},
          test = {.open = open_test, .run = run, .parts = p};
  config.device = v->device;
  config.builder = CLI_ITSELF;
  begin_reading(&training);
  int status = mica_engine_create(&config, engine) == MICA_OK ? CLI_OK : cli_fail_library(self);
  status = end_reading(&training, self, status);
  if (status != CLI_OK) return status;
  begin_reading(&test);
  status = make_loaders(*engine, run, p) == MICA_OK ? CLI_OK : cli_fail_library(self);
  status = end_reading(&test, self, status);
  if (status != CLI_OK || !p->test) return status;
  const mica_loader_config plain = cli_run_loader(run);
  return mica_loader_create(*engine, p->test, &plain, &p->test_loader) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

/* --- the run --- */

static volatile int stop;
static void ask_to_stop(int number) {
  (void)number;
  stop = 1;
  /* A second signal ends the process. */
  signal(SIGINT, SIG_DFL);
}

static void print_summary(const cli_run *run, mica_engine *engine, const parts *p, mica_trainer *trainer) {
  const mica_device_info *device = mica_engine_device(engine);
  char *text = NULL;
  printf("device    %s, %s\n", device->name, device->platform);
  printf("data      %s: %" PRIu64 " to train on, %" PRIu64 " to validate, %" PRIu64 " to test; ", run->data,
         mica_dataset_count(p->training), p->validation ? mica_dataset_count(p->validation) : 0,
         p->test ? mica_dataset_count(p->test) : 0);
  for (int32_t i = 0; i < run->input.rank; i++) printf("%s%" PRId64, i ? " x " : "", run->input.dim[i]);
  printf(", %d classes\n", (int)run->classes);
  printf("training  %s, %s at %g, %s, weight decay %g, batch %" PRId64 ", %s, augmentation %s, seed %" PRId64 "\n",
         run->model, run->optimizer, run->lr, run->schedule, run->weight_decay, run->batch, run->precision,
         run->augment, run->seed);
  if (mica_nn_summary(mica_trainer_network(trainer), &text) == MICA_OK) printf("\n%s\n", text);
  mica_free(text);
}

static double rss_mib(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss / 1024;
}

/* Keeps the weights of the best epoch; without validation those of the last one. */
static mica_status keep_model(mica_trainer *trainer, const char *folder) {
  char best[CLI_PATH], model[CLI_PATH];
  mica_nn *nn = mica_trainer_test_network(trainer);
  mica_session *session = mica_trainer_test_session(trainer);
  if (!cli_run_path(best, folder, "best.safetensors") || !cli_run_path(model, folder, CLI_MODEL_FILE))
    return MICA_E_INVALID;
  mica_status status = access(best, R_OK) == 0 ? mica_nn_load(nn, session, best, NULL) : MICA_OK;
  return status ? status : mica_nn_save(nn, session, model, NULL, 0);
}

/* Tests the weights that are kept, and writes the report. */
static int finish(const cli_command *self, const cli_run *run, const char *folder, const parts *p, mica_engine *engine,
                  mica_trainer *trainer, const cli_progress_state *progress, const char *energy) {
  mica_loader *judge = p->test_loader ? p->test_loader : p->validation_loader;
  cli_score score = {0};
  cli_report report = {.run = run,
                       .progress = progress,
                       .judged = p->test_loader ? p->test : p->validation,
                       .device = mica_engine_device(engine)->name,
                       .energy = energy};
  if (keep_model(trainer, folder) != MICA_OK) return cli_fail_library(self);
  if (judge) {
    mica_batch_source source = mica_loader_source(judge);
    if (cli_score_take(&score, run, trainer, &source) != MICA_OK) return cli_fail_library(self);
    cli_score_print(&score, run, p->test_loader ? "test" : "validation");
    report.score = &score;
  }
  int status = cli_report_write(&report, self, engine, trainer, folder);
  cli_score_free(&score);
  if (status == CLI_OK) printf("\nmodel     %s/" CLI_MODEL_FILE "\nreport    %s/report.html\n", folder, folder);
  return status;
}

static int fit(const cli_command *self, const cli_run *run, const char *folder, const parts *p, mica_engine *engine,
               mica_trainer *trainer, cli_progress_state *progress) {
  struct sigaction action = {.sa_handler = ask_to_stop};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  cli_energy energy;
  double joules = 0;
  char spent[64] = "not available";
  mica_batch_source training = mica_loader_source(p->training_loader), validation = {0};
  if (p->validation_loader) validation = mica_loader_source(p->validation_loader);
  cli_energy_begin(&energy, mica_engine_device(engine)->vendor == MICA_VENDOR_NVIDIA);
  mica_status status = mica_trainer_fit(trainer, &training, p->validation_loader ? &validation : NULL);
  if (cli_energy_end(&energy, &joules) && joules > 0)
    snprintf(spent, sizeof spent, "%.0f J, %.1f samples a joule", joules, (double)progress->samples / joules);
  cli_progress_end();
  if (status != MICA_OK) return cli_fail_library(self);
  printf("energy    %s\n", spent);
  printf("memory    %.0f MiB resident at most, %.0f MiB on the device\n", rss_mib(),
         (double)mica_engine_stats(engine).bytes_peak / (1 << 20));
  return stop ? CLI_FAILED : finish(self, run, folder, p, engine, trainer, progress, spent);
}

/* Trains. The folder is made last, when everything else has succeeded. */
static int train(const cli_command *self, const struct values *v, const char *folder, cli_run *run, mica_engine *engine,
                 parts *p) {
  char last[CLI_PATH];
  cli_progress_state progress = {0};
  mica_trainer *trainer = NULL;
  mica_trainer_config config = {.report = cli_progress_report, .user = &progress, .folder = folder, .stop = &stop};
  int status = cli_integer(self, "patience", v->patience, 1, 1000000, &config.patience);
  if (status == CLI_OK)
    status = cli_integer(self, "checkpoint-steps", v->checkpoint_steps, 1, INT32_MAX, &config.checkpoint_steps);
  if (status == CLI_OK) status = cli_trained_create(self, run, engine, &config, &trainer);
  if (status == CLI_OK && v->resume && cli_run_path(last, folder, "last.safetensors") && access(last, F_OK) == 0 &&
      mica_trainer_load(trainer, last) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = make_folder(self, folder);
  if (status == CLI_OK) status = cli_run_write(run, self, folder);
  if (status == CLI_OK && cli_progress_begin(&progress, folder, v->resume) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) {
    print_summary(run, engine, p, trainer);
    status = fit(self, run, folder, p, engine, trainer, &progress);
  }
  mica_trainer_destroy(trainer);
  cli_progress_free(&progress);
  return status;
}

static int run_train(const cli_command *self, const void *given) {
  const struct values *v = given;
  const char *folder = v->out ? v->out : DEFAULT_FOLDER;
  mica_engine *engine = NULL;
  parts p = {0};
  cli_run run;
  cli_run_begin(&run);
  int status = begin_run(self, v, folder, &run);
  if (status == CLI_OK) status = open_parts(self, v, &run, &engine, &p);
  if (status == CLI_OK) status = train(self, v, folder, &run, engine, &p);
  close_parts(&p);
  mica_engine_destroy(engine);
  cli_run_free(&run);
  return status;
}

const cli_command cli_command_train = {
    .name = "train",
    .summary = "train a network on images or tables",
    .details = "\nDIR receives model.safetensors (the best epoch), last.safetensors (to go on from), config.json,\n"
               "history.csv, event files for TensorBoard, and report.html. A run that was stopped, by ctrl-C or by\n"
               "a power cut, goes on with --resume from its last checkpoint to the same result.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run_train,
};
