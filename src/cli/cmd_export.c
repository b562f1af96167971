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
    CLI_ROW("onnx", struct values, onnx, .value = "FILE", .help = "ONNX file to write (required)"),
    CLI_ROW("opset", struct values, opset, .value = "N", .help = "ONNX operator set, 17 to 23 (default 17)"),
    CLI_ROW("force", struct values, force, .help = "overwrite an existing file"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: file, opset, nodes and weights"),
    {0},
};

/* Reads the written file again and prints a description of it. Fails if the file cannot be read. */
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
  if (lstat(v->onnx, &about) == 0 && !S_ISREG(about.st_mode))
    return cli_fail(self, "%s is not a regular file, and is not written over; name another file", v->onnx);
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
    .details = "\n"
               "The model takes any number of samples. It carries metadata, whose keys are\n"
               "\"quoted\" below: mica info FILE shows them. mica run computes every exported\n"
               "model. mica predict --model FILE accepts exported classify and regress models.\n"
               "\n"
               "Pictures     Input \"image\": (u8 / 255 - \"mean\") / \"deviation\" per channel.\n"
               "             Scale a picture of another size until it covers the size of the\n"
               "             input, then crop its centre. Grey is 0.299 red + 0.587 green +\n"
               "             0.114 blue.\n"
               "Tables       Input \"x\": (number - \"mean\") / \"deviation\" per column, in the order\n"
               "             of \"columns\". If the model has \"bases\", first subtract the column's\n"
               "             base in f64. A missing number is replaced by the column's number in\n"
               "             \"fills\". Each column of classes (\"categories\" names them) is an\n"
               "             input of its own: the index of the class in its column, from 0, or\n"
               "             -1 for an unknown class. \"category_names\" lists the classes of all\n"
               "             columns, one column after the other; \"category_classes\" has the\n"
               "             number of classes of each column.\n"
               "Texts        Inputs \"tokens\", \"tokens.length\". Ids come from tokenizer.json in\n"
               "             the run's folder. The model does not contain it, so copy it too.\n"
               "             The number of ids is at most the setting length in \"mica.config\".\n"
               "Speech       Inputs of speak: \"tokens\", code points of a text; \"tokens.length\";\n"
               "             \"speaker\", an index in \"speakers\".\n"
               "Recordings   Input \"sound\": samples from -1 to 1 at \"rate\" per second, of any\n"
               "             length. For speech append 0.4 s of silence.\n"
               "Recommend    Inputs \"user\", \"item\": index in \"users\" or \"items\", counted from 1;\n"
               "             0 is unknown. \"history\" holds indices of items, the oldest first,\n"
               "             padded with zeros at the end; \"history_length\" is their number.\n"
               "             Scores of a ranking are in the order of \"items\", from 1 on.\n"
               "Forecast     Input \"window\": (number - last) / \"scale\" per series, where last is\n"
               "             from the last row. Input \"level\": (last - \"level_mean\") /\n"
               "             \"level_deviation\". Output: such changes of the first \"targets\"\n"
               "             series, \"horizon\" rows.\n"
               "Translate    Inputs: source, its length, and the tokens so far.\n"
               "\n"
               "Classes come as probabilities: the model ends in softmax or sigmoid. Outputs by\n"
               "task:\n"
               "  classify, text, keyword, fuse\n"
               "               \"shares\": probability of each of \"classes\". They add up to 1; if\n"
               "               samples have several labels, each is independent.\n"
               "  segment      \"shares\": probability of each of \"classes\" at each pixel\n"
               "  regress      \"value\": numbers in the units of the answers, not standardised;\n"
               "               add the base of \"answer\" if there is one\n"
               "  depth        \"depth\": of each pixel, in the unit of the depth maps\n"
               "  detect       \"boxes\": left, top, right, bottom of all boxes in pixels;\n"
               "               \"scores\": 0 to 1 per class; before non-maximum suppression\n"
               "  diffuse      \"prediction\": noise or velocity of noisy pictures; a program that\n"
               "               draws calls the model once per step\n"
               "  forecast     \"forecast\": see above\n"
               "  verify       \"embedding\": a vector of length 1; compare by the cosine\n"
               "  speech       \"scores\": per step, log probabilities of the blank (CTC) and of\n"
               "               each letter in \"alphabet\"\n"
               "  speak        \"durations\": log(1 + frames) of the silence before, of each\n"
               "               letter and of the silence after; the sound is not exported\n"
               "  language, translate\n"
               "               \"logits\" of the next token, before softmax\n"
               "\n"
               "To train further: mica train --init FILE. With --stop-at VALUE a new last layer\n"
               "\"head\" follows that value; --freeze '[!h]*' then trains it alone if no other\n"
               "name begins with h.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
