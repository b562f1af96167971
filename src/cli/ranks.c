#include "cli/ranks.h"

#include "cli/meeting.h"
#include "cli/result.h"

#include <ctype.h>
#include <mica/device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int number_of(const char *variable, int otherwise) {
  const char *value = getenv(variable);
  return value && *value ? atoi(value) : otherwise;
}

static int own_rank(void) { return number_of("OMPI_COMM_WORLD_RANK", number_of("PMI_RANK", 0)); }

bool cli_ranks_is_follower(void) { return mica_communicator_mpi_asked() && own_rank() > 0; }

int cli_refuse_ranks(const cli_command *self) {
  if (!mica_communicator_mpi_asked()) return CLI_OK;
  cli_fail(self, "the command runs in one process: start it without mpirun; only mica train runs in several");
  /* When one rank ends with an error, mpirun ends all others. Rank 0 prints the message, so the others wait for it. */
  if (own_rank() > 0) sleep(1);
  return CLI_USAGE;
}

static int add_device(const cli_command *self, cli_ranks *ranks, const char *name) {
  if (ranks->count == CLI_MOST_DEVICES) {
    cli_fail(self, "--devices may name at most %d devices", CLI_MOST_DEVICES);
    return CLI_USAGE;
  }
  snprintf(ranks->names[ranks->count], sizeof ranks->names[0], "%s", name);
  ranks->device[ranks->count] = ranks->names[ranks->count];
  ranks->count++;
  return CLI_OK;
}

/* Adds the devices of one word of the list: "0:0" is one device, "0:0/2" is two, the halves of 0:0. */
static int take_device(const cli_command *self, const char *list, const char *word, size_t length, cli_ranks *ranks) {
  char name[CLI_DEVICE_NAME - 24], part[CLI_DEVICE_NAME];
  if (length == 0 || length >= sizeof name) {
    cli_fail(self, "--devices %s: the name of each device must have 1 to %zu characters", list, sizeof name - 1);
    return CLI_USAGE;
  }
  memcpy(name, word, length);
  name[length] = '\0';
  const char *slash = strrchr(name, '/');
  char *end = NULL;
  const unsigned long parts = slash && isdigit((unsigned char)slash[1]) ? strtoul(slash + 1, &end, 10) : 0;
  if (!parts || *end) return add_device(self, ranks, name);
  int status = CLI_OK;
  for (unsigned long k = 0; status == CLI_OK && k < parts; k++) {
    snprintf(part, sizeof part, "%s:%lu", name, k);
    status = add_device(self, ranks, part);
  }
  return status;
}

static int take_devices(const cli_command *self, const char *list, cli_ranks *ranks) {
  int status = CLI_OK;
  ranks->count = 0;
  for (const char *word = list, *next; status == CLI_OK && word; word = next) {
    next = strchr(word, ',');
    status = take_device(self, list, word, next ? (size_t)(next - word) : strlen(word), ranks);
    if (next) next++;
  }
  return status;
}

/* True if two ids are equal or may share cores: a device and a part of it do, and so do parts of different sizes. */
static bool overlap(const char *a, const char *b) {
  const size_t n = strcspn(a, "/"), m = strcspn(b, "/");
  if (n != m || strncmp(a, b, n) != 0) return false;
  return !a[n] || !b[m] || !strcmp(a, b) || atoi(a + n + 1) != atoi(b + m + 1);
}

/* Refuses a list in which two names mean the same device or devices that share cores. Sets ranks->differ. */
static int check_devices(const cli_command *self, cli_ranks *ranks) {
  static mica_device_info infos[CLI_MOST_DEVICES];
  for (size_t i = 0; i < ranks->count; i++) {
    const mica_status found = mica_device_find(ranks->device[i], &infos[i]);
    if (found != MICA_OK) {
      cli_fail_library(self);
      return found == MICA_E_INVALID ? CLI_USAGE : CLI_FAILED;
    }
    ranks->differ =
        ranks->differ || strcmp(infos[i].name, infos[0].name) != 0 || infos[i].compute_units != infos[0].compute_units;
    for (size_t k = 0; k < i; k++)
      if (overlap(infos[k].id, infos[i].id)) {
        cli_fail(self, "--devices: %s and %s are the same device or share cores: %s, %s", ranks->device[k],
                 ranks->device[i], infos[k].id, infos[i].id);
        return CLI_USAGE;
      }
  }
  return CLI_OK;
}

/* Begins a rank that mpirun started. If --devices lists several devices, the ranks on a machine take them in order, one
 * per rank. */
static int begin_mpi(const cli_command *self, const mica_communicator_config *config, cli_ranks *ranks) {
  const int local = number_of("OMPI_COMM_WORLD_LOCAL_RANK", 0), all = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
  if (ranks->count > 1 && (size_t)all != ranks->count) {
    cli_fail(self, "--devices names %zu devices, but this machine has %d ranks", ranks->count, all);
    return CLI_USAGE;
  }
  if (ranks->count > 1) ranks->device[0] = ranks->device[local >= 0 && local < all ? local : 0];
  ranks->count = 1;
  cli_meeting_begin(self, "start", config->timeout, own_rank());
  const mica_status status = mica_communicator_mpi(config, &ranks->communicator[0]);
  cli_meeting_end();
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

int cli_ranks_begin(const cli_command *self, const char *device, const char *devices, double timeout,
                    const volatile int *stop, cli_ranks *ranks) {
  const mica_communicator_config config = {.timeout = timeout, .stop = stop};
  *ranks = (cli_ranks){.count = 1, .device = {device}, .timeout = timeout, .stop = stop};
  if (device && devices) {
    cli_fail(self, "give --device or --devices, not both");
    return CLI_USAGE;
  }
  int status = devices ? take_devices(self, devices, ranks) : CLI_OK;
  const bool mpi = mica_communicator_mpi_asked();
  for (size_t i = 0; devices && status == CLI_OK && i < ranks->count; i++)
    status = cli_refuse_null(self, ranks->device[i]);
  if (status == CLI_OK && ranks->count > 1 && !mpi) status = check_devices(self, ranks);
  if (status != CLI_OK) return status;
  if (mpi) return begin_mpi(self, &config, ranks);
  if (ranks->count == 1) return CLI_OK;
  if (mica_communicator_local((int32_t)ranks->count, &config, ranks->communicator) != MICA_OK)
    return cli_fail_library(self);
  return CLI_OK;
}

void cli_ranks_end(cli_ranks *ranks) {
  for (size_t i = 0; i < ranks->count; i++) mica_communicator_destroy(ranks->communicator[i]);
  *ranks = (cli_ranks){0};
}

int cli_ranks_keep(const cli_command *self, cli_ranks *ranks, const bool *keeps) {
  const mica_communicator_config config = {.timeout = ranks->timeout, .stop = ranks->stop};
  size_t kept = 0;
  for (size_t i = 0; i < ranks->count; i++) {
    mica_communicator_destroy(ranks->communicator[i]);
    ranks->communicator[i] = NULL;
    if (keeps[i]) ranks->device[kept++] = ranks->device[i];
  }
  ranks->count = kept;
  if (kept < 2 || mica_communicator_local((int32_t)kept, &config, ranks->communicator) == MICA_OK) return CLI_OK;
  return cli_fail_library(self);
}

/* Seconds that the other ranks get to return after one has failed (or the timeout of --watchdog, if that is shorter). A
 * rank that waits for others fails at once, but a rank in a long kernel launch returns only after it. */
#define PATIENCE 10.0

typedef struct follower {
  cli_ranks *ranks;
  size_t index;
  int (*run)(cli_ranks *ranks, size_t index, void *user);
  void *user;
  int status;
  bool begun, done;
  pthread_t thread;
} follower;

/* The state of the threads of cli_ranks_run. It is static, because a thread that hangs outlives the call. */
static follower followers[CLI_MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;

static void *follow(void *user) {
  follower *f = user;
  if (f->index) cli_fail_silently();
  const int status = f->run(f->ranks, f->index, f->user);
  pthread_mutex_lock(&lock);
  f->status = status;
  f->done = true;
  pthread_cond_signal(&returned);
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Waits until all ranks have returned, or until about `patience` seconds after one has failed. Called with the lock
 * held. */
static void wait_for_all(size_t begun, double patience) {
  struct timespec until = {.tv_sec = 0};
  for (;;) {
    bool done = true, failed = false;
    for (size_t i = 0; i < begun; i++) {
      done = done && followers[i].done;
      failed = failed || (followers[i].done && followers[i].status != CLI_OK);
    }
    if (done) return;
    if (failed && !until.tv_sec) {
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_sec += (time_t)patience + 1;
    }
    if (!until.tv_sec)
      pthread_cond_wait(&returned, &lock);
    else if (pthread_cond_timedwait(&returned, &lock, &until) != 0)
      return;
  }
}

/* Joins the threads. A rank that has not returned is lost, and its thread is abandoned. */
static int join_all(const cli_command *self, cli_ranks *ranks, size_t begun) {
  int status = CLI_OK;
  pthread_mutex_lock(&lock);
  wait_for_all(begun, ranks->timeout > 0 && ranks->timeout < PATIENCE ? ranks->timeout : PATIENCE);
  for (size_t i = 0; i < begun; i++) {
    ranks->hangs = ranks->hangs || !followers[i].done;
    if (!followers[i].done) ranks->lost[i] = true;
    if (!followers[i].done) status = cli_fail(self, "the rank of the device %s does not answer", ranks->device[i]);
    if (followers[i].done && status == CLI_OK) status = followers[i].status;
  }
  pthread_mutex_unlock(&lock);
  for (size_t i = 0; i < begun; i++)
    if (followers[i].done) pthread_join(followers[i].thread, NULL);
  return status;
}

int cli_ranks_run(const cli_command *self, cli_ranks *ranks, int (*run)(cli_ranks *ranks, size_t index, void *user),
                  void *user) {
  size_t begun = 0;
  if (ranks->count == 1) return run(ranks, 0, user);
  for (; begun < ranks->count; begun++) {
    followers[begun] = (follower){.ranks = ranks, .index = begun, .run = run, .user = user};
    if (pthread_create(&followers[begun].thread, NULL, follow, &followers[begun]) != 0) break;
  }
  if (begun < ranks->count) mica_communicator_abort(ranks->communicator[0], "a thread cannot be started");
  const int status = join_all(self, ranks, begun);
  return begun < ranks->count && status == CLI_OK ? CLI_FAILED : status;
}

/* --- restart --- */

/* Reads the words of this process's command line, which point into *text. The caller frees the list and *text. */
static char **read_words(char **text) {
  FILE *file = fopen("/proc/self/cmdline", "r");
  size_t length = 0, room = 0, count = 0;
  char **words = NULL;
  *text = NULL;
  for (int c; file && (c = getc(file)) != EOF; count += !c) {
    char *more = length + 1 < room ? *text : realloc(*text, room = 2 * room + 64);
    if (!more) break;
    *text = more;
    more[length++] = (char)c;
  }
  if (file) fclose(file);
  if (count) words = calloc(count + 1, sizeof *words);
  for (size_t at = 0, k = 0; words && k < count; at += strlen(*text + at) + 1) words[k++] = *text + at;
  return words;
}

/* Writes "--devices=0:0,1:0" with the devices that are left. Returns their number, or 0 if text is too small. */
static size_t list_left(const cli_ranks *ranks, char *text, size_t room) {
  size_t left = 0, length = (size_t)snprintf(text, room, "--devices=");
  for (size_t i = 0; i < ranks->count && length < room; i++)
    if (!ranks->lost[i])
      length += (size_t)snprintf(text + length, room - length, "%s%s", left++ ? "," : "", ranks->device[i]);
  return length < room ? left : 0;
}

void cli_ranks_restart(const cli_command *self, const cli_ranks *ranks) {
  static char list[CLI_MOST_DEVICES * (CLI_DEVICE_NAME + 1)];
  char *text = NULL;
  const size_t left = list_left(ranks, list, sizeof list);
  if (ranks->count < 2 || !left || left == ranks->count) return;
  char **words = read_words(&text);
  for (char **word = words; word && *word; word++) {
    if (strncmp(*word, "--devices", strlen("--devices")) != 0) continue;
    const bool apart = !(*word)[strlen("--devices")];
    *word = list;
    for (char **rest = word + 1; apart && *rest; rest++) rest[0] = rest[1];
    cli_fail(self, "training goes on with %zu of %zu devices: %s", left, ranks->count, list + strlen("--devices="));
    fflush(NULL);
    execv(CLI_ITSELF, words);
    break;
  }
  free(words);
  free(text);
}
