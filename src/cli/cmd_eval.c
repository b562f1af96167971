#include "cli/model_eval.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/search.h"
#include "cli/tracks.h"

#include <mica/foundation.h>
#include <stdio.h>
#include <string.h>

struct values {
  const char *model, *adapter, *data, *part, *window, *precision, *depth_scale, *device;
  cli_search search;
  bool json, track;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "MODEL",
            .help = "folder of a run, or folder or GGUF file of a published language model (required)"),
    CLI_ROW("adapter", struct values, adapter, .value = "PATH",
            .help = "published models: low-rank adapter, as a PEFT folder or a GGUF file"),
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "data to test on, or a text file for a published model (default: the run's data)"),
    CLI_ROW("part", struct values, part, .value = "PART",
            .help = "part of the data to test on: train, validation or test (default: test; all of DATA if it has no "
                    "parts; without --data, validation if there is no test part)"),
    CLI_ROW("beam", struct values, search.beam, .value = "N",
            .help = "speech: beam width (default: the run's, or 16 with --text-model)"),
    CLI_SEARCH_ROWS(struct values),
    CLI_ROW("window", struct values, window, .value = "N",
            .help = "published models: tokens per window (default: 512, or the model's context if it is shorter)"),
    CLI_ROW("track", struct values, track,
            .help = "detect: follow boxes through the frames DATA/img1 and score the tracks against DATA/gt/gt.txt"),
    CLI_ROW("depth-scale", struct values, depth_scale, .value = "N",
            .help = "depth: values of PNG depth maps per unit of depth (default: the run's)"),
    CLI_ROW("precision", struct values, precision, .value = "TYPE", .help = CLI_PRECISION_HELP),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and metrics"),
    {0},
};

/* Prints the library's message. If DATA is a video of a detection run (it has a folder img1 of frames), adds that
 * --track is the option for videos. Returns CLI_FAILED. */
static int fail_evaluation(const cli_command *self, const struct values *v, const mica_run *run) {
  char frames[4096];
  const int length = snprintf(frames, sizeof frames, "%s/img1", v->data ? v->data : "");
  if (!v->data || length < 0 || (size_t)length >= sizeof frames || !cli_is_folder(frames) ||
      !mica_run_takes(run, MICA_RUN_OPTION_TRACK))
    return cli_fail_library(self);
  return cli_fail(self, "%s; for a video, --track scores tracks in %s against %s/gt/gt.txt", mica_error_message(),
                  frames, v->data);
}

static int evaluate(const cli_command *self, const struct values *v, mica_run *run, mica_part part) {
  mica_metrics metrics;
  mica_report *report = NULL;
  int status = CLI_OK;
  mica_status made = mica_run_evaluate(run, v->data, part, &metrics);
  /* If neither --data nor --part is given and the run's data have no test part, tests on the validation samples. */
  if (made == MICA_E_NOT_FOUND && !v->data && !v->part)
    made = mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &metrics);
  if (made == MICA_OK && v->part && strcmp(v->part, mica_run_evaluated(run)) != 0)
    return cli_fail(self, "%s has no %s part; leave out --part to test on all of it", v->data, v->part);
  if (made != MICA_OK) return fail_evaluation(self, v, run);
  if (mica_run_report(run, &report) != MICA_OK) return cli_fail_library(self);
  cli_print_remarks(self, run);
  if (v->json) {
    status = cli_print_json(self, run, mica_run_evaluated(run), &metrics, report);
  } else {
    cli_print_tables(stdout, report);
    cli_print_metrics(stdout, mica_run_evaluated(run), run, &metrics);
  }
  mica_report_destroy(report);
  return status;
}

/* Prints the perplexity of the text of --data for a published model. Refuses the options that are only for runs. */
static int evaluate_published(const cli_command *self, const struct values *v, int64_t window) {
  const struct {
    const char *name, *value;
  } others[] = {{"part", v->part},
                {"beam", v->search.beam},
                {"text-model", v->search.text_model},
                {"text-order", v->search.order},
                {"text-weight", v->search.weight},
                {"text-bonus", v->search.bonus},
                {"track", v->track ? "" : NULL},
                {"depth-scale", v->depth_scale},
                {"precision", v->precision}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (!others[i].value) continue;
    cli_fail(self, "--%s is for runs; %s is a published model", others[i].name, v->model);
    return CLI_USAGE;
  }
  if (!v->data) {
    cli_fail(self, "--data is missing: a text file for the published model to score");
    return CLI_USAGE;
  }
  return cli_model_eval(self, v->model, v->adapter, v->data, v->device, window, v->json);
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  mica_part part;
  mica_text_search search;
  int64_t window = 0;
  if (!v->model) {
    cli_fail(self, "--model is missing: the folder that mica train wrote, or a published model");
    return CLI_USAGE;
  }
  if (v->track && (!v->data || v->part)) {
    cli_fail(self, v->part ? "--track scores all frames; leave out --part"
                           : "--track needs --data FOLDER, with FOLDER/img1 and FOLDER/gt/gt.txt as in MOTChallenge");
    return CLI_USAGE;
  }
  int status = cli_integer(self, "window", v->window, 2, INT32_MAX, &window);
  if (status == CLI_OK && mica_foundation_is(v->model)) return evaluate_published(self, v, window);
  if (status == CLI_OK && (v->window || v->adapter)) {
    cli_fail(self,
             v->window ? "--window is for published models; %s is not one"
                       : "--adapter is for published models; %s is not one",
             v->model);
    return CLI_USAGE;
  }
  if (status == CLI_OK) status = cli_take_search(self, &v->search, &search);
  if (status == CLI_OK) status = cli_find_part(self, v->part, &part);
  mica_run_open_config how = {.precision = v->precision};
  if (status == CLI_OK) status = cli_number(self, "depth-scale", v->depth_scale, 1e-6, 1e9, &how.depth_scale);
  if (status == CLI_OK) status = cli_open_run_as(self, v->model, &how, v->device, &engine, &trained);
  if (status == CLI_OK && (search.beam || search.text_model) && mica_run_search(trained, &search) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && v->track) status = cli_tracks_check(self, trained);
  if (status == CLI_OK)
    status = v->track ? cli_tracks_eval(self, trained, v->data, v->json) : evaluate(self, v, trained, part);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_eval = {
    .name = "eval",
    .summary = "test a trained network on data with known answers",
    .details = "\nPrints the task's metrics; for classes also precision, recall and F1 per class.\n"
               "If a picture cannot be read, nothing is tested: up to ten such files are named,\n"
               "and the exit status is 1.\n\n"
               "With --track, prints MOTA, MOTP (mean overlap) and IDF1 of the tracks, as the\n"
               "Python package motmetrics computes them, at an overlap of 0.5. Classes are not\n"
               "compared.\n"
               "\n"
               "For a published language model, prints the perplexity of the tokens of a UTF-8\n"
               "text file, in windows that do not overlap. The first token of each window is not\n"
               "scored. The token that begins a text (BOS) is only put before the first window.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
