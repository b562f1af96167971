#include "cli/ranks.h"

#include <ctype.h>
#include <mica/device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_of(const char *variable, int otherwise) {
  const char *value = getenv(variable);
  return value && *value ? atoi(value) : otherwise;
}

bool cli_ranks_is_follower(void) {
  return mica_communicator_mpi_asked() && number_of("OMPI_COMM_WORLD_RANK", number_of("PMI_RANK", 0)) > 0;
}

static int add_device(const cli_command *self, cli_ranks *ranks, const char *name) {
  if (ranks->count == CLI_MOST_DEVICES) {
    cli_fail(self, "--devices: more than %d devices", CLI_MOST_DEVICES);
    return CLI_USAGE;
  }
  snprintf(ranks->names[ranks->count], sizeof ranks->names[0], "%s", name);
  ranks->device[ranks->count] = ranks->names[ranks->count];
  ranks->count++;
  return CLI_OK;
}

/* One word of the list: "0:0", or "0:0/2" for both halves of it. */
static int take_device(const cli_command *self, const char *list, const char *word, size_t length, cli_ranks *ranks) {
  char name[CLI_DEVICE_NAME - 24], part[CLI_DEVICE_NAME];
  if (length == 0 || length >= sizeof name) {
    cli_fail(self, "--devices %s: a device has no name, or too long a one", list);
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

/* True if two ids mean the same cores: a device and a part of it, or parts of different sizes, do. */
static bool overlap(const char *a, const char *b) {
  const size_t n = strcspn(a, "/"), m = strcspn(b, "/");
  if (n != m || strncmp(a, b, n) != 0) return false;
  return !a[n] || !b[m] || !strcmp(a, b) || atoi(a + n + 1) != atoi(b + m + 1);
}

/* Two names of one device are one device. */
static int check_devices(const cli_command *self, const cli_ranks *ranks) {
  static mica_device_info infos[CLI_MOST_DEVICES];
  for (size_t i = 0; i < ranks->count; i++) {
    const mica_status found = mica_device_find(ranks->device[i], &infos[i]);
    if (found != MICA_OK) {
      cli_fail_library(self);
      return found == MICA_E_INVALID ? CLI_USAGE : CLI_FAILED;
    }
    for (size_t k = 0; k < i; k++)
      if (overlap(infos[k].id, infos[i].id)) {
        cli_fail(self, "--devices: %s and %s are not two devices: %s, %s", ranks->device[k], ranks->device[i],
                 infos[k].id, infos[i].id);
        return CLI_USAGE;
      }
  }
  return CLI_OK;
}

/* Ranks on one machine take the devices of the list in turn. */
static int begin_mpi(const cli_command *self, const mica_communicator_config *config, cli_ranks *ranks) {
  const int local = number_of("OMPI_COMM_WORLD_LOCAL_RANK", 0), all = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1);
  if (ranks->count > 1 && (size_t)all != ranks->count) {
    cli_fail(self, "--devices names %zu devices for %d ranks of this machine", ranks->count, all);
    return CLI_USAGE;
  }
  if (ranks->count > 1) ranks->device[0] = ranks->device[local >= 0 && local < all ? local : 0];
  ranks->count = 1;
  return mica_communicator_mpi(config, &ranks->communicator[0]) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

int cli_ranks_begin(const cli_command *self, const char *device, const char *devices, double timeout,
                    const volatile int *stop, cli_ranks *ranks) {
  const mica_communicator_config config = {.timeout = timeout, .stop = stop};
  *ranks = (cli_ranks){.count = 1, .device = {device}};
  if (device && devices) {
    cli_fail(self, "--device and --devices: one of the two");
    return CLI_USAGE;
  }
  int status = devices ? take_devices(self, devices, ranks) : CLI_OK;
  const bool mpi = mica_communicator_mpi_asked();
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

typedef struct follower {
  const cli_ranks *ranks;
  size_t index;
  int (*run)(const cli_ranks *ranks, size_t index, void *user);
  void *user;
  int status;
  pthread_t thread;
} follower;

static void *follow(void *user) {
  follower *f = user;
  cli_fail_silently();
  f->status = f->run(f->ranks, f->index, f->user);
  return NULL;
}

int cli_ranks_run(const cli_ranks *ranks, int (*run)(const cli_ranks *ranks, size_t index, void *user), void *user) {
  follower list[CLI_MOST_DEVICES];
  size_t begun = 1;
  for (; begun < ranks->count; begun++) {
    list[begun] = (follower){.ranks = ranks, .index = begun, .run = run, .user = user};
    if (pthread_create(&list[begun].thread, NULL, follow, &list[begun]) != 0) break;
  }
  if (begun < ranks->count) mica_communicator_abort(ranks->communicator[0], "a thread cannot be started");
  int status = run(ranks, 0, user);
  for (size_t i = 1; i < begun; i++) {
    pthread_join(list[i].thread, NULL);
    if (status == CLI_OK) status = list[i].status;
  }
  return status;
}
