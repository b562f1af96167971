#include "cli/compiling.h"
#include "cli/number.h"
#include "cli/ranks.h"
#include "cli/result.h"
#include "cli/stop.h"
#include "cli/text.h"
#include "cli/training.h"

#include <stdlib.h>
#include <string.h>

struct values {
  const char *run, *data, *flops, *method, *steps, *masks, *out, *device;
  bool json, quiet;
  cli_settings settings;
};

static const cli_option options[] = {
    CLI_ROW("RUN", struct values, run, .role = CLI_OPERAND, .help = "folder of the run"),
    CLI_ROW("data", struct values, data, .value = "DATA", .help = "data to train on (default: the run's)"),
    CLI_ROW("flops", struct values, flops, .value = "SHARE", .help = "share of the FLOPs to remove (default 0.5)"),
    CLI_ROW("method", struct values, method, .value = "NAME", .names = mica_prune_method_name,
            .help = "remove first the channels with the smallest weights (magnitude) or the least effect on the loss "
                    "(taylor) (default magnitude)"),
    CLI_ROW("steps", struct values, steps, .value = "N",
            .help = "pruning steps, with an epoch of training between them (default 3)"),
    CLI_ROW(
        "masks", struct values, masks, .value = "SHARE",
        .help =
            "instead of channels: set this share of each layer's weights to 0, the smallest first, without training"),
    CLI_ROW("out", struct values, out, .value = "DIR", .help = "folder to write (required)"),
    CLI_ROW("json", struct values, json,
            .help = "print a JSON object as the last line: task and metrics, or numbers of weights with --masks"),
    CLI_ROW("quiet", struct values, quiet, .help = "print errors only"),
    CLI_DEVICE_ROW(struct values),
    {0},
};

static int find_method(const cli_command *self, const char *name, mica_prune_method *method) {
  for (size_t i = 0; name && mica_prune_method_name(i); i++)
    if (!strcmp(name, mica_prune_method_name(i))) {
      *method = (mica_prune_method)i;
      return CLI_OK;
    }
  if (!name) return CLI_OK;
  cli_fail(self, "--method cannot be \"%s\"; choose magnitude or taylor", name);
  return CLI_USAGE;
}

static int check(const cli_command *self, const struct values *v, mica_prune_config *config) {
  int status = cli_refuse_ranks(self);
  if (status == CLI_OK) status = cli_number(self, "flops", v->flops, 0.01, 0.95, &config->flops);
  if (status == CLI_OK) status = cli_integer(self, "steps", v->steps, 1, 1000, &config->steps);
  if (status == CLI_OK) status = find_method(self, v->method, &config->method);
  if (status != CLI_OK) return status;
  if (v->out) return cli_refuse_null(self, v->device);
  cli_fail(self, "--out is missing: the folder of the smaller run");
  return CLI_USAGE;
}

/* Opens a run on the null device to find its task, and prints a message if its training is unfinished. task is "" if
 * the run cannot be opened; mica_run_prune then reports the error. */
static void find_task(const cli_command *self, const char *folder, char task[64]) {
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  *task = '\0';
  if (mica_engine_create(&(mica_engine_config){.device = "null"}, &engine) == MICA_OK &&
      mica_run_open(engine, folder, &run) == MICA_OK) {
    snprintf(task, 64, "%s", mica_run_task(run));
    cli_say_unfinished(self, run);
  }
  mica_run_destroy(run);
  mica_engine_destroy(engine);
}

/* Formats the message that is printed if a signal arrives after channels were removed but before the first training
 * step. A file then has the remaining weights, but there is no run to resume yet. */
static void describe_cut(const struct values *v, char text[CLI_STOP_TEXT]) {
  snprintf(text, CLI_STOP_TEXT,
           CLI_STOP_EARLY "; %s/pruned.safetensors has the weights that are left, and mica train --init takes them\n",
           v->out);
}

/* Until the first training step, lets a signal end the process at once, because there is no step to finish first. */
static void stop_at_once(const struct values *v, FILE *out, const char *task) {
  char path[4352], said[CLI_STOP_TEXT], json[128];
  snprintf(path, sizeof path, "%s/pruned.safetensors", v->out);
  describe_cut(v, said);
  snprintf(json, sizeof json, CLI_STOP_JSON, task);
  cli_stop_at_once(fileno(out ? out : stderr), path, said, CLI_STOP_EARLY "\n", v->json ? json : NULL);
}

/* Reports a stop by signal `number` before the last training. There is no run to resume yet; progress->last has the
 * metrics of the weights in pruned.safetensors. Returns an exit status. */
static int say_stopped(const cli_command *self, const struct values *v, FILE *out, int number,
                       const cli_progress_state *progress) {
  fprintf(out ? out : stderr, "stopped: %s\n", mica_error_message());
  const int status = v->json ? cli_print_stopped(self, progress->task, progress->part, &progress->last) : CLI_OK;
  return status == CLI_OK ? 128 + number : status;
}

/* Runs the last training, which mica train can resume. */
static int fit(const cli_command *self, const struct values *v, FILE *out, mica_run *run,
               cli_progress_state *progress) {
  char again[CLI_AGAIN_TEXT] = "mica train --resume --out", cut[CLI_STOP_TEXT];
  cli_add_word(again, sizeof again, v->out);
  if (v->device) cli_add_word(cli_add_word(again, sizeof again, "--device"), sizeof again, v->device);
  const cli_training how = {.json = v->json, .out = out, .folder = v->out, .again = again, .speaks = true};
  progress->task = mica_run_task(run);
  progress->last = (mica_metrics){0};
  progress->samples = 0;
  if (!v->quiet) cli_print_remarks(self, run);
  if (out) cli_train_summary(out, run);
  describe_cut(v, cut);
  cli_train_stop_at_once(&how, run, cut);
  return cli_train_fit(self, &how, run, progress);
}

static int prune(const cli_command *self, const struct values *v, const mica_prune_config *config, FILE *out,
                 cli_progress_state *progress, mica_engine **engine, mica_run **run) {
  mica_engine_config how = mica_engine_config_default();
  how.device = v->device;
  cli_compile_with(self, &how);
  if (mica_engine_create(&how, engine) != MICA_OK) return cli_fail_library(self);
  mica_status made = mica_run_prune(*engine, config, run);
  cli_stop_in_order();
  if (made == MICA_E_STATE && *config->stop) return say_stopped(self, v, out, *config->stop, progress);
  if (made == MICA_OK) return fit(self, v, out, *run, progress);
  cli_fail_library(self);
  return made == MICA_E_INVALID ? CLI_USAGE : CLI_FAILED;
}

/* Runs --masks: writes a copy of the run in which the smallest weights of each layer are 0. Returns an exit status. */
static int mask(const cli_command *self, const struct values *v) {
  mica_mask_config config = {.folder = v->out};
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  int64_t zeros = 0, weights = 0;
  int status = cli_refuse_ranks(self);
  if (status == CLI_OK) status = cli_number(self, "masks", v->masks, 0.01, 0.99, &config.share);
  if (status != CLI_OK) return status;
  if (!v->out || v->flops || v->method || v->steps || v->data || v->settings.count) {
    cli_fail(self, v->out ? "--masks does not train; leave out --flops, --method, --steps, --data and settings"
                          : "--out is missing: the folder of the masked run");
    return CLI_USAGE;
  }
  status = cli_open_run(self, v->run, v->device, &engine, &run);
  if (status == CLI_OK && mica_run_mask(run, &config, &zeros, &weights) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK && v->json)
    printf("{\"zeros\":%lld,\"weights\":%lld}\n", (long long)zeros, (long long)weights);
  else if (status == CLI_OK && !v->quiet)
    printf(
        "%s: %lld of %lld weights are 0; the network computes as much as before, only a compressed file is smaller\n",
        cli_clean(v->out), (long long)zeros, (long long)weights);
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

static int run_prune(const cli_command *self, const void *given) {
  const struct values *v = given;
  if (v->masks) return mask(self, v);
  FILE *out = v->quiet ? NULL : v->json ? stderr : stdout;
  cli_progress_state progress = {.out = out};
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  mica_prune_config config = {.run = v->run,
                              .data = v->data,
                              .folder = v->out,
                              .flops = 0.5,
                              .settings = v->settings.list,
                              .setting_count = v->settings.count,
                              .report = cli_train_report,
                              .user = &progress};
  int status = check(self, v, &config);
  if (status != CLI_OK) return status;
  if (v->quiet) cli_compile_silently();
  char task[64] = "";
  if (v->json) find_task(self, v->run, task);
  if (*task) progress.task = task;
  config.stop = cli_stop_flag();
  cli_stop_note_folder(v->out);
  stop_at_once(v, out, task);
  cli_stop_catch();
  status = prune(self, v, &config, out, &progress, &engine, &run);
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_prune = {
    .name = "prune",
    .summary = "remove channels and heads from a trained network, then train the rest",
    .details = "\nChannels are removed together with everything that depends on them, through\n"
               "residuals, concatenations, depthwise convolutions and norms. Attention heads (or\n"
               "whole groups of grouped queries), hidden units of transformers and units of\n"
               "recurrent layers are removed too. The network is trained for an epoch after each\n"
               "step, and for --epochs after the last.\n"
               "\n"
               "DIR is an ordinary run with narrower layers. mica eval, predict, generate and\n"
               "export open it, mica train --resume continues its last training, and mica train\n"
               "--init takes its weights.\n"
               "\n"
               "These cannot be removed: channels that pass through a group norm, heads with\n"
               "ALiBi positions, and the residual stream of transformers. The settings that\n"
               "shape the network, such as model, layers, width, heads and tokenizer, cannot be\n"
               "changed. Settings that are not given are the run's, except: --epochs is half of\n"
               "the run's, --lr is 0.3 times the run's, and there is neither warm-up nor a\n"
               "teacher. A run that is stopped between the steps leaves\n"
               "DIR/pruned.safetensors for mica train --init.\n"
               "\n"
               "With --masks, weights are set to 0 and layers keep their sizes. The network\n"
               "computes no less than before; only a compressed file is smaller.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .settings_at = offsetof(struct values, settings),
    .of_run = true,
    .run = run_prune,
};
