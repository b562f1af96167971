#include "cli/meeting.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define STANDARD_SECONDS 300.0
/* Each rank waits this number of seconds longer than the rank before it. The first rank that gives up ends the job, so
 * only one message is printed. */
#define APART 0.5

static struct {
  pthread_mutex_t lock;
  pthread_cond_t over;
  pthread_t thread;
  bool runs, met;
  const cli_command *self;
  const char *what;
  double seconds;
  int rank;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static void *watch(void *user) {
  (void)user;
  struct timespec until;
  const double wait = meeting.seconds + APART * meeting.rank;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)wait;
  until.tv_nsec += (long)((wait - floor(wait)) * 1e9);
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&meeting.lock);
  int late = 0;
  while (!meeting.met && late != ETIMEDOUT) late = pthread_cond_timedwait(&meeting.over, &meeting.lock, &until);
  const bool met = meeting.met;
  pthread_mutex_unlock(&meeting.lock);
  if (met) return NULL;
  fprintf(stderr, "mica %s: rank %d: the other ranks did not %s within %g s (--watchdog)\n", meeting.self->name,
          meeting.rank, meeting.what, meeting.seconds);
  _exit(CLI_FAILED);
}

void cli_meeting_begin(const cli_command *self, const char *what, double seconds, int rank) {
  meeting.met = false;
  meeting.self = self;
  meeting.what = what;
  meeting.seconds = seconds > 0 ? fmin(seconds, 1e6) : STANDARD_SECONDS;
  meeting.rank = rank > 0 ? rank : 0;
  meeting.runs = pthread_create(&meeting.thread, NULL, watch, NULL) == 0;
}

void cli_meeting_end(void) {
  if (!meeting.runs) return;
  pthread_mutex_lock(&meeting.lock);
  meeting.met = true;
  pthread_cond_signal(&meeting.over);
  pthread_mutex_unlock(&meeting.lock);
  pthread_join(meeting.thread, NULL);
  meeting.runs = false;
}
