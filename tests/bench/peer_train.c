#include "bench/peer_train.h"

#include "bench/bench.h"
#include "runtime/drivers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *peer_train_python(void) {
  const char *asked = getenv("MICA_BENCH_PYTHON");
  return asked && *asked ? asked : BENCH_PYTHON;
}

enum { MOST_ARGUMENTS = 8 };

static void become(int input, int output, const char *script, const char *const *arguments) {
  char path[512], threads[16];
  const char *python = peer_train_python();
  const char *words[MOST_ARGUMENTS + 4] = {python, path};
  int count = 2;
  snprintf(path, sizeof path, "%s/%s", BENCH_PEERS, script);
  snprintf(threads, sizeof threads, "%d", (int)mica__usable_cores());
  for (int i = 0; arguments[i] && i < MOST_ARGUMENTS; i++) words[count++] = arguments[i];
  words[count] = threads;
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0) _exit(127);
  for (int fd = 3; fd < 256; fd++) close(fd);
  execvp(python, (char *const *)words);
  _exit(127);
}

/* The peer's first line is its version, or "no " and the reason why there is none. */
static bool greet(peer_train *peer) {
  char line[200] = "", why[300];
  bool spoke = fgets(line, sizeof line, peer->from) != NULL;
  line[strcspn(line, "\n")] = 0;
  if (spoke && strncmp(line, "no ", 3) != 0) {
    snprintf(peer->version, sizeof peer->version, "%.31s", line);
    return peer_train_steps(peer, 1) >= 0;
  }
  snprintf(why, sizeof why, "%s (MICA_BENCH_PYTHON) says: %s", peer_train_python(), spoke ? line + 3 : "nothing");
  bench_peer_missing("PyTorch", why);
  return false;
}

bool peer_train_start_script(peer_train *peer, const char *script, const char *const *arguments) {
  int to[2], from[2];
  *peer = (peer_train){0};
  if (pipe(to) != 0 || pipe(from) != 0) return false;
  peer->process = fork();
  if (peer->process == 0) become(to[0], from[1], script, arguments);
  close(to[0]);
  close(from[1]);
  peer->to = fdopen(to[1], "w");
  peer->from = fdopen(from[0], "r");
  if (peer->process > 0 && peer->to && peer->from && greet(peer)) return true;
  if (peer->to && peer->from) peer_train_end(peer);
  return false;
}

bool peer_train_start(peer_train *peer, const char *model, int batch, int side, const char *dtype) {
  char b[16], s[16];
  snprintf(b, sizeof b, "%d", batch);
  snprintf(s, sizeof s, "%d", side);
  return peer_train_start_script(peer, "torch_train.py", (const char *const[]){model, b, s, dtype, NULL});
}

static double ask(peer_train *peer, const char *question) {
  char line[64];
  if (fprintf(peer->to, "%s\n", question) < 0 || fflush(peer->to) != 0) return -1;
  return fgets(line, sizeof line, peer->from) ? atof(line) : -1;
}

double peer_train_steps(peer_train *peer, int steps) {
  char text[16];
  snprintf(text, sizeof text, "%d", steps);
  return ask(peer, text);
}

double peer_train_weights(peer_train *peer) { return ask(peer, "weights"); }

double peer_train_end(peer_train *peer) {
  double bytes = ask(peer, "end");
  fclose(peer->to);
  fclose(peer->from);
  waitpid(peer->process, NULL, 0);
  return bytes;
}
