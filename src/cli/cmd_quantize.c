#include "cli/compiling.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/ranks.h"
#include "cli/result.h"

#include <math.h>
#include <mica/run_convert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Maximum number of values in --mean and in --deviation. */
#define MOST_CHANNELS 64

struct values {
  const char *run, *data, *out, *type, *bits, *method, *group, *keep, *samples, *percentile, *mean, *deviation, *device;
  bool weights_only, equalize, no_correction, json;
};

static const char *method_at(size_t i) { return mica_calibration_method_name(i); }

static const cli_option options[] = {
    CLI_ROW("RUN", struct values, run, .role = CLI_OPERAND,
            .help = "folder of a run, ONNX model, or folder or GGUF file of a published model"),
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "calibration data (the training part is used); for ONNX also a folder with a file INPUT.npy per "
                    "input (default: the run's data)"),
    CLI_ROW("out", struct values, out, .value = "DIR",
            .help =
                "folder to write, or file NAME.onnx for an ONNX model, or NAME.gguf for a published model (required)"),
    CLI_ROW("type", struct values, type, .value = "TYPE",
            .help = "published model: type of matrices, as in q4_k (default: q8_0, or q4_k with --bits 4)"),
    CLI_ROW("bits", struct values, bits, .value = "8|4",
            .help = "bits per weight, for ONNX models 8; layer inputs always have 8 (default 8)"),
    CLI_ROW("weights-only", struct values, weights_only, .help = "quantise weights only; needs no data"),
    CLI_ROW("method", struct values, method, .value = "NAME",
            .help = "how to choose the ranges of layer inputs (default mse)", .names = method_at),
    CLI_ROW("percentile", struct values, percentile, .value = "SHARE",
            .help = "method percentile: share of the values of a layer input to keep in range (default 0.9999)"),
    CLI_ROW("samples", struct values, samples, .value = "N",
            .help = "maximum number of calibration samples (default 512)"),
    CLI_ROW("group", struct values, group, .value = "N",
            .help = "runs, with --weights-only: number of weights of an output that share a scale: 32, 64 or 128 "
                    "(default: all weights of the output)"),
    CLI_ROW("keep", struct values, keep, .value = "PATTERN",
            .help = "keep the layers whose names match in floating point, as in \"head.*\" (default: none)"),
    CLI_ROW("mean", struct values, mean, .value = "LIST",
            .help = "ONNX: means to subtract from the data, one per channel; needs --deviation (default: the model's "
                    "metadata, or 0)"),
    CLI_ROW("deviation", struct values, deviation, .value = "LIST",
            .help = "ONNX: standard deviations to divide the data by, after --mean; needs --mean (default: the model's "
                    "metadata, or 1)"),
    CLI_ROW("equalize", struct values, equalize,
            .help = "runs: first equalise the weight ranges of channels between consecutive layers"),
    CLI_ROW("no-correction", struct values, no_correction,
            .help = "do not correct biases for the mean shift that rounding causes"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: a row per layer, file sizes"),
    {0},
};

static bool take_method(const cli_command *self, const char *name, mica_calibration_method *method) {
  size_t i = 0;
  while (name && mica_calibration_method_name(i) && strcmp(mica_calibration_method_name(i), name) != 0) i++;
  *method = (mica_calibration_method)i;
  if (mica_calibration_method_name(i)) return true;
  cli_fail(self, "--method cannot be \"%s\"; choose mse, minmax, percentile or entropy", name);
  return false;
}

/* The first option given that only has an effect if inputs of layers are quantised; NULL if there is no such option. */
static const char *measuring(const struct values *v) {
  return v->data            ? "data"
         : v->samples       ? "samples"
         : v->method        ? "method"
         : v->percentile    ? "percentile"
         : v->no_correction ? "no-correction"
         : v->mean          ? "mean"
         : v->deviation     ? "deviation"
                            : NULL;
}

/* Parses the options for runs and for ONNX models, except --mean and --deviation. Returns an exit status. */
static int take(const cli_command *self, const struct values *v, mica_run_quantize_config *c) {
  int64_t group = 0;
  *c = (mica_run_quantize_config){.data = v->data, .folder = v->out, .equalize = v->equalize};
  c->how.weights_only = v->weights_only;
  c->how.no_correction = v->no_correction;
  c->how.keep = v->keep;
  if (!v->out) {
    cli_fail(self, "--out is missing: name the file or folder of the quantised network");
    return CLI_USAGE;
  }
  if (v->bits && strcmp(v->bits, "8") != 0 && strcmp(v->bits, "4") != 0) {
    cli_fail(self, "--bits cannot be \"%s\"; choose 8 or 4", v->bits);
    return CLI_USAGE;
  }
  if (v->group && strcmp(v->group, "32") != 0 && strcmp(v->group, "64") != 0 && strcmp(v->group, "128") != 0) {
    cli_fail(self, "--group cannot be \"%s\"; choose 32, 64 or 128", v->group);
    return CLI_USAGE;
  }
  if (v->group && !v->weights_only) {
    cli_fail(self, "--group is for --weights-only");
    return CLI_USAGE;
  }
  const char *measured = measuring(v);
  if (v->weights_only && measured) {
    cli_fail(self, "--%s has no effect with --weights-only, which quantises no inputs of layers", measured);
    return CLI_USAGE;
  }
  if (v->percentile && (!v->method || strcmp(v->method, "percentile") != 0)) {
    cli_fail(self, "--percentile is for --method percentile");
    return CLI_USAGE;
  }
  if (cli_integer(self, "group", v->group, 1, 128, &group) != CLI_OK ||
      cli_integer(self, "samples", v->samples, 1, 1000000000, &c->samples) != CLI_OK ||
      cli_number(self, "percentile", v->percentile, 0.5, 1, &c->how.percentile) != CLI_OK ||
      !take_method(self, v->method, &c->how.method))
    return CLI_USAGE;
  c->how.bits = v->bits ? atoi(v->bits) : 0;
  c->how.group = group;
  return CLI_OK;
}

/* --- models in ONNX --- */

static bool is_model(const char *path) {
  const size_t n = strlen(path);
  return n > 5 && !strcmp(path + n - 5, ".onnx");
}

/* Parses a list of numbers such as "0.485,0.456,0.406". Returns their count, or 0 if the text is not such a list or has
 * more than MOST_CHANNELS numbers. */
static size_t take_list(const char *text, double list[MOST_CHANNELS]) {
  for (size_t count = 0; cli_is_plain(text) && count < MOST_CHANNELS;) {
    char *end = NULL;
    list[count++] = strtod(text, &end);
    if (end == text || !isfinite(list[count - 1]) || (*end && *end != ',')) return 0;
    if (!*end) return count;
    text = end + 1;
  }
  return 0;
}

/* Parses the options that apply only to ONNX models, refuses those that apply only to runs, and checks --out and
 * --data. Returns an exit status. */
static int take_model(const cli_command *self, const struct values *v, double scale[2][MOST_CHANNELS],
                      mica_onnx_quantize_config *c) {
  struct stat about;
  size_t counts[2] = {0};
  const char *const texts[2] = {v->mean, v->deviation};
  if ((v->bits && strcmp(v->bits, "8") != 0) || v->group || v->equalize) {
    cli_fail(self, "--%s is for runs; %s is a model in ONNX%s",
             v->group      ? "group"
             : v->equalize ? "equalize"
                           : "bits 4",
             v->run, v->group || v->equalize ? "" : ", which gets weights of 8 bits");
    return CLI_USAGE;
  }
  if (!is_model(v->out)) {
    cli_fail(self, "a quantised ONNX model is a file: --out must end in .onnx, not \"%s\"", v->out);
    return CLI_USAGE;
  }
  if (!v->data && !v->weights_only) {
    cli_fail(self, "--data is missing: calibration needs samples; --weights-only needs none");
    return CLI_USAGE;
  }
  if (!v->mean != !v->deviation) {
    cli_fail(self, "--%s is missing: --%s needs it", v->mean ? "deviation" : "mean", v->mean ? "mean" : "deviation");
    return CLI_USAGE;
  }
  for (int k = 0; k < 2 && v->mean; k++) {
    counts[k] = take_list(texts[k], scale[k]);
    if (counts[k]) continue;
    cli_fail(self, "--%s wants numbers as in 0.485,0.456,0.406, at most %d of them, not \"%s\"",
             k ? "deviation" : "mean", MOST_CHANNELS, texts[k]);
    return CLI_USAGE;
  }
  if (counts[0] != counts[1]) {
    cli_fail(self, "--mean has %zu numbers, but --deviation has %zu; give one of each per channel", counts[0],
             counts[1]);
    return CLI_USAGE;
  }
  if (lstat(v->out, &about) == 0) return cli_fail(self, "%s is there already; choose another file with --out", v->out);
  c->mean = scale[0];
  c->deviation = scale[1];
  c->channels = counts[0];
  return CLI_OK;
}

/* Columns of the report's table of layers; the folded norm is printed in JSON only. */
enum { BITS, WEIGHT, LOW, HIGH, INPUT, FOLDED, NOTE };

static void print_layers(const mica_item *layers) {
  printf("  %-27s %4s %7s %10s %10s %7s\n", "layer", "bits", "dB", "input from", "to", "dB");
  for (size_t r = 0; r < layers->rows; r++) {
    const char *const *row = layers->texts + r * layers->columns;
    printf("  %-27s %4s %7s %10s %10s %7s\n", cli_clean(layers->row_names[r]), *row[BITS] ? row[BITS] : "f32",
           row[WEIGHT], row[LOW], row[HIGH], row[INPUT]);
    if (*row[NOTE]) printf("      %s\n", row[NOTE]);
  }
}

static int print(const cli_command *self, const struct values *v, const mica_report *report) {
  char *text = NULL;
  for (size_t s = 0; s < mica_report_count(report); s++) {
    const mica_item *pairs = mica_report_find(report, s, "pairs of layers");
    if (pairs && pairs->number == 0)
      fprintf(stderr, "mica quantize: equalize does nothing: no two layers are a pair\n");
  }
  if (!v->json) {
    for (size_t s = 0; s < mica_report_count(report); s++) {
      const mica_item *layers = mica_report_find(report, s, "layers");
      if (layers && layers->texts && layers->columns > NOTE) print_layers(layers);
      const mica_item *before = mica_report_find(report, s, "bytes before"),
                      *after = mica_report_find(report, s, "bytes");
      if (!before || !after) continue;
      if (after->number < before->number)
        printf("%s: %.0f bytes, %.2f times smaller than %.0f\n", v->out, after->number, before->number / after->number,
               before->number);
      else
        printf("%s: %.0f bytes, no smaller than %.0f: there are few weights\n", v->out, after->number, before->number);
    }
    return CLI_OK;
  }
  if (mica_report_json(report, "sections", "", &text) != MICA_OK) return cli_fail_library(self);
  puts(text);
  mica_free(text);
  return CLI_OK;
}

static int quantize_model(const cli_command *self, const struct values *v, const mica_run_quantize_config *common) {
  double scale[2][MOST_CHANNELS];
  mica_onnx_quantize_config config = {
      .data = common->data, .samples = common->samples, .how = common->how, .path = v->out};
  mica_engine_config how = mica_engine_config_default();
  mica_engine *engine = NULL;
  mica_report *report = NULL;
  int status = take_model(self, v, scale, &config);
  if (status == CLI_OK) status = cli_refuse_null(self, v->device);
  how.device = v->device;
  cli_compile_with(self, &how);
  if (status == CLI_OK && mica_engine_create(&how, &engine) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK && mica_onnx_quantize(engine, v->run, &config, &report) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = print(self, v, report);
  mica_report_destroy(report);
  mica_engine_destroy(engine);
  return status;
}

/* --- published models --- */

static int quantize_published(const cli_command *self, const struct values *v) {
  const size_t n = v->out ? strlen(v->out) : 0;
  const bool four = v->bits && strcmp(v->bits, "4") == 0;
  if (v->bits && !four && strcmp(v->bits, "8") != 0) {
    cli_fail(self, "--bits must be 8 or 4, not \"%s\"; --type names other types", v->bits);
    return CLI_USAGE;
  }
  if (n < 6 || strcmp(v->out + n - 5, ".gguf") != 0) {
    cli_fail(self, "--out must be a file that ends in .gguf: a published model is quantised to GGUF");
    return CLI_USAGE;
  }
  if (v->data || v->group || v->keep || v->mean || v->deviation || v->equalize || measuring(v)) {
    cli_fail(self, "a published model is quantised without data; give only --type, --bits and --out");
    return CLI_USAGE;
  }
  return cli_model_write(self, v->run, NULL, v->out, v->type ? v->type : four ? "q4_k" : "q8_0", false, v->json);
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  if (mica_foundation_is(v->run)) return quantize_published(self, v);
  if (v->type) {
    cli_fail(self, "--type is for published models; %s is not one", v->run);
    return CLI_USAGE;
  }
  mica_run_quantize_config config;
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  mica_report *report = NULL;
  int status = cli_refuse_ranks(self);
  if (status == CLI_OK) status = take(self, v, &config);
  if (status == CLI_OK && is_model(v->run)) return quantize_model(self, v, &config);
  if (status == CLI_OK && (v->mean || v->deviation)) {
    cli_fail(self, "--mean and --deviation are for models in ONNX: a run knows its own");
    return CLI_USAGE;
  }
  if (status == CLI_OK) status = cli_open_run(self, v->run, v->device, &engine, &trained);
  if (status == CLI_OK && measuring(v) && *mica_run_setting(trained, "quantize")) {
    cli_fail(
        self,
        "--%s has no effect: %s was trained with rounded weights and inputs, and the ranges found in that training "
        "are used; leave the option out",
        measuring(v), v->run);
    status = CLI_USAGE;
  }
  if (status == CLI_OK && mica_run_quantize(trained, &config, &report) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = print(self, v, report);
  mica_report_destroy(report);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_quantize = {
    .name = "quantize",
    .summary = "convert weights and layer inputs of a trained network to integers",
    .details = "\nWrites a run that mica eval, predict and generate open, and prints a line per\n"
               "layer: bits, input range and signal-to-noise ratios in dB. If --bits 4 loses too\n"
               "much accuracy, train with --quantize 4 first.\n"
               "\n"
               "An ONNX model becomes another ONNX model, with QuantizeLinear and\n"
               "DequantizeLinear around the inputs and weights of Conv, Gemm and MatMul.\n"
               "onnxruntime and mica run compute these on integers. Layers that stay in floating\n"
               "point are listed. DATA is a dataset, or a folder with a file INPUT.npy per\n"
               "input, with samples along the first axis.\n"
               "\n"
               "A published language model becomes a GGUF file with quantised matrices.\n"
               "mica convert also writes other types.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
