#include "cli/model.h"

#include "cli/compiling.h"
#include "cli/result.h"

#include <mica/finetune.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The most prompts that are continued at the same time. */
#define MOST_SLOTS 8
#define STANDARD_LENGTH 200
#define MOST_SCHEMA (1 << 20)

const cli_choice cli_cache_forms[] = {
    {"f32", "4 bytes per number"},
    {"f16", "2 bytes per number"},
    {"bf16", "2 bytes per number, with a wider range than f16"},
    {"q8", "1 byte per number, and a scale per 32 numbers"},
    {0},
};

mica_cache_form cli_cache_form(int choice) { return choice < 0 ? MICA_CACHE_FORM_F32 : (mica_cache_form)choice; }

int cli_model_open(const cli_command *self, const char *path, const char *adapter, const char *device, int64_t context,
                   cli_model *opened) {
  mica_engine_config config = mica_engine_config_default();
  *opened = (cli_model){0};
  const int refused = cli_refuse_null(self, device);
  if (refused != CLI_OK) return refused;
  config.device = device;
  cli_compile_with(self, &config);
  if (mica_foundation_open(path, &(mica_foundation_config){.context = context}, &opened->model) != MICA_OK ||
      (adapter && mica_foundation_adapter_open(opened->model, adapter, &opened->adapter) != MICA_OK) ||
      mica_engine_create(&config, &opened->engine) != MICA_OK)
    return cli_fail_library(self);
  return CLI_OK;
}

void cli_model_close(cli_model *opened) {
  mica_engine_destroy(opened->engine);
  mica_adapter_destroy(opened->adapter);
  mica_foundation_close(opened->model);
}

/* True if both paths name the same file: a mapped file must not be replaced while it is read. */
static bool is_same(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int show_written(const cli_command *self, const char *to, const mica_foundation_written *written,
                        uint64_t before, bool as_json) {
  cli_json json;
  if (!as_json) {
    printf("written   %s: %zu tensors, %zu of a new type; %.1f MB, before %.1f MB\n", cli_clean(to), written->tensors,
           written->converted, (double)written->bytes / 1e6, (double)before / 1e6);
    return CLI_OK;
  }
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "file", to);
  cli_json_integer(&json, json.root, "tensors", written->tensors);
  cli_json_integer(&json, json.root, "converted", written->converted);
  cli_json_integer(&json, json.root, "bytes", written->bytes);
  cli_json_integer(&json, json.root, "bytes_before", before);
  return cli_json_print_line(&json, self);
}

int cli_model_write(const cli_command *self, const char *from, const char *adapter, const char *to, const char *type,
                    bool force, bool json) {
  const mica_foundation_write_config config = {.type = type};
  mica_foundation *model = NULL;
  mica_adapter *addition = NULL;
  mica_foundation_written written;
  struct stat about;
  if (is_same(from, to)) return cli_fail(self, "%s is the model itself; name another file", to);
  if (lstat(to, &about) == 0 && !(force && S_ISREG(about.st_mode)))
    return cli_fail(self,
                    S_ISREG(about.st_mode) ? "%s is there already; choose another name"
                                           : "%s is not a regular file, and is not written over; name another file",
                    to);
  if (mica_foundation_open(from, NULL, &model) != MICA_OK) return cli_fail_library(self);
  int status = CLI_OK;
  if ((adapter && mica_foundation_adapter_open(model, adapter, &addition) != MICA_OK) ||
      (adapter ? mica_foundation_merge(model, addition, to, &config, &written)
               : mica_foundation_write(model, to, &config, &written)) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = show_written(self, to, &written, mica_foundation_describe(model)->bytes, json);
  mica_adapter_destroy(addition);
  mica_foundation_close(model);
  return status;
}

/* A prompt that is being continued. */
typedef struct continued {
  const mica_run_texts *texts;
  size_t index;
  bool done, failed;
  char reason[512]; /* why it failed */
} continued;

static bool take(void *user, const mica_decoder_event *event) {
  continued *c = user;
  c->done = event->finish != MICA_FINISH_NONE;
  c->failed = event->finish == MICA_FINISH_ERROR;
  if (c->failed) snprintf(c->reason, sizeof c->reason, "%s", event->message ? event->message : "the model failed");
  return event->bytes == 0 || c->texts->text(c->texts->user, c->index, event->text, event->bytes);
}

/* Converts sampling settings. A setting that was not given is 0, which is the sampler's default too. */
static mica_sampler_config sampling_of(const mica_run_texts *texts) {
  const mica_sampling *s = &texts->sampling;
  return (mica_sampler_config){.seed = s->seed,
                               .temperature = s->temperature,
                               .top_k = s->top_k,
                               .top_p = s->top_p,
                               .repeat_penalty = s->repetition};
}

/* Reads a JSON Schema as text; the caller frees *text. */
static int read_text(const cli_command *self, const char *path, char **text) {
  FILE *file = fopen(path, "rb");
  if (!file) return cli_fail(self, "cannot read %s: %s", path, strerror(errno));
  char *read = malloc(MOST_SCHEMA + 1);
  if (!read) {
    fclose(file);
    return cli_fail(self, "there is not enough memory to read %s", path);
  }
  const size_t count = fread(read, 1, MOST_SCHEMA + 1, file);
  const int error = ferror(file) ? errno : 0;
  fclose(file);
  if (error || count > MOST_SCHEMA) {
    free(read);
    return error ? cli_fail(self, "cannot read %s: %s", path, strerror(error))
                 : cli_fail(self, "%s has more than %d bytes, too many for a JSON Schema", path, MOST_SCHEMA);
  }
  read[count] = '\0';
  *text = read;
  return CLI_OK;
}

static int decode(const cli_command *self, const cli_model *opened, const char *schema, mica_cache_form cache,
                  const mica_run_texts *texts, const mica_encoding *prompts, continued *states) {
  const size_t count = texts->prompt_count;
  const mica_sampler_config sampling = sampling_of(texts);
  const int64_t length = texts->length ? texts->length : STANDARD_LENGTH;
  int64_t longest = 0;
  for (size_t p = 0; p < count; p++)
    if ((int64_t)prompts[p].count > longest) longest = (int64_t)prompts[p].count;
  const int64_t most = mica_foundation_describe(opened->model)->context, wanted = (longest + length + 64) / 64 * 64;
  const mica_decoder_config how = {.slots = (int32_t)(count < MOST_SLOTS ? count : MOST_SLOTS),
                                   .context = wanted < most ? wanted : most,
                                   .cache = cache,
                                   .adapter = opened->adapter};
  mica_decoder *decoder = NULL;
  bool busy = true;
  mica_status status = mica_decoder_create(opened->engine, opened->model, &how, &decoder);
  for (size_t p = 0; status == MICA_OK && p < count; p++) {
    states[p] = (continued){.texts = texts, .index = p};
    const mica_request request = {.ids = prompts[p].ids,
                                  .count = prompts[p].count,
                                  .most_tokens = length,
                                  .sampling = &sampling,
                                  .schema = schema,
                                  .event = take,
                                  .user = &states[p]};
    status = mica_decoder_add(decoder, &request, NULL);
  }
  while (status == MICA_OK && busy) status = mica_decoder_step(decoder, &busy);
  const int result = status == MICA_OK ? CLI_OK : cli_fail_library(self);
  mica_decoder_destroy(decoder);
  for (size_t p = 0; result == CLI_OK && p < count; p++)
    if (states[p].failed) return cli_fail(self, "prompt %zu: %s", p + 1, states[p].reason);
  return result;
}

int cli_model_continue(const cli_command *self, const char *path, const char *adapter, const char *device,
                       const char *schema, mica_cache_form cache, const mica_run_texts *texts) {
  cli_model opened;
  char *rules = NULL;
  mica_tokenizer *tokenizer = NULL;
  mica_encoding *prompts = calloc(texts->prompt_count, sizeof *prompts);
  continued *states = calloc(texts->prompt_count, sizeof *states);
  int status = cli_model_open(self, path, adapter, device, 0, &opened);
  if (status == CLI_OK && !(prompts && states)) status = cli_fail(self, "there is not enough memory");
  if (status == CLI_OK && mica_foundation_tokenizer(opened.model, &tokenizer) != MICA_OK)
    status = cli_fail_library(self);
  for (size_t p = 0; status == CLI_OK && p < texts->prompt_count; p++)
    if (mica_tokenizer_encode(tokenizer, texts->prompts[p], strlen(texts->prompts[p]),
                              &(mica_encode_config){.special = true}, &prompts[p]) != MICA_OK)
      status = cli_fail_library(self);
  for (size_t p = 0; status == CLI_OK && p < texts->prompt_count; p++)
    if (prompts[p].count == 0) status = cli_fail(self, "prompt %zu has no token that the model knows", p + 1);
  if (status == CLI_OK && schema) status = read_text(self, schema, &rules);
  if (status == CLI_OK) status = decode(self, &opened, rules, cache, texts, prompts, states);
  free(rules);
  for (size_t p = 0; prompts && p < texts->prompt_count; p++) mica_encoding_free(&prompts[p]);
  free(prompts);
  free(states);
  mica_tokenizer_destroy(tokenizer);
  cli_model_close(&opened);
  return status;
}
