#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
  cli_words prompts;
  const char *model, *adapter, *length, *temperature, *top_k, *top_p, *repetition, *seed, *window, *schema, *device;
  int cache;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "MODEL",
            .help = "folder of a language run, or folder or GGUF file of a published model (required)"),
    CLI_ROW("adapter", struct values, adapter, .value = "PATH",
            .help = "published models: low-rank adapter, as a PEFT folder or a GGUF file"),
    CLI_ROW("prompt", struct values, prompts, .value = "TEXT",
            .help = "text to continue; repeat it for several texts at once (required)"),
    CLI_ROW("length", struct values, length, .value = "N", .help = "tokens to generate per prompt (default 200)"),
    CLI_ROW("temperature", struct values, temperature, .value = "T",
            .help = "sampling temperature; 0: always the likeliest token (default: 1, or 0.8 for a published model)"),
    CLI_ROW("top-k", struct values, top_k, .value = "K",
            .help = "draw from the K likeliest tokens; 0: from all (default: 0, or 40 for a published model)"),
    CLI_ROW("top-p", struct values, top_p, .value = "P",
            .help = "nucleus sampling: draw from the smallest set of tokens with total probability P (default: 1, or "
                    "0.95 for a published model)"),
    CLI_ROW("repetition", struct values, repetition, .value = "R",
            .help = "repetition penalty; above 1: tokens of the text (published models: of its last 64 tokens) are "
                    "less likely to occur again; 1: off (default 1)"),
    CLI_ROW("seed", struct values, seed, .value = "N", .help = "seed of random tokens (default 0)"),
    CLI_ROW("window", struct values, window, .value = "N",
            .help = "language run: number of last tokens to continue from when the context is full (default: half the "
                    "context)"),
    CLI_ROW("schema", struct values, schema, .value = "FILE",
            .help = "published models: write JSON that satisfies the JSON schema in FILE"),
    CLI_CACHE_ROW(struct values, cache),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and texts"),
    {0},
};

/* A continuation so far. */
typedef struct writing {
  char *bytes;
  size_t count, capacity;
} writing;

typedef struct writings {
  writing *list;
  const char *first; /* the first prompt */
  bool live;         /* the first text is shown as it grows */
  bool begun;        /* the first prompt has been shown */
  bool terminal;     /* control characters are printed as '?' */
  bool failed;
} writings;

static void show(const writings *w, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const unsigned char c = (unsigned char)bytes[i];
    putchar(w->terminal && ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f) ? '?' : c);
  }
}

static void show_first_prompt(writings *w) {
  if (!w->begun) show(w, w->first, strlen(w->first));
  w->begun = true;
}

static bool take(void *user, size_t prompt, const char *bytes, size_t count) {
  writings *w = user;
  writing *own = &w->list[prompt];
  if (own->count + count + 1 > own->capacity) {
    const size_t capacity = 2 * (own->capacity + count) + 64;
    char *grown = realloc(own->bytes, capacity);
    w->failed = w->failed || !grown;
    if (!grown) return false;
    own->bytes = grown;
    own->capacity = capacity;
  }
  memcpy(own->bytes + own->count, bytes, count);
  own->count += count;
  own->bytes[own->count] = '\0';
  if (w->live && prompt == 0) {
    show_first_prompt(w);
    show(w, bytes, count);
    fflush(stdout);
  }
  return true;
}

static int print_json(const cli_command *self, const mica_run *run, const struct values *v, const writings *w) {
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", run ? mica_run_task(run) : CLI_MODEL_TASK);
  cJSON *texts = cli_json_array(&json, json.root, "texts");
  for (size_t i = 0; i < v->prompts.count; i++) {
    cJSON *text = cli_json_object(&json, texts, NULL);
    cli_json_text(&json, text, "prompt", v->prompts.words[i]);
    cli_json_bytes(&json, text, "text", w->list[i].bytes ? w->list[i].bytes : "", w->list[i].count);
  }
  return cli_json_print_line(&json, self);
}

/* Ends the first text, which has been shown already (shows its prompt if nothing was generated), and prints the others.
 */
static void print_rest(const struct values *v, writings *w) {
  show_first_prompt(w);
  putchar('\n');
  for (size_t i = 1; i < v->prompts.count; i++) {
    putchar('\n');
    show(w, v->prompts.words[i], strlen(v->prompts.words[i]));
    show(w, w->list[i].bytes, w->list[i].count);
    putchar('\n');
  }
}

/* Continues the prompts with `run`, or with the published model of --model if run is NULL, and prints the texts. */
static int write_texts(const cli_command *self, const struct values *v, mica_run *run, mica_run_texts *texts) {
  writings w = {.list = calloc(v->prompts.count, sizeof *w.list), .live = !v->json, .terminal = isatty(1)};
  w.first = v->prompts.words[0];
  int status = w.list ? CLI_OK : cli_fail(self, "there is not enough memory");
  texts->text = take;
  texts->user = &w;
  if (status == CLI_OK && !run) {
    status = cli_model_continue(self, v->model, v->adapter, v->device, v->schema, cli_cache_form(v->cache), texts);
  } else if (status == CLI_OK && mica_run_generate(run, texts) != MICA_OK) {
    if (w.begun) putchar('\n');
    status = cli_fail_library(self);
  }
  if (status == CLI_OK && w.failed) status = cli_fail(self, "there is not enough memory");
  if (status == CLI_OK && v->json)
    status = print_json(self, run, v, &w);
  else if (status == CLI_OK)
    print_rest(v, &w);
  for (size_t i = 0; w.list && i < v->prompts.count; i++) free(w.list[i].bytes);
  free(w.list);
  return status;
}

/* Parses the options that have numbers as values. Returns an exit status. */
static int read_numbers(const cli_command *self, const struct values *v, mica_run_texts *t) {
  mica_sampling *s = &t->sampling;
  int64_t seed = 0;
  int status = cli_integer(self, "length", v->length, 1, 1000000000, &t->length);
  if (status == CLI_OK) status = cli_integer(self, "top-k", v->top_k, 0, INT32_MAX, &s->top_k);
  if (status == CLI_OK) status = cli_integer(self, "seed", v->seed, 0, (int64_t)1 << 53, &seed);
  if (status == CLI_OK) status = cli_integer(self, "window", v->window, 1, INT32_MAX, &t->window);
  if (status == CLI_OK) status = cli_number(self, "temperature", v->temperature, 0, 1000, &s->temperature);
  if (status == CLI_OK) status = cli_number(self, "top-p", v->top_p, 1e-6, 1, &s->top_p);
  if (status == CLI_OK) status = cli_number(self, "repetition", v->repetition, 1e-3, 1000, &s->repetition);
  const char *drawing = v->top_k ? "top-k" : v->top_p ? "top-p" : v->seed ? "seed" : NULL;
  if (status == CLI_OK && v->temperature && s->temperature == 0 && drawing) {
    cli_fail(self, "--%s needs random tokens; --temperature 0 always takes the most likely token", drawing);
    return CLI_USAGE;
  }
  if (v->temperature && s->temperature == 0) s->temperature = MICA_ZERO;
  s->seed = (uint64_t)seed;
  return status;
}

static int check_words(const cli_command *self, const struct values *v) {
  if (!v->model || !v->prompts.count) {
    cli_fail(self, !v->model ? "--model is missing: a folder that mica train --task language wrote, or a "
                               "published model"
                             : "--prompt is missing: the text to be continued");
    return CLI_USAGE;
  }
  for (size_t i = 0; i < v->prompts.count; i++) {
    if (*v->prompts.words[i]) continue;
    cli_fail(self, "prompt %zu is empty", i + 1);
    return CLI_USAGE;
  }
  return CLI_OK;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_run_texts texts = {.prompts = (const char *const *)v->prompts.words, .prompt_count = v->prompts.count};
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  int status = check_words(self, v);
  if (status == CLI_OK) status = read_numbers(self, v, &texts);
  if (status != CLI_OK) return status;
  const bool published = mica_foundation_is(v->model);
  if (published && v->window) {
    cli_fail(self, "--window is for trained runs; a published model stops when its context is full");
    return CLI_USAGE;
  }
  if (!published && v->adapter) {
    cli_fail(self, "--adapter is for published models; %s is not one", v->model);
    return CLI_USAGE;
  }
  if (!published && (v->schema || v->cache >= 0)) {
    cli_fail(self, "--%s is for published models; %s is not one", v->schema ? "schema" : "cache", v->model);
    return CLI_USAGE;
  }
  /* 0 is the default of a published model's sampler, 40; -1 draws from all tokens. */
  if (published && v->top_k && !texts.sampling.top_k) texts.sampling.top_k = -1;
  if (!published) status = cli_open_run(self, v->model, v->device, &engine, &trained);
  if (status == CLI_OK) status = write_texts(self, v, trained, &texts);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_generate = {
    .name = "generate",
    .summary = "continue texts with a trained or published language model",
    .details = "\nText is printed as it is generated. The same seed gives the same text, and\n"
               "several prompts give the same texts together as alone. If the context of a\n"
               "language run is full, generation continues from its last half, or from the last\n"
               "N tokens with --window N. A published model stops there.\n\n"
               "A published model, such as Llama, Mixtral, Qwen or Gemma, samples with\n"
               "temperature 0.8, top-k 40, top-p 0.95 and min-p 0.05 by default, and stops at\n"
               "the token that ends a text.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
