#include "cli/number.h"
#include "cli/result.h"

#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Standard input is read up to so many bytes. */
#define MOST_INPUT ((size_t)1 << 28)

struct values {
  cli_words inputs;
  const char *model, *data, *count, *top, *out, *device;
  bool pictures, json;
};

static const cli_option options[] = {
    CLI_ROW("INPUT", struct values, inputs, .role = CLI_OPTIONAL_OPERAND,
            .help = "pictures, folders of them, a table; - for a table from standard input"),
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "what mica train wrote"),
    CLI_ROW("data", struct values, data, .value = "DATA", .help = "samples of its test part in place of inputs"),
    CLI_ROW("count", struct values, count, .value = "N", .help = "how many of them; 10"),
    CLI_ROW("top", struct values, top, .value = "K", .help = "the K likeliest classes of each; 3"),
    CLI_ROW("out", struct values, out, .value = "DIR",
            .help = "write pictures that are predicted there, not to MODEL/predictions"),
    CLI_ROW("pictures", struct values, pictures, .help = "show the pictures in the terminal"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "run on this one, named as in MICA_DEVICE"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and predictions"),
    {0},
};

/* All of standard input, the caller's to free; NULL having said what failed. */
static char *read_input(const cli_command *self) {
  size_t size = 0, capacity = 1 << 16;
  char *text = malloc(capacity);
  while (text && size < MOST_INPUT) {
    const size_t got = fread(text + size, 1, capacity - size - 1, stdin);
    size += got;
    if (!got) break;
    if (capacity - size > 1) continue;
    char *grown = realloc(text, capacity *= 2);
    if (!grown) free(text);
    text = grown;
  }
  if (!text) {
    cli_fail(self, "the host has no memory");
    return NULL;
  }
  text[size] = '\0';
  if (size && !ferror(stdin) && size < MOST_INPUT) return text;
  cli_fail(self, size ? "standard input cannot be read, or is too long" : "standard input is empty");
  free(text);
  return NULL;
}

/* Writes the pictures that samples were given as DIR/NUMBER-ITEM.png, and says so unless it is quiet. */
static int write_pictures(const cli_command *self, const char *folder, const mica_report *p, bool quiet) {
  for (size_t s = 0; s < mica_report_count(p); s++)
    for (size_t i = 0; i < mica_report_item_count(p, s); i++) {
      const mica_item *item = mica_report_item(p, s, i);
      char path[4096];
      uint8_t *png = NULL;
      size_t bytes = 0;
      if (!item->planes || !strcmp(item->name, "picture")) continue;
      if (snprintf(path, sizeof path, "%s/%zu-%s.png", folder, s, item->name) >= (int)sizeof path)
        return cli_fail(self, "the path %s is too long", folder);
      mica_status status = mica_png_encode(item->planes, item->shape, &png, &bytes);
      if (status == MICA_OK) status = mica_file_write(path, png, bytes);
      mica_free(png);
      if (status != MICA_OK) return cli_fail_library(self);
      if (!quiet) printf("written   %s\n", path);
    }
  return CLI_OK;
}

/* True if some of what is predicted are pictures, beside those that were given. */
static bool has_pictures(const mica_report *p) {
  for (size_t s = 0; s < mica_report_count(p); s++)
    for (size_t i = 0; i < mica_report_item_count(p, s); i++) {
      const mica_item *item = mica_report_item(p, s, i);
      if (item->planes && strcmp(item->name, "picture") != 0) return true;
    }
  return false;
}

static int show(const cli_command *self, const struct values *v, const mica_run *run, const mica_report *prediction) {
  char head[64];
  char *text = NULL;
  char folder[4096];
  const bool some = has_pictures(prediction);
  if (v->out && !some) {
    cli_fail(self, "--out %s is for pictures that are predicted; the task %s of --model predicts none", v->out,
             mica_run_task(run));
    return CLI_USAGE;
  }
  if (!v->json) cli_print_prediction(prediction, v->pictures);
  /* Pictures of files that were given go to --out or to the run's own folder, those of --data to --out alone. */
  snprintf(folder, sizeof folder, v->out ? "%s" : "%s/predictions", v->out ? v->out : v->model);
  if (some && (v->out || !v->data)) {
    int status = write_pictures(self, folder, prediction, v->json);
    if (status != CLI_OK) return status;
  }
  if (!v->json) return CLI_OK;
  snprintf(head, sizeof head, "\"task\": \"%s\", ", mica_run_task(run));
  if (mica_report_json(prediction, "predictions", head, &text) != MICA_OK) return cli_fail_library(self);
  puts(text);
  mica_free(text);
  return CLI_OK;
}

static int predict(const cli_command *self, const struct values *v, mica_run *run, int64_t count, int64_t top) {
  const bool piped = v->inputs.count == 1 && !strcmp(v->inputs.words[0], "-");
  mica_run_input input = {.top = top};
  mica_report *prediction = NULL;
  char *text = NULL;
  if (v->data) {
    input.data = v->data;
    input.part = MICA_PART_TEST;
    input.count = count;
  } else if (piped) {
    if (!(text = read_input(self))) return CLI_FAILED;
    input.text = text;
    input.name = "standard input";
  } else {
    input.files = (const char *const *)v->inputs.words;
    input.file_count = v->inputs.count;
  }
  int status = mica_run_predict(run, &input, &prediction) == MICA_OK ? CLI_OK : cli_fail_library(self);
  if (status == CLI_OK) status = show(self, v, run, prediction);
  mica_report_destroy(prediction);
  free(text);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  int64_t count = 10, top = 3;
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  int status = cli_integer(self, "count", v->count, 1, 100000, &count);
  if (status == CLI_OK) status = cli_integer(self, "top", v->top, 1, 1000, &top);
  if (status != CLI_OK) return status;
  if (!v->model || !v->data == !v->inputs.count) {
    cli_fail(self, !v->model ? "--model is missing: the folder that mica train wrote"
                             : "inputs or --data, one of the two; mica predict --help shows the usage");
    return CLI_USAGE;
  }
  status = cli_open_run(self, v->model, v->device, &engine, &trained);
  if (status == CLI_OK) status = predict(self, v, trained, count, top);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_predict = {
    .name = "predict",
    .summary = "what a trained network makes of pictures or rows",
    .details = "\nPictures are scaled and cut to the size that the network was trained on; for masks\n"
               "they are taken as they are, in tiles. A table\n"
               "has the columns that it was trained on, with or without the answers; where\n"
               "some of them are classes (colours, say), its first line names the columns.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
