/* Transport over MPI. A lock serialises its calls: most come from the communicator's thread, but an abort may come from
 * any thread. */
#include "base/clock.h"
#include "base/error.h"

#include <mica/dist.h>
#include <stdio.h>
#include <stdlib.h>

#if MICA_WITH_MPI
#include <limits.h>
#include <mpi.h>
#include <pthread.h>

#define SENTENCE 512
/* Tags for signs of life and for aborts. Both are above the tags of data messages. MPI guarantees only tags up to
 * 32767. */
#define TAG_LIFE 32766
#define TAG_ABORT 32767

/* Seconds after which all messages of an ended rank must have arrived. */
#define ENDED_PATIENCE 5.0

static const char question = '?', answer = '!', farewell = '.';

typedef struct link {
  pthread_mutex_t lock;
  MPI_Comm comm;
  int rank, ranks;
  MPI_Request heard; /* receives the message of an aborting rank */
  MPI_Request life;  /* receives one byte from any rank: a question, an answer or a farewell */
  char sign;
  /* per rank: time of the question that the rank has not answered yet; 0: no such question; negative: the rank ended
   * normally and will not answer */
  double *asked;
  double *went; /* per rank: time of the last begin or end of a message, or of the rank's farewell */
  int *open;    /* per rank: messages in flight */
  char told[SENTENCE], own[SENTENCE];
  bool broken, told_others;
  bool starts; /* this module initialised MPI and will finalise it */
} link;

/* A message in flight. */
typedef struct message {
  MPI_Request request;
  int peer;
} message;

static mica_status failed(int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return MICA_OK;
  MPI_Error_string(code, text, &length);
  return mica__fail(MICA_E_IO, "MPI, %s: %s", what, text);
}

static mica_status check_bytes(size_t bytes) {
  return bytes <= INT_MAX
             ? MICA_OK
             : mica__fail(MICA_E_OVERFLOW, "MPI: a message of %zu bytes is too large; the limit is 2 GiB", bytes);
}

/* Updates the number of messages in flight to or from a peer, and the time of the peer's last activity. `more` is 1
 * when a message begins, -1 when it ends, and 0 to update only the time. The caller holds the lock. */
static void note(link *l, int peer, int more) {
  l->open[peer] += more;
  l->went[peer] = mica__clock();
}

/* Completes the start of a message: stores the message as the request, or frees it after a failure. Releases the
 * lock, which make_message took. */
static mica_status begun(link *l, message *made, int code, const char *what, void **out) {
  mica_status status = failed(code, what);
  if (status == MICA_OK) note(l, made->peer, 1);
  pthread_mutex_unlock(&l->lock);
  if (status == MICA_OK)
    *out = made;
  else
    free(made);
  return status;
}

static mica_status make_message(link *l, int32_t peer, size_t bytes, message **made) {
  MICA_TRY(check_bytes(bytes));
  *made = malloc(sizeof **made);
  if (!*made) return mica__fail_nomem("a message");
  (*made)->peer = peer;
  pthread_mutex_lock(&l->lock);
  return MICA_OK;
}

static mica_status mpi_send(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **out) {
  link *l = user;
  message *m = NULL;
  MICA_TRY(make_message(l, to, bytes, &m));
  return begun(l, m, MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, l->comm, &m->request), "sending", out);
}

static mica_status mpi_receive(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **out) {
  link *l = user;
  message *m = NULL;
  MICA_TRY(make_message(l, from, bytes, &m));
  return begun(l, m, MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, l->comm, &m->request), "receiving", out);
}

static mica_status mpi_test(void *user, void *request, bool *done) {
  link *l = user;
  message *m = request;
  int flag = 0;
  pthread_mutex_lock(&l->lock);
  mica_status status = failed(MPI_Test(&m->request, &flag, MPI_STATUS_IGNORE), "waiting for a message");
  *done = status == MICA_OK && flag;
  if (*done) note(l, m->peer, -1);
  pthread_mutex_unlock(&l->lock);
  if (*done) free(m);
  return status;
}

/* Gives a message up. MPI implementations cannot cancel sends, so the memory of a send may still be read. That is
 * harmless, because the communicator is broken and the process will end soon. */
static void mpi_cancel(void *user, void *request) {
  link *l = user;
  message *m = request;
  pthread_mutex_lock(&l->lock);
  if (m->request != MPI_REQUEST_NULL) {
    MPI_Cancel(&m->request);
    MPI_Request_free(&m->request);
  }
  note(l, m->peer, -1);
  l->broken = true;
  pthread_mutex_unlock(&l->lock);
  free(m);
}

static mica_status send_sign(link *l, int rank, const char *sign) {
  MPI_Request request = MPI_REQUEST_NULL;
  MICA_TRY(failed(MPI_Isend(sign, 1, MPI_BYTE, rank, TAG_LIFE, l->comm, &request), "sending a sign of life"));
  return failed(MPI_Request_free(&request), "sending a sign of life");
}

static mica_status listen_for_signs(link *l) {
  return failed(MPI_Irecv(&l->sign, 1, MPI_BYTE, MPI_ANY_SOURCE, TAG_LIFE, l->comm, &l->life), "listening");
}

/* Handles a question, answer or farewell, if one has arrived. Needs the lock. */
static mica_status hear_signs(link *l) {
  MPI_Status about;
  int flag = 0;
  if (l->life == MPI_REQUEST_NULL) return MICA_OK;
  MICA_TRY(failed(MPI_Test(&l->life, &flag, &about), "listening"));
  if (!flag) return MICA_OK;
  if (l->sign == farewell)
    l->asked[about.MPI_SOURCE] = -1, note(l, about.MPI_SOURCE, 0);
  else if (l->sign == answer)
    l->asked[about.MPI_SOURCE] = 0;
  else
    MICA_TRY(send_sign(l, about.MPI_SOURCE, &answer));
  return listen_for_signs(l);
}

/* Returns MICA_E_STATE if a message to or from an ended rank is still in flight after ENDED_PATIENCE. The caller holds
 * the lock. */
static mica_status miss_the_ended(const link *l) {
  for (int i = 0; i < l->ranks; i++)
    if (l->asked[i] < 0 && l->open[i] > 0 && mica__clock() - l->went[i] > ENDED_PATIENCE)
      return mica__fail(MICA_E_STATE, "rank %d has ended, and rank %d waits for it", i, l->rank);
  return MICA_OK;
}

static mica_status mpi_poll(void *user) {
  link *l = user;
  int flag = 0;
  pthread_mutex_lock(&l->lock);
  mica_status status = MICA_OK;
  if (l->heard != MPI_REQUEST_NULL) {
    status = failed(MPI_Test(&l->heard, &flag, MPI_STATUS_IGNORE), "listening");
    if (status == MICA_OK && flag) {
      l->broken = true;
      l->told[SENTENCE - 1] = '\0';
    }
  }
  if (status == MICA_OK && l->broken && *l->told) status = mica__fail(MICA_E_STATE, "%s", l->told);
  if (status == MICA_OK && !l->broken) status = hear_signs(l);
  if (status == MICA_OK && !l->broken) status = miss_the_ended(l);
  pthread_mutex_unlock(&l->lock);
  return status;
}

static mica_status mpi_ask(void *user, int32_t rank, double *silent) {
  link *l = user;
  mica_status status = MICA_OK;
  pthread_mutex_lock(&l->lock);
  const bool asks = l->asked[rank] == 0, ended = l->asked[rank] < 0;
  if (asks) l->asked[rank] = mica__clock();
  *silent = ended ? 0 : mica__clock() - l->asked[rank];
  if (asks) status = send_sign(l, rank, &question);
  pthread_mutex_unlock(&l->lock);
  return status;
}

static void mpi_abort(void *user, int32_t rank, const char *sentence) {
  link *l = user;
  (void)rank;
  pthread_mutex_lock(&l->lock);
  if (!l->told_others) {
    l->broken = l->told_others = true;
    snprintf(l->own, sizeof l->own, "%s", sentence);
    for (int i = 0; i < l->ranks; i++) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (i == l->rank) continue;
      if (MPI_Isend(l->own, SENTENCE, MPI_BYTE, i, TAG_ABORT, l->comm, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
    }
  }
  pthread_mutex_unlock(&l->lock);
}

/* Cancels receives, so no message arrives in freed memory. */
static void stop_listening(link *l) {
  MPI_Request *const open[] = {&l->heard, &l->life};
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
    if (*open[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(open[i]);
    MPI_Wait(open[i], MPI_STATUS_IGNORE);
  }
}

static void free_link(link *l) {
  pthread_mutex_destroy(&l->lock);
  free(l->asked);
  free(l->went);
  free(l->open);
  free(l);
}

/* Sends farewells, because other ranks may run for much longer and would take this rank's silence for a crash. A
 * farewell that cannot be sent is only logged. */
static void take_leave(link *l) {
  mica__attempt_begin();
  for (int i = 0; i < l->ranks; i++)
    if (i != l->rank && send_sign(l, i, &farewell) != MICA_OK)
      mica__log(MICA_LOG_LEVEL_DEBUG, "rank %d: %s", i, mica_error_message());
  mica__attempt_end();
}

/* Does nothing with a broken link, because MPI_Finalize would wait for lost ranks. */
static void mpi_destroy(void *user) {
  link *l = user;
  if (l->broken) return;
  take_leave(l);
  stop_listening(l);
  MPI_Comm_free(&l->comm);
  if (l->starts) MPI_Finalize();
  free_link(l);
}

static const mica_transport_calls mpi_calls = {mpi_send, mpi_receive, mpi_test,    mpi_cancel,
                                               mpi_poll, mpi_abort,   mpi_destroy, mpi_ask};

/* Copies the communicator MPI_COMM_WORLD. By default MPI ends a process whose call fails. So this function sets the
 * error handler that returns errors, and restores the caller's handler after the call. */
static mica_status copy_world(link *l) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  MPI_Errhandler_free(&own);
  if (code != MPI_SUCCESS) l->comm = MPI_COMM_NULL;
  return failed(code, "starting");
}

static mica_status start(link *l) {
  /* MPI can be initialised only once per process. If creation fails after that, the next communicator will finalise
   * it. */
  static bool began;
  int runs = 0, ended = 0, level = MPI_THREAD_SINGLE;
  MPI_Finalized(&ended);
  if (ended)
    return mica__fail(MICA_E_STATE,
                      "mica_communicator_mpi: MPI_Finalize was called in this process, so MPI cannot be used again");
  MPI_Initialized(&runs);
  if (runs) {
    MPI_Query_thread(&level);
  } else {
    MICA_TRY(failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "starting"));
    began = true;
  }
  l->starts = began;
  if (level < MPI_THREAD_SERIALIZED)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "mica_communicator_mpi: MPI must run at the thread level MPI_THREAD_SERIALIZED or above");
  MICA_TRY(copy_world(l));
  MPI_Comm_set_errhandler(l->comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(l->comm, &l->rank);
  MPI_Comm_size(l->comm, &l->ranks);
  l->asked = calloc((size_t)l->ranks, sizeof *l->asked);
  l->went = calloc((size_t)l->ranks, sizeof *l->went);
  l->open = calloc((size_t)l->ranks, sizeof *l->open);
  if (!l->asked || !l->went || !l->open) return mica__fail_nomem("a communicator");
  MICA_TRY(listen_for_signs(l));
  return failed(MPI_Irecv(l->told, SENTENCE, MPI_BYTE, MPI_ANY_SOURCE, TAG_ABORT, l->comm, &l->heard), "listening");
}

mica_status mica_communicator_mpi(const mica_communicator_config *config, mica_communicator **communicator) {
  link *l = calloc(1, sizeof *l);
  if (!communicator || !l) {
    free(l);
    return communicator ? mica__fail_nomem("a communicator")
                        : mica__fail(MICA_E_INVALID, "mica_communicator_mpi: a pointer is NULL");
  }
  l->heard = l->life = MPI_REQUEST_NULL;
  l->comm = MPI_COMM_NULL;
  pthread_mutex_init(&l->lock, NULL);
  mica_status status = start(l);
  if (status != MICA_OK) {
    stop_listening(l);
    if (l->comm != MPI_COMM_NULL) MPI_Comm_free(&l->comm);
    free_link(l);
    return status;
  }
  return mica_communicator_create(&(mica_transport){l, l->rank, l->ranks, &mpi_calls}, config, communicator);
}

#else

mica_status mica_communicator_mpi(const mica_communicator_config *config, mica_communicator **communicator) {
  (void)config, (void)communicator;
  return mica__fail_lacks("a communicator of processes", "Open MPI");
}

#endif

/* True if an MPI launcher started several ranks. Each launcher sets one of these variables to the number of ranks. */
bool mica_communicator_mpi_asked(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && atoi(value) > 1) return true;
  }
  return false;
}
