/* The network of a run, its optimiser, and the weights that training begins with. */
#include "run/network.h"
#include "base/number.h"
#include "base/signature.h"
#include "data/source.h"
#include "ir/graph.h"
#include "nn/nn.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/learning.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/shared_settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/settings.h"
#include "run/units.h"
#include "run/verbs/distil.h"
#include "run/verbs/imported.h"
#include "run/verbs/published.h"
#include "run/verbs/quantizer.h"

#include <math.h>
#include <mica/compress.h>
#include <mica/foundation.h>
#include <mica/nodes.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sides up to this are tried, so that a message can say which pictures the network takes. */
#define MOST_LEAST_SIDE 64
#define MODEL "model.safetensors"

/* Default settings of each model, measured on Fashion-MNIST and CIFAR-10; the last row is for all other models. */
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

static bool is_set(const mica_run *run, mica__common_setting setting) { return *mica__common_typed(run, setting); }

static const char *usual_network(const mica_run *run) {
  const mica__common_facts facts = mica__common_facts_of(run);
  if (facts.input.count != 3) return "mlp";
  return facts.classes.list ? "convnet" : "cnn";
}

/* Sets the settings that were left out to the values that suit the model. */
static mica_status set_defaults(mica_run *run) {
  const struct model_defaults *d = defaults;
  if (!is_set(run, MICA__SETTING_model) && !run->task->input->networks)
    MICA_TRY(mica__common_set(run, MICA__SETTING_model, usual_network(run)));
  while (*d->model && strcmp(d->model, mica__common_settings_of(run).model) != 0) d++;
  if (!is_set(run, MICA__SETTING_optimizer)) MICA_TRY(mica__common_set(run, MICA__SETTING_optimizer, d->optimizer));
  const char *optimizer = mica__common_typed(run, MICA__SETTING_optimizer);
  const bool usual = !strcmp(optimizer, d->optimizer);
  if (!is_set(run, MICA__SETTING_lr))
    MICA_TRY(mica__common_set_number(run, MICA__SETTING_lr, usual ? d->lr : usual_rate(optimizer)));
  if (!is_set(run, MICA__SETTING_weight_decay))
    MICA_TRY(mica__common_set_number(run, MICA__SETTING_weight_decay, usual ? d->weight_decay : 0));
  if (is_set(run, MICA__SETTING_schedule)) return MICA_OK;
  return mica__common_set(run, MICA__SETTING_schedule,
                          mica__common_settings_of(run).warm_up > 0 ? "cosine" : "one_cycle");
}

/* Checks that the network takes the run's inputs and gives one answer per sample. */
static mica_status check_network(const mica_run *run) {
  if (run->task->input->networks) return MICA_OK;
  const char *name = mica__common_settings_of(run).model;
  size_t i = 0;
  const size_t rank = mica__common_facts_of(run).input.count;
  while (mica_model_name(i) && strcmp(mica_model_name(i), name) != 0) i++;
  if (!mica_model_name(i))
    return mica__fail(MICA_E_INVALID, "the network %s is not for the task %s", name, run->task->name);
  if (!strcmp(name, "unet") || !strcmp(name, "detector"))
    return mica__fail(MICA_E_INVALID,
                      "the network %s gives an answer for each %s, but the task %s needs one per sample", name,
                      *name == 'u' ? "pixel" : "point", run->task->name);
  const mica_model_family family = mica_model_family_of(i);
  if (family == MICA_MODEL_FAMILY_TABLE || (family == MICA_MODEL_FAMILY_IMAGE && rank == 3)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "the network %s takes %s, but %s has %s", name,
                    family == MICA_MODEL_FAMILY_IMAGE ? "pictures" : "tokens", run->data ? run->data : "the dataset",
                    rank == 3  ? "pictures"
                    : rank > 1 ? "arrays"
                               : "rows of a table");
}

mica_value mica__run_answers(const mica_run *run, mica_value z, int64_t outputs) {
  const mica_shape shape = mica_value_shape(z);
  if (run->networks->like && z.graph && shape.dim[shape.rank - 1] != outputs)
    return mica__graph_fail(z.graph, MICA_E_FORMAT,
                            "the file of pruned weights has %lld answers, but the data need %lld",
                            (long long)shape.dim[shape.rank - 1], (long long)outputs);
  return mica_value_dtype(z) == MICA_F32 ? z : mica_cast(z, MICA_F32);
}

const char *mica__run_picture_model_at(size_t i) {
  static const char *const others[] = {"unet", "detector"};
  const char *name;
  for (size_t k = 0; (name = mica_model_name(k)); k++) {
    const bool other =
        mica_model_family_of(k) != MICA_MODEL_FAMILY_IMAGE || !strcmp(name, others[0]) || !strcmp(name, others[1]);
    if (!other && i-- == 0) return name;
  }
  return NULL;
}

mica_value mica__run_network(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs) {
  if (run->networks->network) return mica__imported_build(run, nn, x, outputs);
  if (run->networks->published) return mica__published_build(run, nn, x, (mica_value){0}, outputs);
  const mica_model_config config = {
      .name = mica__common_settings_of(run).model, .classes = outputs, .width = mica__shared_settings_of(run).width};
  return mica__run_answers(run, mica_model_build(nn, x, &config), outputs);
}

mica_dtype mica__run_precision(const mica_run *run) {
  const char *name =
      run->settings->precision ? run->settings->precision : mica__common_typed(run, MICA__SETTING_precision);
  return !strcmp(name, "f16") ? MICA_F16 : !strcmp(name, "bf16") ? MICA_BF16 : MICA_F32;
}

mica_nn_config mica__run_building(const mica_run *run) {
  return (mica_nn_config){.dtype = mica__run_precision(run),
                          .hook = run->training.hook,
                          .hook_user = run->training.hook_user,
                          .like = run->networks->like};
}

static mica_status evaluate(void *user, mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics) {
  mica_run *run = user;
  /* The trainer passes itself. While it is being created, the run has no trainer yet, and nothing is tested. */
  run->trainer = trainer;
  return run->task->evaluate ? run->task->evaluate(run, source, metrics) : MICA_OK;
}

static mica_status configure(mica_run *run, mica_trainer_config *c) {
  const mica__common_settings s = mica__common_settings_of(run);
  mica_optimizer optimizer;
  MICA_TRY(mica_optimizer_find(mica__common_typed(run, MICA__SETTING_optimizer), &optimizer));
  MICA_TRY(mica_schedule_find(mica__common_typed(run, MICA__SETTING_schedule), &c->schedule.kind));
  c->step = mica__distil_step;
  c->step_config = run;
  c->test_columns = run->parts->columns;
  c->test_column_count = run->parts->column_count;
  c->evaluate = evaluate;
  c->evaluate_user = run;
  c->dtype = mica__run_precision(run);
  c->seed = (uint64_t)s.seed;
  c->like = run->networks->like;
  c->optimizer = mica_optimizer_config_default(optimizer);
  c->optimizer.weight_decay = s.weight_decay;
  c->optimizer.clip_norm = s.clip_norm;
  MICA_TRY(mica_compression_find(mica__common_typed(run, MICA__SETTING_compress), &c->optimizer.compress));
  c->sync_norm = run->config.communicator && s.sync_norm;
  c->optimizer.accumulate = (int32_t)s.accumulate;
  c->optimizer.ema = s.ema;
  if (c->dtype == MICA_F16) c->optimizer.loss_scale = 65536;
  c->schedule.rate = s.lr;
  /* exponential: a factor per epoch; step: one per third of the epochs */
  c->schedule.every = (int64_t)mica_run_epoch_of(run).batches;
  if (c->schedule.kind == MICA_SCHEDULE_STEP) c->schedule.every *= (s.epochs + 2) / 3;
  c->schedule.warmup = s.warm_up;
  if (c->schedule.warmup && c->schedule.kind == MICA_SCHEDULE_ONE_CYCLE)
    return mica__fail(MICA_E_INVALID, "the schedule one_cycle has its own warm-up; leave warm-up out");
  c->freeze = *s.freeze ? s.freeze : NULL;
  c->epochs = s.epochs;
  c->patience = s.patience;
  c->checkpoint_steps = s.checkpoint_steps;
  c->watch = run->task->metrics[0].name;
  c->falling = run->task->metrics[0].falling;
  if (run->task->configures) run->task->configures(run, c);
  MICA_TRY(mica__run_set_tolerance(run, c));
  return run->parts->at[MICA_PART_TRAIN].loader ? mica__run_configure_layout(run, c) : MICA_OK;
}

/* The number of weights of the network, and how many of them are frozen. */
static size_t count_weights(const mica_nn *nn, size_t *frozen) {
  size_t all = 0;
  *frozen = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    all += info->role == MICA_NN_ROLE_WEIGHT;
    *frozen += info->role == MICA_NN_ROLE_WEIGHT && info->frozen;
  }
  return all;
}

/* Remarks how many weights are frozen. The trainer has already refused a pattern that freezes nothing. */
static mica_status remark_frozen(mica_run *run, const mica_nn *nn) {
  const char *pattern = run->training.freeze;
  size_t frozen = 0;
  const size_t all = count_weights(nn, &frozen);
  if (!pattern || run->resumed || !run->parts->at[MICA_PART_TRAIN].loader) return MICA_OK;
  return mica__run_remark(run, "%zu of %zu weights are frozen by %s", frozen, all, pattern);
}

/* True if the run's network can be built for pictures of this size. */
static bool takes_size(const mica_run *run, int64_t channels, int64_t height, int64_t width) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  const mica_nn_config config = {.dtype = mica__run_precision(run)};
  mica__attempt_begin();
  bool takes = mica_graph_create(&graph) == MICA_OK && mica_nn_create(graph, &config, &nn) == MICA_OK;
  if (takes)
    mica__run_network(run, nn, mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, channels, height, width)), 2);
  takes = takes && mica_graph_status(graph) == MICA_OK;
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica__attempt_end();
  return takes;
}

/* A network halves pictures several times. If the pictures are too small for that, replaces the message by one that has
 * the smallest possible side. */
static mica_status explain_shape(const mica_run *run, mica_status status) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  if (status != MICA_E_SHAPE || run->networks->network || run->networks->published || run->networks->like ||
      run->task->input->networks || input.count != 3)
    return status;
  const int64_t channels = (int64_t)input.list[0], height = (int64_t)input.list[1], width = (int64_t)input.list[2];
  int64_t side = 1;
  if (takes_size(run, channels, height, width)) return status;
  while (side <= MOST_LEAST_SIDE && !takes_size(run, channels, side, side)) side++;
  if (side > MOST_LEAST_SIDE || (height >= side && width >= side)) return status;
  return mica__fail(MICA_E_SHAPE,
                    "pictures of %lldx%lld are too small for the network %s: their sides must be at least %lld "
                    "(--size %lld, for pictures in folders)",
                    (long long)height, (long long)width, mica__common_settings_of(run).model, (long long)side,
                    (long long)side);
}

static mica_status make_trainer(mica_run *run, const mica_trainer_config *config, mica_trainer **trainer) {
  mica_status status = explain_shape(run, mica_trainer_create(run->engine, config, trainer));
  if (status == MICA_OK) status = mica__distil_load(run, *trainer);
  return status;
}

/* The number of rows of a table in the file that a pruned network takes its widths from, or 0 if the file lacks the
 * table. */
static int64_t rows_of(const mica_run *run, const char *name) {
  const mica_safetensors_entry *e = run->networks->like ? mica_safetensors_find(run->networks->like, name) : NULL;
  return e && e->shape.rank == 2 ? e->shape.dim[0] : 0;
}

/* Checks that a pruned network has a vector for each token and each position that the run needs. */
static mica_status check_tables(const mica_run *run) {
  static const char *const names[] = {"positions.weight", "encoder.positions.weight"};
  const double tokens = mica__common_facts_of(run).vocabulary;
  const int64_t known = rows_of(run, "embed.weight");
  if (known && tokens > 0 && tokens != (double)known)
    return mica__fail(MICA_E_FORMAT, "the file of pruned weights has %lld tokens, but the tokeniser has %.0f",
                      (long long)known, tokens);
  for (size_t i = 0; tokens > 0 && i < sizeof names / sizeof *names; i++) {
    const int64_t rows = rows_of(run, names[i]);
    const mica__shared_settings s = mica__shared_settings_of(run);
    const int64_t reach = s.length > s.context ? s.length : s.context;
    if (rows && reach > rows)
      return mica__fail(MICA_E_FORMAT,
                        "the file of pruned weights has %lld positions, but %lld are needed; lower length or context",
                        (long long)rows, (long long)reach);
  }
  return MICA_OK;
}

mica_status mica__run_make_trainer(mica_run *run) {
  mica_trainer_config *c = &run->training;
  MICA_TRY(mica__imported_open(run));
  MICA_TRY(set_defaults(run));
  if (!run->networks->network && !run->networks->published) MICA_TRY(check_network(run));
  MICA_TRY(configure(run, c));
  c->columns = run->parts->columns;
  c->column_count = run->parts->column_count;
  if (run->parts->at[MICA_PART_TRAIN].loader) {
    const mica_batch_source source = mica_loader_source(run->parts->at[MICA_PART_TRAIN].loader);
    c->columns = source.columns;
    c->column_count = source.column_count;
  }
  MICA_TRY(mica__run_add_quantizer(run, c));
  if (run->parts->at[MICA_PART_TRAIN].loader) {
    if (mica__common_settings_of(run).find_lr && !run->resumed) {
      MICA_TRY(mica__run_find_rate(run));
      c->schedule.rate = mica__common_settings_of(run).lr;
    }
  }
  MICA_TRY(check_tables(run));
  MICA_TRY(make_trainer(run, c, &run->trainer));
  return remark_frozen(run, mica_trainer_network(run->trainer));
}

/* --- weights to begin with --- */

mica_status mica__run_take_init(mica_run *run) {
  const char *folder = mica__common_settings_of(run).init;
  mica__text path = {0};
  if (run->resumed || !mica__is_folder(folder) || mica_foundation_is(folder)) return MICA_OK;
  mica__text_addf(&path, "%s/" MODEL, folder);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK && access(path.data, R_OK) == 0) status = mica__common_set(run, MICA__SETTING_init, path.data);
  mica__text_free(&path);
  return status;
}

mica_status mica__run_take_widths(mica_run *run, const char *path) {
  const double one = 1;
  const bool pruned = mica__common_facts_of(run).pruned.list != NULL;
  mica_safetensors *file = NULL;
  if (!*path) return MICA_OK;
  if (mica__is_model_file(path) || mica_foundation_is(path)) return MICA_OK; /* models have their own widths */
  MICA_TRY(mica_safetensors_open(path, &file));
  if (!pruned && !mica_safetensors_metadata(file, MICA_PRUNED_KEY)) {
    mica_safetensors_close(file);
    return MICA_OK;
  }
  mica_safetensors_close(run->networks->like);
  run->networks->like = file;
  return mica__run_note_numbers(run, "pruned", &one, 1);
}

/* Checks columns and classes against config.json of the run that made a file of weights, because weights know a table's
 * columns only by position. If there is no config.json of a run beside the file, nothing is checked, and a remark says
 * so. */
static mica_status check_columns(mica_run *run, const char *path) {
  const char *slash = strrchr(path, '/');
  unsigned char *text = NULL;
  size_t size = 0;
  mica__text beside = {0};
  mica_run *origin = mica__run_new();
  mica__text_add_bytes(&beside, path, slash ? (size_t)(slash + 1 - path) : 0);
  mica__text_add(&beside, "config.json");
  mica_status status = origin ? mica__text_status(&beside) : mica__fail_nomem("a run");
  mica__attempt_begin();
  const bool known = status == MICA_OK && mica__file_read(beside.data, &text, &size) == MICA_OK &&
                     mica__run_parse_config(origin, beside.data, (const char *)text) == MICA_OK;
  mica__attempt_end();
  if (known) status = mica__signature_demand(beside.data, text, size);
  if (known && status == MICA_OK) status = mica__units_check_columns(run, origin, path);
  if (status == MICA_OK && !known && mica__units_number_name(run, 0))
    status = mica__run_remark(
        run, "init: %s does not say which columns it reads, so columns are taken in the order of the table", path);
  free(text);
  mica__text_free(&beside);
  mica_run_destroy(origin);
  return status;
}

/* If less than 1/LEAST_FIT of the network's weights are in the file, it is refused as a file of another network,
 * because a few weights always fit by chance. If only the last layer or the inputs are new, more than that fit. A rank
 * that holds only part of the network cannot judge by its own weights. */
#define LEAST_FIT 2

/* How much of the network a file provides. */
typedef struct fit {
  size_t taken, weights, all; /* tensors that fit; weights among them; all weights of this rank's network */
  mica__text first;           /* the first weight that does not fit, and why */
} fit;

static bool is_fitting(const mica_safetensors_entry *entry, const mica_tensor *tensor) {
  return entry && entry->dtype == mica_tensor_dtype(tensor) &&
         mica_shape_equal(entry->shape, mica_tensor_shape(tensor));
}

static void note_misfit(fit *f, const char *name, const mica_safetensors_entry *entry, const mica_tensor *tensor) {
  char is[MICA_SHAPE_TEXT], wanted[MICA_SHAPE_TEXT];
  if (f->first.length) return;
  if (!entry)
    mica__text_addf(&f->first, "%s is not in the file", name);
  else
    mica__text_addf(&f->first, "%s is %s %s in the file and %s %s in the network", name, mica_dtype_name(entry->dtype),
                    mica_shape_format(entry->shape, is), mica_dtype_name(mica_tensor_dtype(tensor)),
                    mica_shape_format(mica_tensor_shape(tensor), wanted));
}

/* Loads the tensors of the file whose name, shape and type fit. */
static mica_status take_fitting(mica_run *run, const mica_safetensors *file, fit *f) {
  mica_nn *nn = mica_trainer_network(run->trainer);
  mica_session *session = mica_trainer_session(run->trainer);
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    const mica_safetensors_entry *entry = mica_safetensors_find(file, info->name);
    const bool weight = info->role == MICA_NN_ROLE_WEIGHT;
    if (!tensor || info->role == MICA_NN_ROLE_OPTIMIZER) continue;
    f->all += weight;
    const bool fits = is_fitting(entry, tensor);
    if (fits) status = mica_tensor_upload(mica_engine_queue(run->engine), tensor, entry->data, entry->bytes);
    if (!fits && weight) note_misfit(f, info->name, entry, tensor);
    f->taken += fits;
    f->weights += fits && weight;
  }
  return status == MICA_OK ? mica__text_status(&f->first) : status;
}

/* Remarks on how much was loaded. MICA_E_FORMAT if too little of the network was in the file. */
static mica_status say_taken(mica_run *run, const char *path, const fit *f) {
  const char *model = mica__common_settings_of(run).model;
  const bool divided = mica__run_is_divided(run);
  if (!f->taken && !divided) {
    mica__text names = {0};
    mica__nn_list_weights(mica_trainer_network(run->trainer), &names);
    mica__fail(MICA_E_FORMAT, "init: no tensor of %s fits the network %s by name and shape; the network has %s", path,
               model, names.data ? names.data : "none");
    mica__text_free(&names);
    return MICA_E_FORMAT;
  }
  if (f->weights * LEAST_FIT < f->all && !divided)
    return mica__fail(
        MICA_E_FORMAT,
        "init: %s is of another network: %zu of %zu weights of %s fit by name and shape, and half of them "
        "must (%s); choose its network with --model",
        path, f->weights, f->all, model, f->first.data);
  if (f->weights == f->all)
    return mica__run_remark(run, "%zu of %zu weights are taken from %s", f->weights, f->all, path);
  return mica__run_remark(run, "%zu of %zu weights are taken from %s, the others begin at random: %s", f->weights,
                          f->all, path, f->first.data);
}

static mica_status take_weights(mica_run *run, const char *path) {
  mica_safetensors *file = NULL;
  fit f = {0};
  if (mica_foundation_is(path))
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "init: %s is a published model, but the task %s cannot start from one with these inputs; tasks such "
        "as text, classify and regress can",
        path, run->task->name);
  MICA_TRY(check_columns(run, path));
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status =
      mica_safetensors_metadata(file, "mica.quantized")
          ? mica__fail(MICA_E_FORMAT,
                       "init: the weights in %s are quantised already; name the run that they were quantised from",
                       path)
          : take_fitting(run, file, &f);
  mica_safetensors_close(file);
  if (status == MICA_OK) status = say_taken(run, path, &f);
  mica__text_free(&f.first);
  return status;
}

mica_status mica__run_set_out(mica_run *run) {
  const char *init = mica__common_settings_of(run).init;
  if (run->task->begin) MICA_TRY(run->task->begin(run));
  if (run->networks->network)
    MICA_TRY(mica__imported_load(run));
  else if (run->networks->published)
    MICA_TRY(mica__published_load(run));
  else if (*init)
    MICA_TRY(take_weights(run, init));
  return mica__run_begin_steps(run);
}

/* --- weights that are kept --- */

/* True if all numbers are finite: an exponent of all ones means an infinity or a NaN. */
static bool is_finite(const mica_safetensors_entry *e) {
  const unsigned char *bytes = e->data;
  const size_t size = e->dtype == MICA_F32 ? 4 : 2;
  const unsigned high = e->dtype == MICA_F16 ? 0x7c00u : 0x7f80u;
  if (e->dtype != MICA_F32 && e->dtype != MICA_F16 && e->dtype != MICA_BF16) return true;
  for (size_t i = size; i <= e->bytes; i += size)
    if ((((unsigned)bytes[i - 1] << 8 | bytes[i - 2]) & high) == high) return false;
  return true;
}

static mica_status check_finite(mica_run *run, const char *path) {
  mica_safetensors *file = NULL;
  const mica_safetensors_entry *wrong = NULL;
  MICA_TRY(mica_safetensors_open(path, &file));
  for (size_t i = 0; !wrong && i < mica_safetensors_count(file); i++)
    if (!is_finite(mica_safetensors_at(file, i))) wrong = mica_safetensors_at(file, i);
  mica_status status =
      wrong ? mica__fail(MICA_E_FORMAT, MODEL ": '%s' holds numbers that are not finite", wrong->name) : MICA_OK;
  if (status == MICA_OK) status = mica__run_note_weights_epoch(run, file);
  mica_safetensors_close(file);
  return status;
}

mica_status mica__run_load_weights(mica_run *run) {
  mica_nn *nn = mica_trainer_test_network(run->trainer);
  char *path = mica__run_path(run, MODEL);
  char *last = mica__run_path(run, "last.safetensors");
  const bool begun = path && last && access(path, F_OK) != 0 && access(last, F_OK) == 0;
  free(last);
  if (!path) return mica__fail_nomem("a run");
  mica_status status =
      begun ? mica__fail(MICA_E_NOT_FOUND,
                         "the run in %s has no %s yet; wait for its first epoch if it is still training, "
                         "else mica train --resume --out %s goes on",
                         run->folder, MODEL, run->folder)
            : check_finite(run, path);
  if (status == MICA_OK) status = mica_nn_load(nn, mica_trainer_test_session(run->trainer), path, NULL);
  free(path);
  return mica__run_damaged(run, MODEL, status);
}

/* --- the learning rate --- */

#define SWEEP_STEPS 100
#define SWEEP_FROM 1e-6
#define SWEEP_TO 1.0
/* The sweep ends when the smoothed loss is this many times its lowest value. */
#define SWEEP_WORSE 4.0

/* The rate at which the smoothed loss was lowest, divided by ten: above that rate training begins to diverge (Smith
 * 2017). */
static mica_status sweep(mica_trainer *trainer, const mica_batch_source *source, mica_queue *queue, double *found) {
  const double growth = pow(SWEEP_TO / SWEEP_FROM, 1.0 / SWEEP_STEPS);
  double smooth = 0, lowest = INFINITY, rate = SWEEP_FROM;
  *found = SWEEP_FROM;
  MICA_TRY(source->seek(source->user, 0, 0));
  for (int i = 0; i < SWEEP_STEPS; i++, rate *= growth) {
    mica_batch batch = {0};
    mica_metrics metrics;
    MICA_TRY(source->next(source->user, queue, &batch));
    if (!batch.count) MICA_TRY(source->next(source->user, queue, &batch));
    if (!batch.count) break;
    MICA_TRY(mica_trainer_step(trainer, &batch));
    mica__attempt_begin();
    mica_status status = mica_trainer_take_metrics(trainer, &metrics);
    if (status != MICA_OK && status != MICA_E_NUMERIC) return mica__attempt_pass(status);
    mica__attempt_end();
    if (status == MICA_E_NUMERIC) break;
    smooth = i ? 0.9 * smooth + 0.1 * metrics.loss : metrics.loss;
    if (smooth < lowest) lowest = smooth, *found = rate;
    if (smooth > SWEEP_WORSE * lowest && i > 10) break;
  }
  *found /= 10;
  return MICA_OK;
}

mica_status mica__run_find_rate(mica_run *run) {
  const mica_batch_source source = mica_loader_source(run->parts->at[MICA_PART_TRAIN].loader);
  mica_trainer_config config = run->training;
  mica_trainer *trainer = NULL;
  char text[32];
  double rate = 0;
  config.schedule = (mica_schedule_config){.kind = MICA_SCHEDULE_EXPONENTIAL, .rate = SWEEP_FROM, .every = 1};
  config.schedule.gamma = pow(SWEEP_TO / SWEEP_FROM, 1.0 / SWEEP_STEPS);
  config.folder = NULL;
  config.report = NULL;
  MICA_TRY(make_trainer(run, &config, &trainer));
  /* The sweep starts from the same weights as the training. */
  run->trainer = trainer;
  mica_status status = mica__run_set_out(run);
  if (status == MICA_OK) status = sweep(trainer, &source, mica_engine_queue(run->engine), &rate);
  run->trainer = NULL;
  mica_trainer_destroy(trainer);
  MICA_TRY(status);
  mica__snprintf(text, sizeof text, "%.3g", rate);
  return mica__common_set(run, MICA__SETTING_lr, text);
}
