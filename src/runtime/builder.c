#include "runtime/builder.h"

#include "base/error.h"
#include "runtime/objects.h"
#include "runtime/program.h"
#include "runtime/serve_builds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A request is this struct, then its texts with their terminators. The answer is the key of the built program, which
 * proves that both sides have the same version and device; zeros if nothing was built. */
enum { NAME, LABEL, SOURCE, OPTIONS, KERNELS, TEXTS };
typedef struct message {
  mica__hash key;
  uint64_t bytes[TEXTS];
} message;
#define MAX_TEXT_BYTES ((uint64_t)1 << 26)

/* Uses send, not write: if the other process has ended, write raises SIGPIPE, which would end this process too. */
static bool send_all(int socket, const void *data, size_t bytes) {
  for (const char *at = data; bytes > 0;) {
    ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

static bool receive_all(int socket, void *data, size_t bytes) {
  for (char *at = data; bytes > 0;) {
    ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

/* Sends the builder's output to /dev/null. If the builder kept this process's output open, a reader of the output would
 * not see its end when this process ends. No error is lost: a program that the builder cannot build is built again in
 * this process, which then reports the error. */
static bool redirect(posix_spawn_file_actions_t *actions, int socket) {
  return posix_spawn_file_actions_adddup2(actions, socket, STDIN_FILENO) == 0 &&
         posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
         posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
}

static bool start(mica__builder *builder, const mica_engine *engine, const char *action) {
  int ends[2];
  char *words[] = {
      "mica", "cache", (char *)action, "--device", (char *)engine->device.info.id, "--directory", engine->cache_dir,
      NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
  posix_spawn_file_actions_t actions;
  bool started = posix_spawn_file_actions_init(&actions) == 0;
  if (started) {
    started = redirect(&actions, ends[1]) &&
              posix_spawn(&builder->process, engine->builder, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  builder->socket = ends[0];
  if (!started) close(ends[0]);
  return started;
}

bool mica__builder_start(mica__builder *builder, const mica_engine *engine) { return start(builder, engine, "build"); }

bool mica__builder_start_doctor(mica__builder *builder, const mica_engine *engine) {
  return start(builder, engine, "doctor");
}

void mica__builder_end_doctor(mica__builder *builder) {
  kill(builder->process, SIGTERM);
  mica__builder_stop(builder);
}

bool mica__builder_make(mica__builder *builder, const mica__build_item *item) {
  const mica__program_request *r = &item->request;
  const char *const texts[TEXTS] = {r->name, r->label, r->source, r->options, r->kernels};
  message m = {.key = item->key};
  for (int i = 0; i < TEXTS; i++) m.bytes[i] = strlen(texts[i]) + 1;
  bool sent = send_all(builder->socket, &m, sizeof m);
  for (int i = 0; i < TEXTS; i++) sent = sent && send_all(builder->socket, texts[i], strlen(texts[i]) + 1);
  mica__hash made;
  return sent && receive_all(builder->socket, &made, sizeof made) &&
         (mica__hash_equal(made, item->key) || mica__hash_equal(made, (mica__hash){0}));
}

void mica__builder_stop(mica__builder *builder) {
  close(builder->socket);
  while (waitpid(builder->process, NULL, 0) < 0 && errno == EINTR) continue;
}

/* --- the builder's side --- */

static void free_texts(char *texts[TEXTS]) {
  for (int i = 0; i < TEXTS; i++) free(texts[i]);
}

static bool receive_texts(int socket, const message *m, char *texts[TEXTS]) {
  bool good = true;
  for (int i = 0; i < TEXTS; i++) texts[i] = NULL;
  for (int i = 0; good && i < TEXTS; i++) {
    const size_t bytes = m->bytes[i] <= MAX_TEXT_BYTES ? (size_t)m->bytes[i] : 0;
    good =
        bytes > 0 && (texts[i] = malloc(bytes)) && receive_all(socket, texts[i], bytes) && texts[i][bytes - 1] == '\0';
  }
  if (!good) free_texts(texts);
  return good;
}

static mica__hash make(mica_engine *engine, char *const texts[TEXTS]) {
  const mica__program_request r = {texts[NAME], texts[LABEL], texts[SOURCE], texts[OPTIONS], texts[KERNELS]};
  mica__hash key;
  bool made = mica__program_key(engine, &r, &key) == MICA_OK && mica__program_make(engine, &r) == MICA_OK;
  return made ? key : (mica__hash){0};
}

mica_status mica__engine_serve_builds(mica_engine *engine, int socket) {
  message m;
  char *texts[TEXTS];
  int type = 0;
  socklen_t bytes = sizeof type;
  if (!engine) return mica__fail(MICA_E_INVALID, "serving builds: engine is NULL");
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &bytes))
    return mica__fail(
        MICA_E_INVALID,
        "serving builds: the file descriptor is not a socket; start mica cache build with one as standard input");
  while (receive_all(socket, &m, sizeof m)) {
    if (!receive_texts(socket, &m, texts))
      return mica__fail(MICA_E_FORMAT, "a request for a build is truncated or damaged");
    mica__hash made = make(engine, texts);
    free_texts(texts);
    if (!send_all(socket, &made, sizeof made)) break;
  }
  return MICA_OK;
}
