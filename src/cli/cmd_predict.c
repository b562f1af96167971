#include "cli/json.h"
#include "cli/number.h"
#include "cli/picture.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "cli/trained.h"

#include <stdio.h>

#define PICTURES_A_ROW 5

struct values {
  cli_words images;
  const char *model, *data, *count, *top, *device;
  bool pictures, json;
};

static const cli_option options[] = {
    CLI_ROW("IMAGE", struct values, images, .role = CLI_OPTIONAL_OPERAND, .help = "PNG or JPEG files"),
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "what mica train wrote"),
    CLI_ROW("data", struct values, data, .value = "DATA", .help = "samples of its test part in place of images"),
    CLI_ROW("count", struct values, count, .value = "N", .help = "how many of them; 10"),
    CLI_ROW("top", struct values, top, .value = "K", .help = "the K likeliest classes of each; 3"),
    CLI_ROW("pictures", struct values, pictures, .help = "show the pictures in the terminal"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "run on this one, named as in MICA_DEVICE"),
    CLI_ROW("json", struct values, json, .help = "write JSON"),
    {0},
};

static void print_sample(const cli_samples *s, const cli_run *run, int64_t i, int64_t top, const char *name) {
  const float *shares = s->outputs + i * s->width;
  printf("%-24s", name);
  if (!run->classes) printf("  %.6g", (double)shares[0]);
  for (int64_t k = 0; run->classes && k < top && k < run->classes; k++) {
    int32_t class_index = cli_samples_class(s, i, k);
    printf("%s%s %.1f %%", k ? ", " : "  ", run->class_names[class_index], 100 * (double)shares[class_index]);
  }
  if (s->truth[i] >= 0) {
    bool right = cli_samples_class(s, i, 0) == s->truth[i];
    printf("  %s%s%s", cli_colour_code(right ? CLI_GREEN : CLI_RED), right ? "right" : "wrong: it is ",
           right ? "" : run->class_names[s->truth[i]]);
    printf("%s", cli_colour_code(CLI_PLAIN));
  }
  putchar('\n');
}

static void print_pictures(const cli_samples *s, const cli_run *run) {
  for (int64_t from = 0; from < s->count; from += PICTURES_A_ROW) {
    const char *texts[PICTURES_A_ROW];
    int count = 0;
    for (; count < PICTURES_A_ROW && from + count < s->count; count++)
      texts[count] = run->class_names[cli_samples_class(s, from + count, 0)];
    cli_picture_print((const uint8_t *const *)s->pixels + from, texts, count, (int)run->input.dim[0],
                      (int)run->input.dim[1], (int)run->input.dim[2]);
  }
}

static void add_sample(cli_json *json, cJSON *list, const cli_samples *s, const cli_run *run, int64_t i, int64_t top,
                       const char *name) {
  cJSON *one = cli_json_object(json, list, NULL);
  const float *shares = s->outputs + i * s->width;
  cli_json_text(json, one, "name", name);
  if (s->truth[i] >= 0) cli_json_text(json, one, "truth", run->class_names[s->truth[i]]);
  if (!run->classes) {
    cli_json_real(json, one, "value", (double)shares[0]);
    return;
  }
  cJSON *classes = cli_json_array(json, one, "classes");
  for (int64_t k = 0; k < top && k < run->classes; k++) {
    cJSON *guess = cli_json_object(json, classes, NULL);
    int32_t class_index = cli_samples_class(s, i, k);
    cli_json_text(json, guess, "name", run->class_names[class_index]);
    cli_json_real(json, guess, "probability", (double)shares[class_index]);
  }
}

static int report(const cli_command *self, const struct values *v, const cli_run *run, const cli_samples *s,
                  int64_t top) {
  cli_json json;
  cJSON *list = NULL;
  if (v->json) {
    cli_json_begin(&json);
    list = cli_json_array(&json, json.root, "predictions");
  } else if (v->pictures && run->input.rank == 3 && run->classes &&
             (run->input.dim[0] == 1 || run->input.dim[0] == 3)) {
    print_pictures(s, run);
  }
  for (int64_t i = 0; i < s->count; i++) {
    char number[32];
    snprintf(number, sizeof number, "sample %d", (int)i);
    const char *name = i < (int64_t)v->images.count ? v->images.words[i] : number;
    if (v->json)
      add_sample(&json, list, s, run, i, top, name);
    else
      print_sample(s, run, i, top, name);
  }
  return v->json ? cli_json_print(&json, self) : CLI_OK;
}

static int predict(const cli_command *self, const struct values *v, const cli_trained *trained,
                   const mica_dataset *dataset, int64_t count, int64_t top) {
  const cli_run *run = &trained->run;
  cli_samples s = {0};
  int status = cli_samples_create(&s, self, run, count);
  if (status == CLI_OK)
    status =
        dataset ? cli_samples_read(&s, self, run, dataset, 0) : cli_samples_read_images(&s, self, run, v->images.words);
  if (status == CLI_OK) status = cli_samples_infer(&s, self, run, trained->engine, trained->trainer);
  if (status == CLI_OK) status = report(self, v, run, &s, top);
  cli_samples_free(&s);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  int64_t count = 10, top = 3;
  cli_trained trained = {0};
  mica_dataset *dataset = NULL;
  int status = cli_integer(self, "count", v->count, 1, 100000, &count);
  if (status == CLI_OK) status = cli_integer(self, "top", v->top, 1, 1000, &top);
  if (status != CLI_OK) return status;
  if (!v->model || !v->data == !v->images.count) {
    cli_fail(self, !v->model ? "--model is missing: the folder that mica train wrote"
                             : "pictures or --data, one of the two; mica predict --help shows the usage");
    return CLI_USAGE;
  }
  status = cli_trained_open(&trained, self, v->model, v->device);
  mica_dataset_config config = {.part = MICA_PART_TEST, .regression = trained.run.classes == 0};
  if (status == CLI_OK && v->data && mica_dataset_open(v->data, &config, &dataset) != MICA_OK)
    status = cli_fail_library(self);
  if (!v->data) count = (int64_t)v->images.count;
  if (dataset && (uint64_t)count > mica_dataset_count(dataset)) count = (int64_t)mica_dataset_count(dataset);
  if (status == CLI_OK) status = predict(self, v, &trained, dataset, count, top);
  mica_dataset_destroy(dataset);
  cli_trained_close(&trained);
  return status;
}

const cli_command cli_command_predict = {
    .name = "predict",
    .summary = "what a trained network takes pictures for",
    .details = "\nPictures are scaled and cut to the size that the network was trained on.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
