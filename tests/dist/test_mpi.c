/* labels: null mpi single
 *
 * The transport over MPI: a rank that has ended well is not asked for signs of life, and what is freed is not listened
 * into. Each case begins ranks of itself by mpirun. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/dist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if MICA_WITH_MPI
#include <mpi.h>

#define ROLE "MICA_TEST_RANK_OF"

/* --- MPI that fails on purpose --- */

static int receives, fails_at, open_receives; /* fails_at 0: none */

int MPI_Irecv(void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
  if (++receives == fails_at) return MPI_ERR_OTHER;
  open_receives++;
  return PMPI_Irecv(to, count, type, from, tag, comm, request);
}

int MPI_Cancel(MPI_Request *request) {
  open_receives--;
  return PMPI_Cancel(request);
}

static int copies, copy_fails_at; /* 0: none */

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
  return ++copies == copy_fails_at ? MPI_ERR_OTHER : PMPI_Comm_dup(comm, copy);
}

/* --- ranks --- */

/* True in a rank. Else this case was run by so many ranks, all of which ended well. */
static bool is_rank(const char *name, int ranks) {
  static const char settings[] =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 "
      "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_hwloc_base_binding_policy=none";
  char self[3000], command[4096];
  if (getenv(ROLE)) return true;
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  ck_assert_int_gt(n, 0);
  self[n] = '\0';
  snprintf(command, sizeof command, "%s " ROLE "=1 timeout 60 mpirun -n %d '%s' %s >&2", settings, ranks, self, name);
  const int how = system(command);
  ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == 0, "%s: status %d", command, how);
  return false;
}

static mica_status pass(mica_communicator *c, mica_collective kind, int32_t peer, int32_t *value) {
  const mica_transfer t = {.kind = kind, .peer = peer, .data = value, .count = 1, .dtype = MICA_I32};
  return mica_communicator_run(c, &t);
}

/* Rank 0, asked to stop, waits long for rank 2; rank 1 is through. */
START_TEST(who_has_ended_well_is_not_asked) {
  static volatile int stop;
  mica_communicator *c = NULL;
  int32_t value = 0;
  if (!is_rank("who_has_ended_well_is_not_asked", 3)) return;
  ck_ok(mica_communicator_mpi(&(mica_communicator_config){.timeout = 30, .stop = &stop}, &c));
  if (c->rank == 2) {
    value = 7;
    sleep(6);
    ck_ok(pass(c, MICA_COLLECTIVE_SEND, 0, &value));
  } else if (c->rank == 0) {
    stop = 1;
    ck_ok(pass(c, MICA_COLLECTIVE_RECEIVE, 2, &value));
    ck_assert_int_eq(value, 7);
  }
  mica_communicator_destroy(c);
}
END_TEST

/* One that has gone without a farewell is still found. */
START_TEST(who_is_silent_is_found) {
  static volatile int stop;
  mica_communicator *c = NULL;
  int32_t value = 0;
  if (!is_rank("who_is_silent_is_found", 2)) return;
  if (atoi(getenv("OMPI_COMM_WORLD_RANK")) == 1) { /* in MPI, but in no communicator of Mica's */
    MPI_Comm comm;
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    sleep(6);
    MPI_Finalize();
    return;
  }
  ck_ok(mica_communicator_mpi(&(mica_communicator_config){.timeout = 30, .stop = &stop}, &c));
  stop = 1;
  ck_assert_int_eq(pass(c, MICA_COLLECTIVE_RECEIVE, 1, &value), MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), "but rank 1 does not answer") != NULL, "%s", mica_error_message());
  mica_communicator_destroy(c);
  MPI_Finalize(); /* a communicator that is broken leaves it */
}
END_TEST

START_TEST(nothing_listens_into_what_is_freed) {
  mica_communicator *c = NULL;
  if (!is_rank("nothing_listens_into_what_is_freed", 2)) return;
  for (fails_at = 1; fails_at <= 2; fails_at++) {
    receives = 0;
    ck_assert_int_eq(mica_communicator_mpi(NULL, &c), MICA_E_IO);
    ck_assert_int_eq(receives, fails_at);
    ck_assert_int_eq(open_receives, 0);
  }
  fails_at = 0;
  ck_ok(mica_communicator_mpi(NULL, &c));
  ck_assert_int_eq(open_receives, 2);
  mica_communicator_destroy(c);
  ck_assert_int_eq(open_receives, 0);
}
END_TEST

/* MPI, begun by an attempt that failed, is ended by the one that did not. */
START_TEST(what_was_begun_is_ended) {
  mica_communicator *c = NULL;
  int ended = 0;
  if (!is_rank("what_was_begun_is_ended", 2)) return;
  copy_fails_at = 1;
  ck_assert_int_eq(mica_communicator_mpi(NULL, &c), MICA_E_IO);
  ck_assert_msg(strstr(mica_error_message(), "MPI, starting") != NULL, "%s", mica_error_message());
  ck_ok(mica_communicator_mpi(NULL, &c));
  mica_communicator_destroy(c);
  MPI_Finalized(&ended);
  ck_assert(ended);
}
END_TEST

/* A rank that waits for one that has ended well is told so, long before its own patience ends; what was sent before
 * the end arrives. */
START_TEST(who_has_ended_is_not_waited_for) {
  mica_communicator *c = NULL;
  int32_t value = 0;
  if (!is_rank("who_has_ended_is_not_waited_for", 2)) return;
  ck_ok(mica_communicator_mpi(&(mica_communicator_config){.timeout = 50}, &c));
  if (c->rank == 1) {
    value = 7;
    ck_ok(pass(c, MICA_COLLECTIVE_SEND, 0, &value));
    mica_communicator_destroy(c);
    return;
  }
  sleep(1);
  ck_ok(pass(c, MICA_COLLECTIVE_RECEIVE, 1, &value));
  ck_assert_int_eq(value, 7);
  ck_assert_int_eq(pass(c, MICA_COLLECTIVE_RECEIVE, 1, &value), MICA_E_STATE);
  ck_assert_str_eq(mica_error_message(), "rank 1 has ended, and rank 0 waits for it");
  mica_communicator_destroy(c);
  MPI_Finalize(); /* a communicator that is broken leaves it */
}
END_TEST

/* A case by its name, for the ranks. */
TESTS(system("mpirun --version >/dev/null 2>&1") ? "no mpirun" : NULL, NULL, NULL, who_has_ended_well_is_not_asked,
      who_is_silent_is_found, who_has_ended_is_not_waited_for, nothing_listens_into_what_is_freed,
      what_was_begun_is_ended)

#else

SKIPS("a build without MPI")

#endif
