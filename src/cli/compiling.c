#include "cli/compiling.h"

#include "cli/result.h"
#include "cli/terminal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Seconds of compiling before the message, and seconds between two checks. */
#define PATIENCE 2.0
#define LOOK 0.1

static atomic_int left;        /* number of programs that are being compiled or are waiting for a compiler process */
static atomic_bool is_watched; /* watch() has been started, or its message is turned off */

/* Thread: waits until programs have been compiling for PATIENCE seconds in total, prints the message and ends. The
 * thread is detached, so it never delays the end of the command. */
static void *watch(void *user) {
  const cli_command *self = user;
  const struct timespec look = {.tv_nsec = (long)(LOOK * 1e9)};
  double seconds = 0;
  while (seconds < PATIENCE) {
    nanosleep(&look, NULL);
    if (atomic_load(&left) > 0) seconds += LOOK;
  }
  cli_progress_end();
  fprintf(stderr, "mica %s: compiling kernels for this device, as a first start does\n", self->name);
  return NULL;
}

static void note(void *user, int programs) {
  pthread_t thread;
  atomic_fetch_add(&left, programs);
  if (!atomic_exchange(&is_watched, true) && !pthread_create(&thread, NULL, watch, user)) pthread_detach(thread);
}

static pthread_mutex_t lost_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t lost;
static char lost_reason[1024];

static atomic_bool lost_is_told; /* the message was printed, or is switched off */

static void note_lost(void *user, const char *reason) {
  const cli_command *self = user;
  if (!atomic_exchange(&lost_is_told, true)) {
    cli_progress_end();
    fprintf(stderr, "mica %s: compiled kernels are not kept, so the next start compiles them again: %s\n", self->name,
            cli_clean(reason));
  }
  pthread_mutex_lock(&lost_lock);
  if (!lost++) snprintf(lost_reason, sizeof lost_reason, "%s", reason);
  pthread_mutex_unlock(&lost_lock);
}

size_t cli_compiled_in_vain(const char **reason) {
  pthread_mutex_lock(&lost_lock);
  const size_t count = lost;
  pthread_mutex_unlock(&lost_lock);
  *reason = lost_reason;
  return count;
}

void cli_compile_tell_lost_later(void) { atomic_store(&lost_is_told, true); }

void cli_compile_silently(void) {
  atomic_store(&is_watched, true);
  cli_compile_tell_lost_later();
}

void cli_compile_with(const cli_command *self, mica_engine_config *config) {
  const char *verbose = getenv("MICA_VERBOSE");
  config->builder = CLI_ITSELF;
  config->not_kept = note_lost;
  config->not_kept_user = (void *)self;
  if (!isatty(STDERR_FILENO) && !(verbose && atoi(verbose) > 0)) return;
  config->compiling = note;
  config->compiling_user = (void *)self;
}
