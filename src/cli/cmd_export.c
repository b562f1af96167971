#include "cli/number.h"
#include "cli/result.h"

#include <mica/onnx.h>
#include <stdio.h>
#include <sys/stat.h>

struct values {
  const char *run, *onnx, *opset, *device;
  bool force, json;
};

static const cli_option options[] = {
    CLI_ROW("RUN", struct values, run, .role = CLI_OPERAND, .help = "folder of the run"),
    CLI_ROW("onnx", struct values, onnx, .value = "FILE", .help = "ONNX file to write"),
    CLI_ROW("opset", struct values, opset, .value = "N", .help = "ONNX operator set, 17 to 23 (default 17)"),
    CLI_ROW("force", struct values, force, .help = "overwrite an existing file"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "device to use, as in MICA_DEVICE"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: file, opset, nodes and weights"),
    {0},
};

/* Reads the file again: what cannot be read is no success. */
static int show(const cli_command *self, const struct values *v) {
  mica_onnx *model = NULL;
  if (mica_onnx_open(v->onnx, &model) != MICA_OK) return cli_fail_library(self);
  const mica_onnx_info about = mica_onnx_describe(model);
  int status = CLI_OK;
  if (v->json) {
    cli_json json;
    cli_json_begin(&json);
    cli_json_text(&json, json.root, "file", v->onnx);
    cli_json_integer(&json, json.root, "opset", (uint64_t)about.opset);
    cli_json_integer(&json, json.root, "nodes", about.nodes);
    cli_json_integer(&json, json.root, "weights", about.weight_elements);
    status = cli_json_print_line(&json, self);
  } else {
    printf("written   %s: operator set %lld, %zu nodes, %llu numbers\n", cli_clean(v->onnx), (long long)about.opset,
           about.nodes, (unsigned long long)about.weight_elements);
  }
  mica_onnx_close(model);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_run_export_config config = {0};
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  struct stat about;
  int status = cli_integer(self, "opset", v->opset, 17, 23, &config.opset);
  if (status != CLI_OK) return status;
  if (!v->onnx) {
    cli_fail(self, "--onnx FILE is missing; mica export --help shows the usage");
    return CLI_USAGE;
  }
  if (lstat(v->onnx, &about) == 0 && !S_ISREG(about.st_mode)) return cli_fail(self, "%s is no file", v->onnx);
  if (lstat(v->onnx, &about) == 0 && !v->force)
    return cli_fail(self, "%s is there already; --force writes over it", v->onnx);
  if (status == CLI_OK) status = cli_open_run(self, v->run, v->device, &engine, &trained);
  if (status == CLI_OK && mica_run_export(trained, v->onnx, &config) != MICA_OK) status = cli_fail_library(self);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status == CLI_OK ? show(self, v) : status;
}

const cli_command cli_command_export = {
    .name = "export",
    .summary = "write a trained network as a model in ONNX",
    .details = "\nInputs take any number of samples. mica info FILE shows the metadata, which are\n"
               "\"quoted\" here, and what inputs and outputs are (their doc strings; the\n"
               "graph's has them all, which onnxruntime shows as graph_description). mica run\n"
               "computes any of these models; mica predict --model FILE predicts by those of\n"
               "classify and regress.\n"
               "\n"
               "Pictures     image is (u8 / 255 - \"mean\") / \"deviation\" of the channel; answers\n"
               "             have the names \"classes\".\n"
               "Tables       x is (number - \"mean\") / \"deviation\" of the column, \"columns\" names\n"
               "             them in order. A column of classes is an input of its name: the\n"
               "             class's number in \"category_names\", which has \"category_classes\"\n"
               "             of each of the \"categories\". Answers of regress are the numbers\n"
               "             themselves. Of columns in \"bases\", {\"NAME\": NUMBER}, that number\n"
               "             is subtracted in 64 bits first; that of \"answer\", the answer's\n"
               "             column, is added to what the model answers.\n"
               "Recordings   sound is numbers from -1 to 1 at \"rate\" samples a second, of any\n"
               "             length; spectra are part of the model (STFT). keyword gives shares\n"
               "             of the \"classes\", speech log probabilities a step, of no letter and\n"
               "             of those of the \"alphabet\"; 0.4 s of silence behind let it end.\n"
               "Recommend    user and item are numbers in \"users\" and \"items\" counted from 1,\n"
               "             not from 0, for ratings and clicks too; 0 stands for those that\n"
               "             training had not. history of a ranking has numbers of items, the\n"
               "             oldest first, from the left on, zeros behind; history_length says\n"
               "             how many. Scores of a ranking are those of all items, the k-th\n"
               "             of \"items\" at k from 1.\n"
               "Forecast     window is (number - last) / \"scale\" of each of the \"series\", last\n"
               "             being its last row's, level is (last - \"level_mean\") /\n"
               "             \"level_deviation\"; answers are such changes of the first \"targets\"\n"
               "             of them, \"horizon\" rows.\n"
               "Translate    logits of the next token behind those of read, given source, its\n"
               "             length and what was read so far.\n"
               "Detect       all boxes and scores, of which the best are to be kept.\n"
               "\n"
               "mica train --init FILE goes on from the weights; with --stop-at VALUE a new last\n"
               "layer \"head\" follows that value, which --freeze '[!h]*' trains alone where no\n"
               "other name begins with h.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
