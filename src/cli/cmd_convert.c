#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"
#include <ctype.h>

#include <mica/foundation.h>
#include <mica/model.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct values {
  const char *from, *to, *type, *model, *shape, *opset, *device;
  bool force;
};

static const cli_option options[] = {
    CLI_ROW("IN", struct values, from, .role = CLI_OPERAND,
            .help = "file to read: safetensors, ONNX or GGUF; or the folder of a published model"),
    CLI_ROW("OUT", struct values, to, .role = CLI_OPERAND, .help = "file to write: .onnx, .safetensors or .gguf"),
    CLI_ROW("type", struct values, type, .value = "TYPE",
            .help = "to GGUF: type of matrices, as in q4_k, q8_0 or f16 (default: unchanged)"),
    CLI_ROW("model", struct values, model, .value = "NAME", .help = "to ONNX: network that the weights belong to",
            .names = mica_model_name),
    CLI_ROW("shape", struct values, shape, .value = "3x224x224",
            .help = "to ONNX: shape of a sample (default: 1x28x28 for mlp, lenet and cnn; any number of tokens for "
                    "networks of texts; else 3x224x224)"),
    CLI_ROW("opset", struct values, opset, .value = "N", .help = "ONNX operator set, 17 to 23 (default 17)"),
    CLI_ROW("force", struct values, force, .help = "overwrite an existing file"),
    CLI_DEVICE_ROW(struct values),
    {0},
};

static bool ends_in(const char *path, const char *end) {
  const size_t n = strlen(path), m = strlen(end);
  return n > m && !strcmp(path + n - m, end);
}

static int usage(const cli_command *self, const char *sentence) {
  cli_fail(self, "%s", sentence);
  return CLI_USAGE;
}

/* --- from ONNX --- */

typedef struct weights {
  mica_safetensors_entry *list;
  size_t count;
} weights;

/* Reads the initial values of the model. Returns an exit status, after an error message on failure. */
static int read_weights(const cli_command *self, const mica_onnx *model, weights *w) {
  for (;;) {
    const char *name = NULL;
    mica_dtype dtype;
    mica_shape shape;
    void *data = NULL;
    int64_t count = 0;
    mica_status status = mica_onnx_initial_read(model, w->count, &name, &dtype, &shape, &data);
    if (status != MICA_OK) return cli_fail_library(self);
    if (!name) return CLI_OK;
    mica_safetensors_entry *grown = realloc(w->list, (w->count + 1) * sizeof *grown);
    if (!grown || mica_shape_count(shape, &count) != MICA_OK) {
      mica_free(data);
      if (grown) w->list = grown;
      return cli_fail(self, "there is not enough memory for the list of weights");
    }
    w->list = grown;
    grown[w->count++] = (mica_safetensors_entry){
        .name = name, .dtype = dtype, .shape = shape, .data = data, .bytes = (size_t)count * mica_dtype_size(dtype)};
  }
}

/* Moves tensors that are scalars or have an integer or bool dtype to the end of the list, because they are parameters
 * of nodes, not weights. Returns the number of weights, which now come first. */
static size_t drop_small(weights *w) {
  size_t kept = 0, all = w->count;
  for (size_t i = 0; i < all; i++) {
    const bool weight = mica_dtype_kind_of(w->list[i].dtype) == MICA_DTYPE_KIND_FLOAT && w->list[i].shape.rank > 0;
    mica_safetensors_entry entry = w->list[i];
    if (weight) {
      w->list[i] = w->list[kept];
      w->list[kept++] = entry;
    }
  }
  return kept;
}

static int from_onnx(const cli_command *self, const struct values *v) {
  mica_onnx *model = NULL;
  weights w = {0};
  if (mica_onnx_open(v->from, &model) != MICA_OK) return cli_fail_library(self);
  int status = read_weights(self, model, &w);
  const size_t kept = status == CLI_OK ? drop_small(&w) : 0;
  if (status == CLI_OK && !kept)
    status = cli_fail(self, "%s holds no weights of a floating-point type; only such weights are converted", v->from);
  if (status == CLI_OK && mica_safetensors_write(v->to, w.list, kept, NULL, 0) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) printf("written   %s: %zu tensors\n", cli_clean(v->to), kept);
  for (size_t i = 0; i < w.count; i++) mica_free((void *)(uintptr_t)w.list[i].data);
  free(w.list);
  mica_onnx_close(model);
  return status;
}

/* --- to ONNX --- */

/* Parses --shape, the shape of one sample such as "3x224x224", and puts a dynamic batch dimension before it. Without
 * --shape, *shape becomes the usual shape for the network. False if the text is not a shape. */
static bool shape_of(const struct values *v, size_t network, mica_shape *shape) {
  const mica_model_family family = mica_model_family_of(network);
  const bool small = !strcmp(v->model, "mlp") || !strcmp(v->model, "lenet") || !strcmp(v->model, "cnn");
  *shape = family == MICA_MODEL_FAMILY_TOKENS ? MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC)
           : small                            ? MICA_SHAPE(MICA_DYNAMIC, 1, 28, 28)
                                              : MICA_SHAPE(MICA_DYNAMIC, 3, 224, 224);
  if (!v->shape) return true;
  const char *at = v->shape;
  for (shape->rank = 1; shape->rank < MICA_MAX_RANK; shape->rank++) {
    char *end = NULL;
    const long long extent = strtoll(at, &end, 10);
    if (!isdigit((unsigned char)*at) || extent < 1 || extent > 1 << 20) return false;
    shape->dim[shape->rank] = extent;
    if (!*end) {
      shape->rank++;
      return true;
    }
    if (*end != 'x') return false;
    at = end + 1;
  }
  return false;
}

/* The network, with the widths and weights of the file. */
typedef struct network {
  mica_safetensors *file;
  mica_graph *graph;
  mica_value x, y;
  mica_nn *nn;
  mica_engine *engine;
  mica_session *session;
} network;

static void destroy(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
  mica_engine_destroy(n->engine);
  mica_safetensors_close(n->file);
}

static mica_status load_network(const struct values *v, size_t index, mica_shape shape, network *n) {
  mica_engine_config config = mica_engine_config_default();
  const bool tokens = mica_model_family_of(index) == MICA_MODEL_FAMILY_TOKENS && shape.rank == 2;
  const mica_model_config about = {.name = v->model};
  config.device = v->device;
  mica_status status = mica_safetensors_open(v->from, &n->file);
  if (status == MICA_OK) status = mica_graph_create(&n->graph);
  if (status == MICA_OK) status = mica_nn_create(n->graph, &(mica_nn_config){.like = n->file}, &n->nn);
  if (status != MICA_OK) return status;
  n->x = mica_input(n->graph, "x", tokens ? MICA_I32 : MICA_F32, shape);
  n->y = mica_model_build(n->nn, n->x, &about);
  if (mica_graph_status(n->graph) != MICA_OK) return mica_graph_status(n->graph);
  status = mica_engine_create(&config, &n->engine);
  if (status == MICA_OK) status = mica_session_create(n->engine, n->graph, &n->y, 1, NULL, &n->session);
  return status == MICA_OK ? mica_nn_load(n->nn, n->session, v->from, NULL) : status;
}

/* Sets name to the first weight of the network that the file lacks, or to "" if the file has all of them. */
static void find_missing(const char *model, const mica_safetensors *file, mica_dtype dtype, mica_shape shape,
                         char name[128]) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  *name = '\0';
  if (mica_graph_create(&graph) == MICA_OK && mica_nn_create(graph, NULL, &nn) == MICA_OK)
    mica_model_build(nn, mica_input(graph, "x", dtype, shape), &(mica_model_config){.name = model});
  for (size_t i = 0; nn && !*name && i < mica_nn_parameter_count(nn); i++) {
    const char *own = mica_nn_parameter_at(nn, i)->name;
    if (!mica_safetensors_find(file, own)) snprintf(name, 128, "%s", own);
  }
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* Says why the graph failed: the file belongs to another network, or its layers do not fit the shape. */
static int fail_graph(const cli_command *self, const struct values *v, const network *n) {
  char name[128] = "";
  if (n->x.graph) find_missing(v->model, n->file, mica_value_dtype(n->x), mica_value_shape(n->x), name);
  if (*name)
    return cli_fail(self, "%s belongs to another network than %s: the file has no tensor '%s'", v->from, v->model,
                    name);
  return cli_fail(self, "%s cannot be used as weights of %s: %s", v->from, v->model, mica_graph_message(n->graph));
}

/* Refuses a file with a tensor NAME.weight that the network lacks (optimiser state is allowed). Such a file belongs to
 * another network, so the converted model would compute something else. */
static int refuse_spare(const cli_command *self, const struct values *v, const network *n) {
  for (size_t i = 0; i < mica_safetensors_count(n->file); i++) {
    const char *name = mica_safetensors_at(n->file, i)->name;
    bool known = !ends_in(name, ".weight") || !strncmp(name, "optimizer.", strlen("optimizer."));
    for (size_t k = 0; !known && k < mica_nn_parameter_count(n->nn); k++)
      known = !strcmp(name, mica_nn_parameter_at(n->nn, k)->name);
    if (!known)
      return cli_fail(self, "%s belongs to another network than %s, which has no tensor '%s'", v->from, v->model, name);
  }
  return CLI_OK;
}

static int to_onnx(const cli_command *self, const struct values *v) {
  network n = {0};
  size_t index = 0;
  mica_shape shape;
  int64_t opset = 0;
  int status = cli_integer(self, "opset", v->opset, 17, 23, &opset);
  if (status != CLI_OK) return status;
  if (!v->model) return usage(self, "--model NAME is missing: the network that the weights belong to");
  while (mica_model_name(index) && strcmp(mica_model_name(index), v->model) != 0) index++;
  if (!mica_model_name(index)) {
    cli_fail(self, "--model cannot be \"%s\"; mica convert --help lists the networks", v->model);
    return CLI_USAGE;
  }
  if (!shape_of(v, index, &shape))
    return usage(self, "--shape must be the shape of a sample, 1 to 7 extents of 1 to 1048576, as in 3x224x224");
  if (load_network(v, index, shape, &n) != MICA_OK)
    status = n.graph && mica_graph_status(n.graph) != MICA_OK ? fail_graph(self, v, &n) : cli_fail_library(self);
  const mica_onnx_write_config how = {
      .opset = opset, .session = n.session, .output_names = (const char *const[]){"logits"}, .name = v->model};
  if (status == CLI_OK) status = refuse_spare(self, v, &n);
  if (status == CLI_OK && mica_onnx_write(v->to, &n.y, 1, &how) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) printf("written   %s\n", cli_clean(v->to));
  destroy(&n);
  return status;
}

/* --- GGUF --- */

static int check_gguf(const cli_command *self, const struct values *v) {
  if (!mica_foundation_is(v->from))
    return usage(self, "a GGUF file is made from a published model: its folder or GGUF file");
  if (v->model || v->shape || v->opset || v->device)
    return usage(self, "--model, --shape, --opset and --device are for ONNX");
  return CLI_OK;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  struct stat about;
  if (ends_in(v->to, ".gguf")) {
    const int status = check_gguf(self, v);
    if (status != CLI_OK) return status;
    return cli_model_write(self, v->from, NULL, v->to, v->type, v->force, false);
  }
  if (v->type) return usage(self, "--type is for an OUT that ends in .gguf");
  const bool from = ends_in(v->from, ".onnx"), to = ends_in(v->to, ".onnx");
  if (stat(v->from, &about) == 0 && S_ISDIR(about.st_mode))
    return usage(self, "IN is a folder: mica export RUN --onnx FILE writes a run as a model");
  if (from == to || (from && !ends_in(v->to, ".safetensors")))
    return usage(self, "one of IN and OUT must end in .onnx, the other in .safetensors");
  if (from && (v->model || v->shape || v->opset || v->device)) {
    cli_fail(self, "--%s is for writing ONNX; weights are read from ONNX unchanged",
             v->model   ? "model"
             : v->shape ? "shape"
             : v->opset ? "opset"
                        : "device");
    return CLI_USAGE;
  }
  if (lstat(v->to, &about) == 0 && !(v->force && S_ISREG(about.st_mode)))
    return cli_fail(self,
                    S_ISREG(about.st_mode) ? "%s is there already; --force writes over it"
                                           : "%s is not a regular file, and is not written over; name another file",
                    v->to);
  return from ? from_onnx(self, v) : to_onnx(self, v);
}

const cli_command cli_command_convert = {
    .name = "convert",
    .summary = "convert weights between safetensors, ONNX and GGUF",
    .details = "\nTo ONNX: --model names the network; its widths and its number of classes come\n"
               "from the file. From ONNX: weights keep the file's names. If Mica wrote the file,\n"
               "these are the network's names, except that recurrent layers have ONNX's names\n"
               "and order of gates.\n"
               "\n"
               "To GGUF: a published language model is written with its tokenizer and chat\n"
               "template. --type converts matrices: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1,\n"
               "q8_0, q4_k, q5_k, q6_k, mxfp4. The output layer gets at least 6 bits per weight.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
