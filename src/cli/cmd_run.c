#include "cli/compiling.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/onnx_check.h"
#include "cli/onnx_feeds.h"
#include "cli/onnx_output.h"
#include "cli/result.h"

#include <math.h>
#include <mica/io.h>
#include <mica/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct values {
  const char *model, *shape, *seed, *out, *check, *repeat, *profile, *precision, *device;
  cli_words input;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPTIONAL_OPERAND, .help = "ONNX model"),
    CLI_ROW("input", struct values, input, .value = "NAME=FILE",
            .help = "file with an input, .npy or .pb; repeat it for several inputs (default: random numbers)"),
    CLI_ROW("shape", struct values, shape, .value = "NAME=1x3x224x224",
            .help = "shape of a random input; several are separated by commas, as in a=1x3,b=1x5 (default: the "
                    "model's; dimensions that it leaves open are 1; sounds last one second)"),
    CLI_ROW("seed", struct values, seed, .value = "N",
            .help = "seed of random inputs and of operators that draw at random (default 0)"),
    CLI_ROW("out", struct values, out, .value = "DIR",
            .help = "write outputs to DIR/<number>_<name>.npy, texts to .txt; never overwrites"),
    CLI_ROW("check", struct values, check, .value = "DIR",
            .help =
                "compare outputs with the recordings DIR/test_data_set_<n>; without MODEL: check all models below DIR"),
    CLI_ROW("repeat", struct values, repeat, .value = "N",
            .help = "run the model N more times and print their median time (default: not timed)"),
    CLI_ROW("profile", struct values, profile, .value = "FILE",
            .help = "profile one more run: print a table of kernels and write a Chrome trace to FILE"),
    CLI_ROW("precision", struct values, precision, .value = "TYPE",
            .help = "type of products and of the values between them: f32, f16 or bf16 (default f32)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

/* An output on the host. */
typedef struct result {
  mica_onnx_port port;
  mica_dtype dtype;
  mica_shape shape;
  void *data;
} result;

static int fetch(const cli_command *self, mica_queue *queue, const mica_onnx_runner *runner, size_t i, result *r) {
  const mica_tensor *tensor = mica_onnx_output(runner, i);
  *r = (result){mica_onnx_output_port(mica_onnx_runner_model(runner), i), mica_tensor_dtype(tensor),
                mica_tensor_shape(tensor), malloc(mica_tensor_bytes(tensor) + 1)};
  if (!r->data) return cli_fail(self, "there is not enough memory");
  return mica_tensor_download(queue, tensor, r->data, mica_tensor_bytes(tensor)) == MICA_OK ? CLI_OK
                                                                                            : cli_fail_library(self);
}

/* Sets path to DIR/<number>_<name>.npy, or .txt for texts. Characters of the output's name other than letters, digits,
 * '.', '-' and '_' become '_'. */
static int name_result(const cli_command *self, const char *folder, size_t i, const mica_onnx *model, char path[4096]) {
  char name[96];
  snprintf(name, sizeof name, "%.80s", mica_onnx_output_port(model, i).name);
  for (char *c = name; *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *c)) *c = '_';
  const int n = snprintf(path, 4096, "%s/%zu_%s.%s", folder, i, name, mica_onnx_is_text(model, i) ? "txt" : "npy");
  return n < 0 || n >= 4096 ? cli_fail(self, "the path %s is too long", folder) : CLI_OK;
}

/* Writes a line per element. */
static int write_texts(const cli_command *self, const char *path, const cli_onnx_output *output) {
  int64_t count = 0;
  char *text = NULL;
  size_t bytes = 0;
  FILE *lines = open_memstream(&text, &bytes);
  if (!lines) return cli_fail(self, "there is not enough memory");
  if (mica_shape_count(output->shape, &count) != MICA_OK) count = 0;
  for (int64_t i = 0; i < count; i++) fprintf(lines, "%s\n", cli_onnx_output_text(output, i));
  int status = fclose(lines) ? cli_fail(self, "there is not enough memory") : CLI_OK;
  if (status == CLI_OK && mica_file_write(path, text, bytes) != MICA_OK) status = cli_fail_library(self);
  free(text);
  return status;
}

static int write_result(const cli_command *self, const char *folder, const mica_onnx *model, size_t i,
                        const cli_onnx_output *output) {
  char path[4096];
  const int status = name_result(self, folder, i, model, path);
  if (status != CLI_OK) return status;
  if (output->texts) return write_texts(self, path, output);
  return mica_npy_write(path, output->dtype, output->shape, output->data) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

/* Refuses to overwrite files; this is checked before the model runs. */
static int refuse_results(const cli_command *self, const char *folder, const mica_onnx *model) {
  int status = CLI_OK;
  for (size_t i = 0; status == CLI_OK && i < mica_onnx_output_count(model); i++) {
    char path[4096];
    status = name_result(self, folder, i, model, path);
    if (status == CLI_OK) status = cli_refuse_file(self, path, "choose another folder with --out");
  }
  return status;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The first option given that cannot be combined with --check; NULL if there is no such option. */
static const char *beside_check(const struct values *v) {
  return v->input.count ? "input"
         : v->shape     ? "shape"
         : v->seed      ? "seed"
         : v->out       ? "out"
         : v->repeat    ? "repeat"
         : v->profile   ? "profile"
         : v->precision ? "precision"
                        : NULL;
}

/* Runs the model n times and finds the median and the 95th percentile of its times, in milliseconds. */
static int measure(const cli_command *self, mica_queue *queue, mica_onnx_runner *runner, const cli_onnx_feeds *feeds,
                   int64_t n, double *median, double *p95) {
  double *times = calloc((size_t)n, sizeof *times);
  if (!times) return cli_fail(self, "there is not enough memory");
  mica_status status = MICA_OK;
  for (int64_t i = 0; status == MICA_OK && i < n; i++) {
    double begin = now();
    status = mica_onnx_run(runner, queue, feeds->feeds, feeds->count);
    if (status == MICA_OK) status = mica_queue_finish(queue);
    times[i] = 1e3 * (now() - begin);
  }
  qsort(times, (size_t)n, sizeof *times, compare_doubles);
  *median = times[n / 2];
  *p95 = times[n * 95 / 100];
  free(times);
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

/* Profiles one more run: writes its launches to a trace file and, without --json, prints the table of kernels. */
static int profile(const cli_command *self, const struct values *v, mica_engine *engine, mica_onnx_runner *runner,
                   const cli_onnx_feeds *feeds) {
  char *text = NULL;
  mica_queue *queue = mica_engine_queue(engine);
  mica_status status = mica_profile_start(engine);
  if (status == MICA_OK) status = mica_onnx_run(runner, queue, feeds->feeds, feeds->count);
  if (status == MICA_OK) status = mica_queue_finish(queue);
  if (status == MICA_OK) status = mica_profile_stop(engine);
  if (status == MICA_OK) status = mica_profile_write_trace(engine, v->profile);
  if (status == MICA_OK && !v->json) status = mica_profile_text(engine, &text);
  if (status == MICA_OK && text) fputs(text, stdout);
  mica_free(text);
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

static int report(const cli_command *self, const struct values *v, mica_queue *queue, const mica_onnx_runner *runner,
                  int64_t repeat, double median, double p95) {
  cli_json json;
  cJSON *list = NULL;
  int status = CLI_OK;
  if (v->json) {
    cli_json_begin(&json);
    list = cli_json_array(&json, json.root, "outputs");
  }
  for (size_t i = 0; status == CLI_OK && i < mica_onnx_output_count(mica_onnx_runner_model(runner)); i++) {
    result r;
    status = fetch(self, queue, runner, i, &r);
    const mica_onnx *model = mica_onnx_runner_model(runner);
    const bool texts = mica_onnx_is_text(model, i) && r.dtype == MICA_I64;
    const cli_onnx_output output = {r.port.name, r.dtype, r.shape, r.data, texts ? model : NULL, i};
    if (status == CLI_OK && v->out) status = write_result(self, v->out, model, i, &output);
    if (status == CLI_OK && v->json) cli_onnx_output_add(&json, list, &output);
    if (status == CLI_OK && !v->json) cli_onnx_output_print(&output);
    free(r.data);
  }
  if (repeat && v->json) {
    cli_json_real(&json, json.root, "median_ms", median);
    cli_json_real(&json, json.root, "p95_ms", p95);
  } else if (repeat) {
    printf("median %.3f ms, 95 %% below %.3f ms\n", median, p95);
  }
  if (!v->json) return status;
  int printed = cli_json_print(&json, self);
  return status == CLI_OK ? printed : status;
}

#define F16_MOST 65504.0

/* Warns of each f32 weight that has a finite element too large for f16, and prints its first such element. */
static int warn_of_weights(const cli_command *self, const mica_onnx *model) {
  for (size_t i = 0; i < mica_onnx_describe(model).weights; i++) {
    const char *name = NULL;
    mica_dtype dtype = MICA_F32;
    mica_shape shape = MICA_SCALAR;
    void *data = NULL;
    int64_t count = 0;
    if (mica_onnx_initial_read(model, i, &name, &dtype, &shape, &data) != MICA_OK) return cli_fail_library(self);
    if (dtype != MICA_F32 || mica_shape_count(shape, &count) != MICA_OK) count = 0;
    for (int64_t k = 0; k < count; k++) {
      const double weight = (double)((const float *)data)[k];
      if (!(fabs(weight) > F16_MOST) || isinf(weight)) continue;
      fprintf(
          stderr,
          "mica run: weight '%s' holds %g, but the largest f16 is %g, so it becomes infinite; use --precision bf16\n",
          cli_clean(name), weight, F16_MOST);
      break;
    }
    mica_free(data);
  }
  return CLI_OK;
}

static bool draws_at_random(const mica_onnx *model) {
  static const char *const names[] = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                      "RandomUniformLike", "Bernoulli",        "Multinomial"};
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (strcmp(mica_onnx_operator_at(model, i).name, names[k]) == 0) return true;
  return false;
}

static int run_model(const cli_command *self, const struct values *v, mica_engine *engine, mica_onnx *model,
                     int64_t seed, int64_t repeat) {
  mica_onnx_runner_config config = {.dtype = MICA_F32, .seed = (uint64_t)seed};
  if (cli_precision(self, v->precision, &config.dtype) != CLI_OK) return CLI_USAGE;
  if (v->seed && v->input.count >= mica_onnx_input_count(model) && !draws_at_random(model)) {
    cli_fail(self, "--seed has no effect: all inputs are given and no operator is random");
    return CLI_USAGE;
  }
  cli_onnx_feeds *feeds = calloc(1, sizeof *feeds);
  if (!feeds) return cli_fail(self, "there is not enough memory");
  mica_onnx_runner *runner = NULL;
  mica_queue *queue = mica_engine_queue(engine);
  double median = 0, p95 = 0;
  int status = v->out ? refuse_results(self, v->out, model) : CLI_OK;
  if (status == CLI_OK && config.dtype == MICA_F16) status = warn_of_weights(self, model);
  if (status == CLI_OK) status = cli_onnx_feeds_make(feeds, self, model, v->input, v->shape, (uint64_t)seed);
  if (status == CLI_OK && mica_onnx_runner_create(engine, model, &config, &runner) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && mica_onnx_run(runner, queue, feeds->feeds, feeds->count) != MICA_OK) {
    const bool short_one = mica_error_status() == MICA_E_SHAPE && !v->shape && !v->input.count;
    const char *open = short_one ? cli_onnx_open_input(model) : NULL;
    status = open ? cli_fail(self, "%s; give the input's length with --shape %s=1x...", mica_error_message(), open)
                  : cli_fail_library(self);
  }
  if (status == CLI_OK && repeat) status = measure(self, queue, runner, feeds, repeat, &median, &p95);
  if (status == CLI_OK && v->profile) status = profile(self, v, engine, runner, feeds);
  if (status == CLI_OK) status = report(self, v, queue, runner, repeat, median, p95);
  mica_onnx_runner_destroy(runner);
  cli_onnx_feeds_free(feeds);
  free(feeds);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  int64_t seed = 0, repeat = 0;
  mica_engine *engine = NULL;
  mica_onnx *model = NULL;
  mica_engine_config config = mica_engine_config_default();
  config.device = v->device;
  cli_compile_with(self, &config);
  if (!v->model && !v->check) {
    cli_fail(self, "MODEL is missing; mica run --help shows the usage");
    return CLI_USAGE;
  }
  if (v->check && beside_check(v)) {
    cli_fail(self, "give --%s or --check, not both: --check reads recorded inputs", beside_check(v));
    return CLI_USAGE;
  }
  int status = cli_integer(self, "seed", v->seed, 0, INT64_MAX, &seed);
  if (status == CLI_OK) status = cli_integer(self, "repeat", v->repeat, 1, 1000000, &repeat);
  if (status == CLI_OK) status = cli_refuse_null(self, v->device);
  if (status != CLI_OK) return status;
  if (v->model && mica_onnx_open(v->model, &model) != MICA_OK) return cli_fail_library(self);
  if (mica_engine_create(&config, &engine) != MICA_OK)
    status = cli_fail_library(self);
  else if (v->check)
    status = model ? cli_onnx_check_model(self, engine, model, v->check, v->json)
                   : cli_onnx_check_all(self, engine, v->check, v->json);
  else
    status = run_model(self, v, engine, model, seed, repeat);
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_run = {
    .name = "run",
    .summary = "run a model in ONNX, or check it against recorded outputs",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
