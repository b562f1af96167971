#include "cli/train_adapter.h"

#include "cli/compiling.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/result.h"
#include "cli/stop.h"

#include <mica/finetune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_TEXT 512

/* The options and settings of the command, converted to the library's configurations. */
typedef struct plan {
  const char *model;
  char targets[MOST_TEXT];
  mica_adapter_config adapter;
  mica_conversations_config rows;
  mica_finetune_config training;
} plan;

/* --- options --- */

static int fail_usage(const cli_command *self, const char *what, const char *text) {
  cli_fail(self, "%s, not \"%s\"", what, text);
  return CLI_USAGE;
}

/* Reads one word NAME=VALUE of --lora. */
static int take_word(const cli_command *self, char *word, plan *p) {
  static const char form[] = "--lora wants rank=N, alpha=A, dropout=P, targets=NAME+NAME, rslora or recompute";
  int64_t rank = 0;
  char *value = strchr(word, '=');
  if (!strcmp(word, "rslora")) {
    p->adapter.rslora = true;
    return CLI_OK;
  }
  if (!strcmp(word, "recompute")) {
    p->training.recompute = true;
    return CLI_OK;
  }
  if (!value || !value[1]) return fail_usage(self, form, word);
  *value++ = '\0';
  if (!strcmp(word, "rank")) {
    const int status = cli_integer(self, "lora rank", value, 1, MICA_ADAPTER_MAX_RANK, &rank);
    p->adapter.rank = (int32_t)rank;
    return status;
  }
  if (!strcmp(word, "alpha")) return cli_number(self, "lora alpha", value, 1e-6, 1e6, &p->adapter.alpha);
  if (!strcmp(word, "dropout")) return cli_number(self, "lora dropout", value, 0, 0.99, &p->adapter.dropout);
  if (strcmp(word, "targets") != 0) return fail_usage(self, form, word);
  snprintf(p->targets, sizeof p->targets, "%s", value);
  for (char *c = p->targets; *c; c++)
    if (*c == '+') *c = ',';
  p->adapter.targets = p->targets;
  return CLI_OK;
}

static int take_lora(const cli_command *self, const char *text, plan *p) {
  char copy[MOST_TEXT], *save = NULL;
  if (strlen(text) >= sizeof copy) {
    cli_fail(self, "--lora has %zu characters, but may have at most %zu", strlen(text), sizeof copy - 1);
    return CLI_USAGE;
  }
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    const int status = take_word(self, word, p);
    if (status != CLI_OK) return status;
  }
  return CLI_OK;
}

static int take_setting(const cli_command *self, const mica_setting *s, plan *p) {
  int64_t whole = 0;
  int status = CLI_OK;
  if (!strcmp(s->name, "init")) {
    p->model = s->value;
  } else if (!strcmp(s->name, "epochs")) {
    status = cli_integer(self, s->name, s->value, 1, 1000000, &p->training.epochs);
  } else if (!strcmp(s->name, "lr")) {
    status = cli_number(self, s->name, s->value, 1e-12, 1, &p->training.rate);
  } else if (!strcmp(s->name, "clip-norm")) {
    status = cli_number(self, s->name, s->value, 1e-9, 1e9, &p->training.clip_norm);
  } else if (!strcmp(s->name, "weight-decay")) {
    status = cli_number(self, s->name, s->value, 0, 1, &p->training.weight_decay);
  } else if (!strcmp(s->name, "accumulate")) {
    status = cli_integer(self, s->name, s->value, 1, 1 << 20, &whole);
    p->training.accumulate = (int32_t)whole;
  } else if (!strcmp(s->name, "batch")) {
    status = cli_integer(self, s->name, s->value, 1, 4096, &whole);
    p->rows.batch = (int32_t)whole;
  } else if (!strcmp(s->name, "context")) {
    status = cli_integer(self, s->name, s->value, 2, 1 << 20, &p->rows.context);
  } else if (!strcmp(s->name, "seed")) {
    status = cli_integer(self, s->name, s->value, 0, INT64_MAX, &whole);
    p->training.seed = p->rows.seed = (uint64_t)whole;
  } else if (!strcmp(s->name, "precision")) {
    p->training.dtype = MICA_DTYPE_COUNT;
    for (mica_dtype d = MICA_F32; d < MICA_DTYPE_COUNT; d++)
      if (!strcmp(mica_dtype_name(d), s->value) && (d == MICA_F32 || d == MICA_F16 || d == MICA_BF16))
        p->training.dtype = d;
    if (p->training.dtype == MICA_DTYPE_COUNT)
      return fail_usage(self, "--precision must be f32, f16 or bf16", s->value);
  } else {
    cli_fail(self,
             "--%s is not for --lora, which takes init, epochs, lr, batch, context, accumulate, clip-norm, "
             "weight-decay, precision and seed",
             s->name);
    return CLI_USAGE;
  }
  return status;
}

static int take(const cli_command *self, const cli_lora *lora, plan *p) {
  char path[4096];
  struct stat about;
  int status = take_lora(self, lora->adapter, p);
  for (size_t i = 0; status == CLI_OK && i < lora->settings->count; i++)
    status = take_setting(self, &lora->settings->list[i], p);
  if (status != CLI_OK) return status;
  if (lora->task && strcmp(lora->task, CLI_MODEL_TASK) != 0)
    return fail_usage(self, "--lora is for --task " CLI_MODEL_TASK, lora->task);
  if (!p->model || !lora->data) {
    cli_fail(self, "--lora needs %s",
             p->model ? "--data CHATS.jsonl: the conversations to learn" : "--init MODEL: a published model");
    return CLI_USAGE;
  }
  if (!mica_foundation_is(p->model)) return cli_fail_published(self, p->model);
  if (stat(lora->out, &about) == 0 && !S_ISDIR(about.st_mode))
    return cli_fail(self, "cannot write to the folder %s: Not a directory", lora->out);
  snprintf(path, sizeof path, "%s/last.safetensors", lora->out);
  const bool begun = lstat(path, &about) == 0;
  snprintf(path, sizeof path, "%s/adapter_config.json", lora->out);
  if (!lora->resume && (begun || lstat(path, &about) == 0))
    return cli_fail(self, "%s has an adapter already; continue it with --resume, or choose another folder with --out",
                    lora->out);
  return CLI_OK;
}

/* --- training --- */

typedef struct shown {
  cli_progress_state progress;
  double loss;
} shown;

static bool report(void *user, const mica_train_progress *p) {
  shown *s = user;
  if (p->event == MICA_TRAIN_EVENT_EPOCH) s->loss = p->training.loss;
  return cli_progress_report(&s->progress, p);
}

static int say_done(const cli_command *self, const cli_lora *lora, const plan *p, const mica_conversations_info *info,
                    const shown *s) {
  cli_json json;
  if (s->progress.out)
    fprintf(s->progress.out, "adapter   %s: mica chat %s --adapter %s\n", cli_clean(lora->out), cli_clean(p->model),
            cli_clean(lora->out));
  if (!lora->json) return CLI_OK;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", CLI_MODEL_TASK);
  cli_json_text(&json, json.root, "adapter", lora->out);
  cli_json_integer(&json, json.root, "conversations", (uint64_t)info->conversations);
  cli_json_real(&json, json.root, "loss", s->loss);
  return cli_json_print_line(&json, self);
}

typedef struct job {
  const cli_command *self;
  const cli_lora *lora;
  const plan *plan;
} job;

/* Trains one rank on its shard of the conversations. Only rank 0 prints and writes files. */
static int train(const job *j, mica_communicator *communicator, mica_engine *engine, mica_foundation *model,
                 mica_conversations *chats, mica_adapter *adapter) {
  const cli_lora *lora = j->lora;
  const bool speaks = !communicator || communicator->rank == 0;
  const mica_conversations_info info = mica_conversations_describe(chats);
  mica_finetune_config how = j->plan->training;
  shown s = {.progress = {.out = lora->quiet || !speaks ? NULL : lora->json ? stderr : stdout, .task = CLI_MODEL_TASK}};
  if (s.progress.out && communicator) fprintf(s.progress.out, "ranks     %d\n", (int)communicator->ranks);
  if (s.progress.out)
    fprintf(s.progress.out, "data      %s: %lld conversations in %lld rows, %lld tokens of answers\n",
            cli_clean(lora->data), (long long)info.conversations, (long long)info.rows, (long long)info.counted);
  how.training = mica_conversations_source(chats, engine);
  how.communicator = communicator;
  how.folder = lora->out;
  how.resume = lora->resume;
  how.report = report;
  how.user = &s;
  how.stop = cli_stop_flag();
  if (mica_finetune(engine, model, adapter, &how) != MICA_OK) return cli_fail_library(j->self);
  if (speaks && mica_foundation_adapter_save(model, adapter, lora->out, MICA_ADAPTER_FORM_PEFT) != MICA_OK)
    return cli_fail_library(j->self);
  if (!*cli_stop_flag()) return speaks ? say_done(j->self, lora, j->plan, &info, &s) : CLI_OK;
  if (s.progress.out)
    fprintf(s.progress.out, "stopped: %s has the adapter so far; --resume goes on\n", cli_clean(lora->out));
  return 128 + *cli_stop_flag();
}

static int run_rank(cli_ranks *ranks, size_t index, void *user) {
  const job *j = user;
  mica_communicator *communicator = ranks->communicator[index];
  mica_conversations_config rows = j->plan->rows;
  mica_engine_config how = mica_engine_config_default();
  mica_engine *engine = NULL;
  mica_foundation *model = NULL;
  mica_conversations *chats = NULL;
  mica_adapter *adapter = NULL;
  int status = CLI_OK;
  how.device = ranks->device[index];
  cli_compile_with(j->self, &how);
  if (communicator) rows.shard = communicator->rank, rows.shards = communicator->ranks;
  if (mica_foundation_open(j->plan->model, NULL, &model) != MICA_OK ||
      mica_conversations_open(model, j->lora->data, &rows, &chats) != MICA_OK ||
      mica_adapter_create(&j->plan->adapter, &adapter) != MICA_OK || mica_engine_create(&how, &engine) != MICA_OK) {
    status = cli_fail_library(j->self);
    mica_communicator_abort(communicator, mica_error_message());
  }
  if (status == CLI_OK) status = train(j, communicator, engine, model, chats, adapter);
  mica_adapter_destroy(adapter);
  mica_conversations_close(chats);
  mica_foundation_close(model);
  mica_engine_destroy(engine);
  return status;
}

int cli_train_adapter(const cli_command *self, const cli_lora *lora) {
  static cli_ranks ranks;
  plan p = {.model = NULL};
  job j = {self, lora, &p};
  int status = take(self, lora, &p);
  if (status == CLI_OK) status = cli_ranks_begin(self, lora->device, lora->devices, 0, cli_stop_flag(), &ranks);
  if (status != CLI_OK) return status;
  status = cli_ranks_run(self, &ranks, run_rank, &j);
  if (ranks.hangs) {
    fflush(NULL);
    _exit(status);
  }
  cli_ranks_end(&ranks);
  return status;
}
