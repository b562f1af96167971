#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/serve/server.h"

#include <mica/finetune.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After a signal, requests in progress may run for this number of seconds before the server ends. */
#define GRACE_SECONDS 30
#define CLI_DEVICE_LOST 3
#define WARM_TOKENS 144

struct values {
  const char *model, *host, *port, *key_file, *origin, *name, *slots, *context, *device;
  const char *connections, *per_address, *body, *request_time, *time;
  cli_words adapters;
  int pooling, cache;
  bool open;
};

static const cli_choice poolings[] = {
    {"model", "as in the model's files, else features of the last token"},
    {"mean", "mean of all tokens' features"},
    {"cls", "features of the first token"},
    {"last", "features of the last token"},
    {0},
};

static const cli_option options[] = {
    CLI_ROW("MODEL", struct values, model, .role = CLI_OPERAND, .help = "folder or GGUF file of a published model"),
    CLI_ROW("host", struct values, host, .value = "ADDRESS",
            .help = "address to listen on (default 127.0.0.1, for requests from this machine only)"),
    CLI_ROW("port", struct values, port, .value = "N", .help = "port to listen on; 0: a free one (default 8080)"),
    CLI_ROW("api-key-file", struct values, key_file, .value = "FILE",
            .help = "file with a key per line; each request needs one of them (required if other machines can reach "
                    "--host, except with --open)"),
    CLI_ROW("open", struct values, open,
            .help = "answer requests without a key, even if other machines can reach --host"),
    CLI_ROW("origin", struct values, origin, .value = "ORIGIN",
            .help = "allow requests from web pages of ORIGIN, for example https://a.example (default: none)"),
    CLI_ROW("name", struct values, name, .value = "NAME",
            .help = "name by which requests ask for the model (default: the name of the file or folder)"),
    CLI_ROW("slots", struct values, slots, .value = "N", .help = "number of requests to answer at once (default 4)"),
    CLI_ROW("context", struct values, context, .value = "N",
            .help = "maximum number of tokens in a prompt and its answer (default: the model's, at most 8192)"),
    CLI_CACHE_ROW(struct values, cache),
    CLI_ROW(
        "adapter", struct values, adapters, .value = "NAME=PATH",
        .help =
            "low-rank adapter, as a PEFT folder or a GGUF file; requests ask for MODEL:NAME; repeat it for several"),
    CLI_ROW("pooling", struct values, pooling, .value = "KIND",
            .help = "serve /v1/embeddings too, with this pooling (default: only if the model generates no text)",
            .choices = poolings),
    CLI_ROW("time", struct values, time, .value = "SECONDS", .help = "longest time for an answer (default 600)"),
    CLI_ROW("request-time", struct values, request_time, .value = "SECONDS",
            .help = "longest time for a client to send a request, and for an idle connection (default 30)"),
    CLI_ROW("body", struct values, body, .value = "BYTES",
            .help = "largest body of a request (default 4194304, which is 4 MiB)"),
    CLI_ROW("connections", struct values, connections, .value = "N",
            .help = "maximum number of open connections (default 64)"),
    CLI_ROW("per-address", struct values, per_address, .value = "N",
            .help = "maximum number of open connections from one address (default 16)"),
    CLI_DEVICE_ROW(struct values),
    {0},
};

#ifdef MICA_WITH_MICROHTTPD

/* --- signals --- */

static int signal_pipe[2] = {-1, -1};

/* Asks the server to end; a second signal of the same kind ends the process at once. */
static void on_signal(int number) {
  const char byte = (char)number;
  const int kept = errno;
  (void)!write(signal_pipe[1], &byte, 1);
  signal(number, SIG_DFL);
  errno = kept;
}

static bool catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal}, before;
  const int caught[] = {SIGINT, SIGTERM, SIGHUP};
  if (pipe(signal_pipe) != 0) return false;
  sigemptyset(&action.sa_mask);
  for (size_t s = 0; s < sizeof caught / sizeof *caught; s++)
    if (sigaction(caught[s], NULL, &before) == 0 && (before.sa_handler != SIG_IGN || caught[s] == SIGINT))
      sigaction(caught[s], &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  return true;
}

/* --- settings --- */

static int read_seconds(const cli_command *self, const char *name, const char *text, double *seconds) {
  return cli_number(self, name, text, 0.1, 1e6, seconds);
}

static int read_settings(const cli_command *self, const struct values *v, serve_config *c, mica_decoder_config *how,
                         double *most_seconds) {
  int64_t slots = 4;
  char text[256];
  *c = (serve_config){.host = v->host ? v->host : "127.0.0.1",
                      .port = 8080,
                      .origin = v->origin,
                      .connections = 64,
                      .per_address = 16,
                      .body_bytes = 4 << 20,
                      .request_seconds = 30};
  *most_seconds = 600;
  int status = cli_integer(self, "port", v->port, 0, 65535, &c->port);
  if (status == CLI_OK) status = cli_integer(self, "slots", v->slots, 1, 64, &slots);
  if (status == CLI_OK) status = cli_integer(self, "context", v->context, 2, INT32_MAX, &how->context);
  if (status == CLI_OK) status = cli_integer(self, "connections", v->connections, 1, 65536, &c->connections);
  if (status == CLI_OK) status = cli_integer(self, "per-address", v->per_address, 1, 65536, &c->per_address);
  if (status == CLI_OK) status = cli_integer(self, "body", v->body, 1024, 1 << 30, &c->body_bytes);
  if (status == CLI_OK) status = read_seconds(self, "request-time", v->request_time, &c->request_seconds);
  if (status == CLI_OK) status = read_seconds(self, "time", v->time, most_seconds);
  if (status != CLI_OK) return status;
  how->slots = (int32_t)slots;
  how->cache = cli_cache_form(v->cache);
  how->most_wait = (size_t)(4 * slots);
  if (v->key_file && !serve_keys_read(v->key_file, &c->keys, text)) return cli_fail(self, "%s", text);
  if (serve_is_loopback(c->host) || c->keys.count || v->open) return CLI_OK;
  cli_fail(self,
           "--host %s lets other machines send requests: add --api-key-file FILE with a key, or --open to answer "
           "everybody",
           c->host);
  return CLI_USAGE;
}

/* --- the server --- */

/* Waits for a signal (returns CLI_OK), or until the decoder fails (returns CLI_DEVICE_LOST, after a message). */
static int wait_for_end(const cli_command *self, serve_work *work) {
  char message[512];
  for (;;) {
    struct pollfd signals = {.fd = signal_pipe[0], .events = POLLIN};
    if (poll(&signals, 1, 200) > 0) return CLI_OK;
    if (!serve_work_failed(work, message)) continue;
    cli_fail(self, "%s", message);
    return CLI_DEVICE_LOST;
  }
}

/* Stores how the text ended; MICA_FINISH_NONE as long as it goes on. */
static bool pass_token(void *user, const mica_decoder_event *event) {
  mica_finish *finish = user;
  *finish = event->finish;
  return true;
}

/* Runs a text of 1 token and one of WARM_TOKENS tokens, so that kernels for both short and long texts are built before
 * the first request. Skips a text that the context has no room for. */
static mica_status warm_up(const serve_model *model, mica_decoder *decoder) {
  static const int32_t ids[WARM_TOKENS];
  for (size_t count = 1; count <= WARM_TOKENS && (int64_t)count + 3 < model->context; count += WARM_TOKENS - 1) {
    mica_finish finish = MICA_FINISH_NONE;
    const mica_request request = {
        .ids = ids, .count = count, .most_tokens = 2, .ignore_end = true, .event = pass_token, .user = &finish};
    mica_status status = mica_decoder_add(decoder, &request, NULL);
    while (status == MICA_OK && finish == MICA_FINISH_NONE) status = mica_decoder_step(decoder, NULL);
    if (status != MICA_OK) return status;
  }
  return MICA_OK;
}

/* Checks the words NAME=PATH of --adapter: their form, their number, and that names differ. */
static int check_adapters(const cli_command *self, const cli_words *adapters) {
  if (adapters->count > SERVE_MOST_ADAPTERS) {
    cli_fail(self, "--adapter is given %zu times, but may be given at most %d times", adapters->count,
             SERVE_MOST_ADAPTERS);
    return CLI_USAGE;
  }
  for (size_t a = 0; a < adapters->count; a++) {
    const char *word = adapters->words[a], *path = strchr(word, '=');
    bool twice = false;
    const size_t length = path ? (size_t)(path - word) : 0;
    for (size_t b = 0; b < a && path; b++) twice |= !strncmp(adapters->words[b], word, length + 1);
    if (length > 0 && path[1] && !twice) continue;
    cli_fail(self, twice ? "--adapter %s: the name is used twice" : "--adapter %s: write NAME=PATH", word);
    return CLI_USAGE;
  }
  return CLI_OK;
}

/* Adds a decoder of the model with an adapter; it shares the matrices of the first decoder. */
static mica_status add_adapter(const cli_model *opened, const char *word, mica_decoder_config how, serve_model *model,
                               serve_work *work) {
  char name[256];
  const char *path = strchr(word, '=');
  mica_adapter *adapter = NULL;
  snprintf(name, sizeof name, "%.*s", (int)(path - word), word);
  mica_decoder **decoder = &work->decoders[model->name_count];
  if (!serve_model_add_name(model, name)) return MICA_E_NOMEM;
  mica_status status = mica_foundation_adapter_open(opened->model, path + 1, &adapter);
  how.adapter = adapter;
  how.weights_of = work->decoders[0];
  if (status == MICA_OK) status = mica_decoder_create(opened->engine, opened->model, &how, decoder);
  if (status == MICA_OK) status = warm_up(model, *decoder);
  mica_adapter_destroy(adapter);
  return status;
}

/* Creates and warms up the objects that answer requests: a decoder for the model if it writes text or has adapters, a
 * decoder for each adapter, and an embedder if the model does not write text or --pooling is given. */
static mica_status make_work(const struct values *v, const cli_model *opened, const mica_decoder_config *how,
                             serve_model *model, serve_work *work) {
  static const char *const texts[] = {"warm"};
  mica_status status = serve_model_open(opened->model, v->model, v->name, model);
  model->slots = how->slots;
  if (status == MICA_OK && (model->writes || v->adapters.count)) {
    status = mica_decoder_create(opened->engine, opened->model, how, &work->decoders[0]);
    if (status == MICA_OK) status = warm_up(model, work->decoders[0]);
  }
  for (size_t a = 0; a < v->adapters.count && status == MICA_OK; a++)
    status = add_adapter(opened, v->adapters.words[a], *how, model, work);
  if (status != MICA_OK || (model->writes && v->pooling < 0)) return status;
  const mica_embedder_config pooling = {.pooling = (mica_embed_pooling)(v->pooling < 0 ? 0 : v->pooling)};
  status = mica_embedder_create(opened->engine, opened->model, &pooling, &work->embedder);
  if (status != MICA_OK) return status;
  model->width = mica_embedder_width(work->embedder);
  model->most_embedded = mica_embedder_most_tokens(work->embedder);
  float *vector = calloc((size_t)model->width, sizeof *vector);
  status = vector ? mica_embedder_texts(work->embedder, texts, 1, vector) : MICA_E_NOMEM;
  free(vector);
  return status;
}

static int serve(const cli_command *self, serve_server *server, serve_work *work) {
  char text[256] = "";
  int port = 0, status = CLI_OK;
  const bool working = serve_work_begin(work);
  if (!working) snprintf(text, sizeof text, "no thread can be started");
  const bool good = working && catch_signals() && serve_server_begin(server, &port, text);
  if (good) {
    const bool six = strchr(server->config.host, ':') != NULL;
    printf("%s: http://%s%s%s:%d/v1\n", work->model->names[0], six ? "[" : "", server->config.host, six ? "]" : "",
           port);
    fflush(stdout);
    status = wait_for_end(self, work);
    serve_server_drain(server);
  } else {
    status = cli_fail(self, "%s", text);
  }
  serve_work_end(work, status == CLI_OK ? GRACE_SECONDS : 0);
  if (working) serve_server_end(server);
  serve_work_free(work);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_decoder_config how = {0};
  cli_model opened = {0};
  serve_model model = {0};
  serve_work work = {.model = &model, .resume = serve_resume};
  serve_server server = {.work = &work};
  int status = read_settings(self, v, &server.config, &how, &work.most_seconds);
  if (status == CLI_OK) status = check_adapters(self, &v->adapters);
  if (status == CLI_OK && !mica_foundation_is(v->model)) status = cli_fail_published(self, v->model);
  if (status == CLI_OK) status = cli_model_open(self, v->model, NULL, v->device, how.context, &opened);
  if (status == CLI_OK && make_work(v, &opened, &how, &model, &work) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = serve(self, &server, &work);
  for (size_t d = 0; d <= SERVE_MOST_ADAPTERS; d++) mica_decoder_destroy(work.decoders[d]);
  mica_embedder_destroy(work.embedder);
  serve_model_close(&model);
  cli_model_close(&opened);
  serve_keys_free(&server.config.keys);
  return status;
}

#else

static int run(const cli_command *self, const void *given) {
  (void)given;
  return cli_fail(self, "this build has no HTTP server: install libmicrohttpd (Debian: libmicrohttpd-dev) and build "
                        "Mica again with -DMICA_WITH_MICROHTTPD=ON");
}

#endif

const cli_command cli_command_serve = {
    .name = "serve",
    .summary = "answer requests over HTTP with a published language model",
    .details = "\nRoutes follow OpenAI's API: /v1/chat/completions, /v1/completions,\n"
               "/v1/embeddings and /v1/models; besides them /tokenize, /detokenize, /health\n"
               "and /metrics. After ctrl-C the server finishes running requests, for at most\n"
               "30 seconds, and ends.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
