/* ops/select/watch.h: an examination (mica_doctor_run) whose process a driver may crash. Another process watches it
 * and, after a crash, starts a new process that continues. Besides the doctor, only the command `mica` includes this
 * header: the library exports its functions, but they are no part of the API. */
#ifndef MICA_OPS_SELECT_WATCH_H
#define MICA_OPS_SELECT_WATCH_H

#include <mica/doctor.h>

#define MICA__POSITION_TEXT 320

/* The position of an examination. */
typedef struct mica__doctor_position {
  size_t op;                       /* the op's index in mica__ops */
  char group[MICA__POSITION_TEXT]; /* the running cases, by a name that is the same in every process */
  char kernel[64], variant[64];    /* the kernel that was asked for last */
} mica__doctor_position;

/* A position at which the driver ended a process, and the message that reports it. */
typedef struct mica__doctor_end {
  mica__doctor_position position;
  char message[400];
} mica__doctor_end;

typedef struct mica__doctor_watch {
  size_t first_op; /* ops with a smaller index are examined already */
  /* Cases of the groups at these positions are skipped; each group is reported as a kernel that does not build. */
  const mica__doctor_end *ends;
  size_t end_count;
  void (*at)(void *user, const mica__doctor_position *position); /* called before anything that may end the process */
  void *user;
  mica__doctor_position position; /* the position last reported; zero at first */
} mica__doctor_watch;

/* Checks that an op that has a check, or one of its kernels, has this name. If not, MICA_E_NOT_FOUND with a message
 * that lists the names. */
MICA_API MICA_CHECKED mica_status mica__doctor_find(const char *name);

/* Does the same as mica_doctor_run, but begins at the op watch->first_op and reports its position to watch->at. `watch`
 * is NULL if no process watches. */
MICA_API MICA_CHECKED mica_status mica__doctor_run_watched(mica_engine *engine, const char *op,
                                                           mica__doctor_watch *watch, mica_doctor_fn *fn, void *user,
                                                           mica_doctor_summary *summary);

#endif
