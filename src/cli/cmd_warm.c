#include "cli/compiling.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/onnx_feeds.h"
#include "cli/onnx_info.h"
#include "cli/result.h"

#include <mica/cache.h>
#include <mica/mica.h>
#include <mica/speak.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct values {
  const char *model, *sample, *shape, *precision, *device;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND,
            .help = "ONNX model, published model (folder or GGUF file), or folder of a run"),
    CLI_ROW(
        "sample", struct values, sample, .value = "SAMPLE",
        .help =
            "input to answer: for a run any file that mica predict takes, or a text (language and speak: "
            "always a text); for a published model of pictures a picture file (required for a run, except of diffuse)"),
    CLI_ROW("shape", struct values, shape, .value = "NAME=1x3x224x224",
            .help = "ONNX: shape of an input, or of several separated by commas (default: dimensions that the model "
                    "leaves open are 1)"),
    CLI_ROW("precision", struct values, precision, .value = "TYPE",
            .help = "ONNX models and runs: type to compute in: f32, f16 or bf16 (default: f32 for ONNX models, as "
                    "trained for runs)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

/* --- what the cache holds --- */

typedef struct keys {
  char (*list)[sizeof((mica_cache_entry *)0)->key];
  size_t count, room;
  bool failed;
} keys;

static void take_key(void *user, const mica_cache_entry *entry) {
  keys *k = user;
  if (k->count == k->room) {
    const size_t room = k->room ? 2 * k->room : 256;
    void *grown = k->failed ? NULL : realloc(k->list, room * sizeof *k->list);
    if (!grown) {
      k->failed = true;
      return;
    }
    k->list = grown;
    k->room = room;
  }
  memcpy(k->list[k->count++], entry->key, sizeof *k->list);
}

static int compare_keys(const void *a, const void *b) { return strcmp(a, b); }

static int read_keys(const cli_command *self, const char *path, keys *k) {
  if (mica_cache_list(path, take_key, k) != MICA_OK) return cli_fail_library(self);
  if (k->failed) return cli_fail(self, "there is not enough memory");
  if (k->count) qsort(k->list, k->count, sizeof *k->list, compare_keys);
  return CLI_OK;
}

static size_t count_new(const keys *before, const keys *after) {
  size_t count = 0;
  for (size_t i = 0; i < after->count; i++)
    count +=
        before->count == 0 || !bsearch(after->list[i], before->list, before->count, sizeof *before->list, compare_keys);
  return count;
}

/* --- models in ONNX --- */

static int warm_onnx(const cli_command *self, const struct values *v) {
  mica_engine_config config = mica_engine_config_default();
  mica_onnx_runner_config how = {.dtype = MICA_F32};
  cli_onnx_feeds *feeds = calloc(1, sizeof *feeds);
  mica_engine *engine = NULL;
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  config.device = v->device;
  cli_compile_with(self, &config);
  int status = feeds ? cli_precision(self, v->precision, &how.dtype) : cli_fail(self, "there is not enough memory");
  if (status == CLI_OK && mica_onnx_open(v->model, &model) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = cli_onnx_feeds_make(feeds, self, model, (cli_words){0}, v->shape, 0);
  if (status == CLI_OK && (mica_engine_create(&config, &engine) != MICA_OK ||
                           mica_onnx_runner_create(engine, model, &how, &runner) != MICA_OK ||
                           mica_onnx_run(runner, mica_engine_queue(engine), feeds->feeds, feeds->count) != MICA_OK ||
                           mica_queue_finish(mica_engine_queue(engine)) != MICA_OK))
    status = cli_fail_library(self);
  mica_onnx_runner_destroy(runner);
  mica_engine_destroy(engine);
  mica_onnx_close(model);
  if (feeds) cli_onnx_feeds_free(feeds);
  free(feeds);
  return status;
}

/* --- published models --- */

/* Lengths of the prompts in tokens: one token, a short text, and a text that the decoder reads in several parts. */
static const size_t prompt_tokens[] = {1, 20, 300};
#define LONGEST 300
#define WRITTEN 4

/* The numbers of words in the texts to embed. */
static const size_t text_words[] = {2, 24, 200};
#define TEXTS (sizeof text_words / sizeof *text_words)
#define TEXT_BYTES 1024

/* Room for the reason why a model failed. */
#define REASON_BYTES 512

/* Stores the reason if the model failed. */
static bool go_on(void *user, const mica_decoder_event *event) {
  char *reason = user;
  if (event->finish == MICA_FINISH_ERROR)
    snprintf(reason, REASON_BYTES, "%s", event->message ? event->message : "the model failed");
  return true;
}

static int warm_writer(const cli_command *self, const cli_model *opened) {
  mica_decoder *decoder = NULL;
  int32_t ids[LONGEST];
  char reason[REASON_BYTES] = "";
  mica_status status = mica_decoder_create(opened->engine, opened->model, NULL, &decoder);
  const int64_t context = status == MICA_OK ? mica_decoder_context(decoder) : 0;
  for (size_t i = 0; i < LONGEST; i++)
    ids[i] = (int32_t)((int64_t)i % mica_foundation_describe(opened->model)->vocabulary);
  for (size_t p = 0; status == MICA_OK && p < sizeof prompt_tokens / sizeof *prompt_tokens; p++) {
    const int64_t room = context - WRITTEN, wanted = (int64_t)prompt_tokens[p];
    bool busy = true;
    const mica_request request = {.ids = ids,
                                  .count = (size_t)(wanted < room ? wanted
                                                    : room > 1    ? room
                                                                  : 1),
                                  .most_tokens = WRITTEN,
                                  .ignore_end = true,
                                  .event = go_on,
                                  .user = reason};
    status = mica_decoder_add(decoder, &request, NULL);
    while (status == MICA_OK && busy) status = mica_decoder_step(decoder, &busy);
  }
  mica_decoder_destroy(decoder);
  if (status != MICA_OK) return cli_fail_library(self);
  return *reason ? cli_fail(self, "the model cannot continue a text: %s", reason) : CLI_OK;
}

/* Writes a word that tokenizers of most languages have, `words` times. */
static void write_words(char text[TEXT_BYTES], size_t words) {
  size_t at = 0;
  for (size_t i = 0; i < words && at + 3 < TEXT_BYTES; i++)
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%sa", i ? " " : "");
}

static int embed_texts(const cli_command *self, mica_embedder *embedder, float *vectors) {
  char text[TEXT_BYTES];
  const char *const list[] = {text};
  for (size_t i = 0; i < TEXTS; i++) {
    write_words(text, text_words[i]);
    if (mica_embedder_texts(embedder, list, 1, vectors) != MICA_OK) return cli_fail_library(self);
  }
  return CLI_OK;
}

static int warm_embedder(const cli_command *self, const cli_model *opened, const char *sample) {
  const mica_foundation_info *info = mica_foundation_describe(opened->model);
  const mica_embedder_config config = {.classes = info->task == MICA_FOUNDATION_TASK_CLASSIFY && !info->picture};
  mica_embedder *embedder = NULL;
  if (mica_embedder_create(opened->engine, opened->model, &config, &embedder) != MICA_OK) return cli_fail_library(self);
  const int64_t width = config.classes ? info->classes : mica_embedder_width(embedder);
  float *vectors = calloc((size_t)(width > 0 ? width : 1), sizeof *vectors);
  int status = vectors ? CLI_OK : cli_fail(self, "there is not enough memory");
  if (status == CLI_OK && !mica_embedder_reads_texts(embedder) && !sample) {
    cli_fail(self, "the model reads pictures; name one with --sample");
    status = CLI_USAGE;
  } else if (status == CLI_OK && !mica_embedder_reads_pictures(embedder) && sample) {
    cli_fail(self, "--sample is for runs and for published models of pictures; this model reads texts");
    status = CLI_USAGE;
  }
  if (status == CLI_OK && mica_embedder_reads_texts(embedder)) status = embed_texts(self, embedder, vectors);
  if (status == CLI_OK && sample && mica_embedder_pictures(embedder, &sample, 1, vectors) != MICA_OK)
    status = cli_fail_library(self);
  free(vectors);
  mica_embedder_destroy(embedder);
  return status;
}

#define SECOND 16000

/* Transcribes a second of faint noise with a Whisper model. */
static int warm_listener(const cli_command *self, const cli_model *opened) {
  mica_whisper *whisper = NULL;
  float *samples = calloc(SECOND, sizeof *samples);
  uint32_t seed = 1;
  if (!samples) return cli_fail(self, "there is not enough memory");
  for (size_t i = 0; i < SECOND; i++) {
    seed = seed * 1664525u + 1013904223u;
    samples[i] = 0.01f * ((float)(seed >> 8) / (float)(1u << 23) - 1);
  }
  const mica_whisper_config config = {.no_speech = 1, .no_fallback = true};
  mica_status status = mica_whisper_create(opened->engine, opened->model, &config, &whisper);
  if (status == MICA_OK) status = mica_whisper_push(whisper, samples, SECOND);
  if (status == MICA_OK) status = mica_whisper_finish(whisper);
  mica_whisper_destroy(whisper);
  free(samples);
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

static int warm_published(const cli_command *self, const struct values *v) {
  cli_model opened = {0};
  int status = cli_model_open(self, v->model, NULL, v->device, 0, &opened);
  const mica_foundation_task task =
      status == CLI_OK ? mica_foundation_describe(opened.model)->task : MICA_FOUNDATION_TASK_COUNT;
  if (status == CLI_OK && v->sample &&
      (task == MICA_FOUNDATION_TASK_GENERATE || task == MICA_FOUNDATION_TASK_TRANSCRIBE)) {
    cli_fail(self, "--sample is for runs and for published models of pictures; this model's task is %s",
             mica_foundation_task_name(task));
    status = CLI_USAGE;
  }
  if (status == CLI_OK)
    status = task == MICA_FOUNDATION_TASK_GENERATE     ? warm_writer(self, &opened)
             : task == MICA_FOUNDATION_TASK_TRANSCRIBE ? warm_listener(self, &opened)
                                                       : warm_embedder(self, &opened, v->sample);
  cli_model_close(&opened);
  return status;
}

/* --- runs --- */

static bool drop_text(void *user, size_t prompt, const char *bytes, size_t count) {
  (void)user, (void)prompt, (void)bytes, (void)count;
  return true;
}

/* True if the sample must be a text, not a file: the run generates texts or speaks them. */
static bool needs_text(const mica_run *run) {
  return mica_run_takes(run, MICA_RUN_OPTION_GENERATE) || mica_run_takes(run, MICA_RUN_OPTION_SPEAK);
}

static mica_status speak(mica_run *run, const char *text) {
  float *samples = NULL;
  int64_t count = 0;
  const mica_status status = mica_run_speak(run, &(mica_speech_config){.text = text}, &samples, &count);
  mica_free(samples);
  return status;
}

static mica_status answer(mica_run *run, const char *sample) {
  struct stat about;
  mica_report *prediction = NULL;
  mica_run_input input = {.count = 1};
  if (mica_run_takes(run, MICA_RUN_OPTION_SPEAK)) return speak(run, sample);
  if (mica_run_takes(run, MICA_RUN_OPTION_GENERATE))
    return mica_run_generate(
        run, &(mica_run_texts){.prompts = &sample, .prompt_count = 1, .length = WRITTEN, .text = drop_text});
  if (mica_run_takes(run, MICA_RUN_OPTION_DRAW)) {
    /* drawing needs no input */
  } else if (stat(sample, &about) == 0) {
    input.files = &sample;
    input.file_count = 1;
    /* Compares the sample with itself, because no other file is known. */
    if (mica_run_takes(run, MICA_RUN_OPTION_GALLERY)) input.gallery = sample;
  } else {
    input.text = sample;
  }
  const mica_status status = mica_run_predict(run, &input, &prediction);
  mica_report_destroy(prediction);
  return status;
}

static bool has_fact(const mica_run *run, const char *name) {
  size_t count = 0;
  return mica_run_fact(run, name, &count) && count;
}

/* True if `sample` must be a misspelt path: there is no such file, and it cannot be a text for this run. Runs of texts,
 * pairs and graphs take any text. Other runs take only the text of a table, which contains a line feed. */
static bool must_be_file(const mica_run *run, const char *sample) {
  struct stat about;
  const bool texts = has_fact(run, "text_column") && !has_fact(run, "parts");
  return !needs_text(run) && !texts && !has_fact(run, "from") && !has_fact(run, "sample_column") &&
         !strchr(sample, '\n') && stat(sample, &about) != 0;
}

static int check_sample(const cli_command *self, const struct values *v, const mica_run *run) {
  const bool draws = mica_run_takes(run, MICA_RUN_OPTION_DRAW);
  if (!draws && v->sample && must_be_file(run, v->sample)) return cli_fail(self, "there is no file %s", v->sample);
  if (draws != (v->sample != NULL)) return CLI_OK;
  if (draws)
    cli_fail(self, "the task %s of %s draws pictures and takes no --sample", mica_run_task(run), v->model);
  else
    cli_fail(self, "--sample is missing: a run of the task %s needs %s", mica_run_task(run),
             needs_text(run) ? "a text" : "a file for mica predict, or a text");
  return CLI_USAGE;
}

static int warm_run(const cli_command *self, const struct values *v) {
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  int status =
      cli_open_run_as(self, v->model, &(mica_run_open_config){.precision = v->precision}, v->device, &engine, &run);
  if (status == CLI_OK) status = check_sample(self, v, run);
  if (status == CLI_OK && answer(run, v->sample) != MICA_OK) status = cli_fail_library(self);
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

/* --- the command --- */

static int refuse(const cli_command *self, const char *option, const char *of) {
  cli_fail(self, "--%s is for %s", option, of);
  return CLI_USAGE;
}

static int warm(const cli_command *self, const struct values *v) {
  struct stat about;
  const bool published = mica_foundation_is(v->model), onnx = !cli_is_folder(v->model) && cli_onnx_is_model(v->model);
  if (v->shape && (published || !onnx)) return refuse(self, "shape", "models in ONNX");
  if (v->precision && published) return refuse(self, "precision", "models in ONNX and runs");
  if (published) return warm_published(self, v);
  if (onnx && v->sample)
    return refuse(self, "sample", "runs and for published models of pictures; leave it out for a model in ONNX");
  if (onnx) return warm_onnx(self, v);
  if (cli_is_folder(v->model)) return warm_run(self, v);
  if (stat(v->model, &about) != 0) return cli_fail(self, "there is no file or folder %s", v->model);
  return cli_fail(self, "%s is not a model in ONNX or GGUF, nor a folder of a run or of a published model", v->model);
}

/* Reports how many programs were compiled, and in how many seconds. If the cache could not store some of them, every
 * process would compile these again, so this is an error. */
static int report(const cli_command *self, const struct values *v, const char *path, size_t compiled, double seconds) {
  const char *reason = NULL;
  const size_t lost = cli_compiled_in_vain(&reason);
  cli_json json;
  if (v->json) {
    cli_json_begin(&json);
    cli_json_integer(&json, json.root, "compiled", compiled + lost);
    cli_json_integer(&json, json.root, "not_kept", lost);
    cli_json_real(&json, json.root, "seconds", seconds);
    cli_json_text(&json, json.root, "cache", path);
    const int status = cli_json_print(&json, self);
    if (status != CLI_OK) return status;
  }
  if (lost)
    return cli_fail(self, "%zu program%s compiled, but %s keeps %zu of them: %s", compiled + lost,
                    compiled + lost == 1 ? "" : "s", path, compiled, reason);
  if (v->json) return CLI_OK;
  if (compiled)
    printf("%zu program%s compiled in %.1f s, kept in %s\n", compiled, compiled == 1 ? "" : "s", seconds, path);
  else
    printf("nothing to compile: %s has all programs (%.1f s)\n", path, seconds);
  return CLI_OK;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  keys before = {0}, after = {0};
  char *path = NULL;
  const double begin = now();
  int status = cli_refuse_null(self, v->device);
  if (status != CLI_OK) return status;
  cli_compile_tell_lost_later();
  if (mica_cache_path(NULL, &path) != MICA_OK) return cli_fail_library(self);
  if (!*path)
    status =
        cli_fail(self, "there is no cache: MICA_CACHE_DIR is set and empty, or neither XDG_CACHE_HOME nor HOME is set");
  if (status == CLI_OK) status = read_keys(self, path, &before);
  if (status == CLI_OK) status = warm(self, v);
  if (status == CLI_OK) status = read_keys(self, path, &after);
  if (status == CLI_OK) status = report(self, v, path, count_new(&before, &after), now() - begin);
  free(before.list);
  free(after.list);
  mica_free(path);
  return status;
}

const cli_command cli_command_warm = {
    .name = "warm",
    .summary = "compile what a model needs, so that its first answer is quick",
    .details = "\nThe model computes one answer, which is discarded; the compiled kernels stay in\n"
               "the cache. An ONNX model gets random inputs, a published model a short and a\n"
               "long text, a Whisper model a second of noise. A run needs --sample, except a run\n"
               "of the task diffuse:\n"
               "\n"
               "  mica warm resnet18.onnx\n"
               "  mica warm models/SmolLM2-135M-Instruct\n"
               "  mica warm runs/digits --sample seven.png\n"
               "  mica warm runs/voice --sample \"three one four\"\n"
               "\n"
               "Other sizes of inputs and batches may need further kernels.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
