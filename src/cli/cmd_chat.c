#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
  const char *model, *adapter, *system, *length, *context, *temperature, *top_k, *top_p, *min_p, *repetition, *seed,
      *device;
  int cache;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND, .help = "folder or GGUF file of a published model"),
    CLI_ROW("adapter", struct values, adapter, .value = "PATH",
            .help = "low-rank adapter to apply, as a PEFT folder or a GGUF file"),
    CLI_ROW("system", struct values, system, .value = "TEXT", .blank = true,
            .help = "system message: instructions before the conversation"),
    CLI_ROW("length", struct values, length, .value = "N",
            .help = "maximum number of tokens in an answer (default: no limit)"),
    CLI_ROW("context", struct values, context, .value = "N",
            .help = "maximum number of tokens in a conversation (default: the model's, at most 8192)"),
    CLI_ROW("temperature", struct values, temperature, .value = "T",
            .help = "sampling temperature; 0: always the likeliest token (default 0.8)"),
    CLI_ROW("top-k", struct values, top_k, .value = "K",
            .help = "draw from the K likeliest tokens; 0: from all (default 40)"),
    CLI_ROW("top-p", struct values, top_p, .value = "P",
            .help = "nucleus sampling: draw from the smallest set of tokens with total probability P (default 0.95)"),
    CLI_ROW("min-p", struct values, min_p, .value = "P",
            .help = "drop tokens with less than P times the largest probability (default 0.05)"),
    CLI_ROW("repetition", struct values, repetition, .value = "R",
            .help =
                "repetition penalty; above 1: the last 64 tokens are less likely to occur again; 1: off (default 1)"),
    CLI_ROW("seed", struct values, seed, .value = "N", .help = "seed of random tokens (default 0)"),
    CLI_CACHE_ROW(struct values, cache),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "answer each line of standard input with a line of JSON"),
    {0},
};

static const char help[] = "/reset        forget the conversation\n"
                           "/system TEXT  forget the conversation and set the system message to TEXT\n"
                           "/save FILE    write the conversation to FILE as JSON\n"
                           "/load FILE    continue the conversation in FILE\n"
                           "/seed N       use this seed for random tokens from now on\n"
                           "/quit         end the chat, as the end of input does\n"
                           "Ctrl-C stops an answer.\n";

/* A conversation at the terminal. */
typedef struct talk {
  const cli_command *self;
  const struct values *v;
  mica_decoder *decoder;
  mica_chat *chat;
  mica_sampler_config sampling;
  int64_t length;
  char *system;
  bool failed; /* a message was not answered */
} talk;

/* --- Ctrl-C --- */

static mica_chat *volatile answering;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
  mica_chat_stop(answering);
}

static void catch_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

/* --- settings --- */

static int read_settings(const cli_command *self, const struct values *v, talk *t, int64_t *context) {
  mica_sampler_config *s = &t->sampling;
  int64_t seed = 0;
  int status = cli_integer(self, "length", v->length, 1, INT32_MAX, &t->length);
  if (status == CLI_OK) status = cli_integer(self, "context", v->context, 2, INT32_MAX, context);
  if (status == CLI_OK) status = cli_integer(self, "top-k", v->top_k, 0, INT32_MAX, &s->top_k);
  if (status == CLI_OK) status = cli_integer(self, "seed", v->seed, 0, (int64_t)1 << 53, &seed);
  if (status == CLI_OK) status = cli_number(self, "temperature", v->temperature, 0, 1000, &s->temperature);
  if (status == CLI_OK) status = cli_number(self, "top-p", v->top_p, 1e-6, 1, &s->top_p);
  if (status == CLI_OK) status = cli_number(self, "min-p", v->min_p, 0, 1, &s->min_p);
  if (status == CLI_OK) status = cli_number(self, "repetition", v->repetition, 1e-3, 1000, &s->repeat_penalty);
  if (v->temperature && s->temperature == 0) s->temperature = MICA_ZERO;
  if (v->min_p && s->min_p == 0) s->min_p = MICA_ZERO;
  if (v->top_k && s->top_k == 0) s->top_k = -1;
  s->seed = (uint64_t)seed;
  return status;
}

/* Begins a new conversation with the current settings. */
static mica_status begin(talk *t) {
  mica_chat *chat = NULL;
  const mica_chat_config how = {.system = t->system, .most_tokens = t->length, .sampling = &t->sampling};
  const mica_status status = mica_chat_create(t->decoder, &how, &chat);
  if (status != MICA_OK) return status;
  mica_chat_destroy(t->chat);
  t->chat = chat;
  return MICA_OK;
}

/* --- slash commands --- */

static void say_failed(void) { fprintf(stderr, "mica chat: %s\n", cli_clean(mica_error_message())); }

static void set_system(talk *t, const char *text) {
  char *copy = strdup(text);
  if (!copy) return;
  free(t->system);
  t->system = copy;
  if (begin(t) != MICA_OK) say_failed();
}

static void set_seed(talk *t, const char *text) {
  char *end = NULL;
  errno = 0;
  const unsigned long long seed = strtoull(text, &end, 10);
  if (!*text || *end || errno || *text == '-')
    fprintf(stderr, "/seed takes a number\n");
  else
    t->sampling.seed = seed;
}

/* Runs a line that begins with a slash, such as /reset. Returns false for /quit and /exit. */
static bool run_command(talk *t, const char *line) {
  const size_t n = strcspn(line, " ");
  const char *rest = line + n + strspn(line + n, " ");
  mica_status status = MICA_OK;
  if (!strcmp(line, "/quit") || !strcmp(line, "/exit")) return false;
  if (!strcmp(line, "/reset"))
    mica_chat_reset(t->chat);
  else if (n == 7 && !strncmp(line, "/system", n))
    set_system(t, rest);
  else if (n == 5 && (!strncmp(line, "/save", n) || !strncmp(line, "/load", n)) && !*rest)
    fprintf(stderr, "name a file: %.5s FILE\n", line);
  else if (n == 5 && !strncmp(line, "/save", n))
    status = mica_chat_save(t->chat, rest);
  else if (n == 5 && !strncmp(line, "/load", n))
    status = mica_chat_load(t->chat, rest);
  else if (n == 5 && !strncmp(line, "/seed", n))
    set_seed(t, rest);
  else {
    if (strcmp(line, "/help") != 0) fprintf(stderr, "there is no command %s\n", cli_clean(line));
    fputs(help, stderr);
  }
  if (status != MICA_OK) say_failed();
  return true;
}

/* --- answers --- */

static bool print_piece(void *user, const mica_decoder_event *event) {
  (void)user;
  if (isatty(1))
    for (size_t i = 0; i < event->bytes; i++) {
      const unsigned char c = (unsigned char)event->text[i];
      putchar((c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : c);
    }
  else
    fwrite(event->text, 1, event->bytes, stdout);
  fflush(stdout);
  return true;
}

static int answer_json(talk *t, const char *line) {
  cli_json json;
  mica_finish finish = MICA_FINISH_NONE;
  cli_json_begin(&json);
  if (mica_chat_send(t->chat, line, NULL, NULL, &finish) != MICA_OK) {
    cli_json_text(&json, json.root, "error", mica_error_message());
    t->failed = true;
  } else {
    const mica_messages *messages = mica_chat_messages(t->chat);
    cJSON *last = cJSON_Parse(mica_messages_at(messages, mica_messages_count(messages) - 1, NULL));
    const cJSON *content = last ? cJSON_GetObjectItemCaseSensitive(last, "content") : NULL;
    if (cJSON_IsString(content)) cli_json_text(&json, json.root, "answer", content->valuestring);
    cli_json_text(&json, json.root, "finish", mica_finish_name(finish));
    cJSON_Delete(last);
  }
  return cli_json_print_line(&json, t->self);
}

static int answer(talk *t, const char *line) {
  if (t->v->json) return answer_json(t, line);
  mica_finish finish = MICA_FINISH_NONE;
  answering = t->chat;
  const mica_status status = mica_chat_send(t->chat, line, print_piece, NULL, &finish);
  answering = NULL;
  if (status == MICA_OK)
    printf(finish == MICA_FINISH_STOP ? "\n" : " [%s]\n", mica_finish_name(finish));
  else {
    say_failed();
    t->failed = true;
  }
  fflush(stdout);
  return CLI_OK;
}

/* Answers lines until the input ends, /quit is typed or an error ends the command. On a terminal, unless --json is
 * given, prints a prompt before each line. */
static int talk_on(talk *t) {
  const bool terminal = isatty(0) && !t->v->json;
  char *line = NULL;
  size_t room = 0;
  int status = CLI_OK;
  bool goes_on = true;
  if (terminal) fputs("/help lists commands\n", stderr);
  while (goes_on && status == CLI_OK) {
    if (terminal) fputs("> ", stderr);
    interrupted = 0;
    const ssize_t n = getline(&line, &room, stdin);
    if (n < 0 && interrupted && terminal) {
      clearerr(stdin);
      fputc('\n', stderr);
      continue;
    }
    if (n < 0 && !interrupted && !feof(stdin))
      status = cli_fail(t->self, "standard input cannot be read: %s", strerror(errno));
    if (n < 0) break;
    line[strcspn(line, "\r\n")] = '\0';
    if (!*line) continue;
    if (*line == '/' && !t->v->json)
      goes_on = run_command(t, line);
    else
      status = answer(t, line);
  }
  free(line);
  return status == CLI_OK && t->failed && !terminal ? CLI_FAILED : status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  talk t = {.self = self, .v = v};
  int64_t context = 0;
  cli_model opened = {0};
  int status = read_settings(self, v, &t, &context);
  if (status != CLI_OK) return status;
  if (!mica_foundation_is(v->model)) return cli_fail_published(self, v->model);
  status = cli_model_open(self, v->model, v->adapter, v->device, context, &opened);
  t.system = v->system ? strdup(v->system) : NULL;
  const mica_decoder_config how = {.adapter = opened.adapter, .cache = cli_cache_form(v->cache)};
  if (status == CLI_OK &&
      (mica_decoder_create(opened.engine, opened.model, &how, &t.decoder) != MICA_OK || begin(&t) != MICA_OK))
    status = cli_fail_library(self);
  if (status == CLI_OK && !v->json) catch_interrupt();
  if (status == CLI_OK) status = talk_on(&t);
  mica_chat_destroy(t.chat);
  mica_decoder_destroy(t.decoder);
  free(t.system);
  cli_model_close(&opened);
  return status;
}

const cli_command cli_command_chat = {
    .name = "chat",
    .summary = "talk with a published language model",
    .details = "\nReads lines from standard input and prints answers as they are written. A line\n"
               "that begins with / is a command; /help lists them. If a conversation exceeds the\n"
               "context, the oldest messages are left out. If standard input is not a terminal,\n"
               "or with --json, the exit status is 1 if a message was not answered.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
