/* base/error.h: failing with a status and a sentence, and passing a failure on. */
#ifndef MICA_BASE_ERROR_H
#define MICA_BASE_ERROR_H

#include "base/shared.h"

#include <mica/status.h>
#include <stdarg.h>

/* Stores the sentence for mica_error_message() in this thread and returns status, so that a check is one line:
 *   if (m != n) return mica__fail(MICA_E_SHAPE, "matmul: a has %d columns, b has %d rows", m, n); */
MICA__SHARED mica_status mica__fail(mica_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "where: " before this thread's sentence, on the way up; returns status. */
MICA__SHARED mica_status mica__fail_in(mica_status status, const char *where);

/* The sentence for a host allocation that failed. */
MICA__SHARED mica_status mica__fail_nomem(const char *what);

/* MICA_E_UNSUPPORTED: subject needs an optional library that this build lacks, and how to build with it. */
MICA__SHARED mica_status mica__fail_lacks(const char *subject, const char *library);

#ifdef __clang_analyzer__
/* The analyser cannot see in a declaration that a failure is not MICA_OK. */
#define mica__fail(status, ...) ((void)mica__fail(status, __VA_ARGS__), (status))
#define mica__fail_in(status, where) ((void)mica__fail_in(status, where), (status))
#define mica__fail_nomem(what) ((void)mica__fail_nomem(what), MICA_E_NOMEM)
#define mica__fail_lacks(subject, library) ((void)mica__fail_lacks(subject, library), MICA_E_UNSUPPORTED)
#endif

/* Between begin and end this thread's failures are private: what is tried may fail and be answered by another way, by a
 * log line or by nothing, and mica_error_message() and mica_error_status() afterwards are what they were before, as
 * after any call that succeeds. Inside they tell of the private failure. Pairs may be nested. */
MICA__SHARED void mica__attempt_begin(void);
MICA__SHARED void mica__attempt_end(void);
/* Ends an attempt whose failure is passed on after all: its sentence becomes the public one. Returns status. */
MICA__SHARED mica_status mica__attempt_pass(mica_status status);

/* Passes a failure on. */
#define MICA_TRY(call)                                                                                                 \
  do {                                                                                                                 \
    mica_status try_status_ = (call);                                                                                  \
    if (try_status_ != MICA_OK) return try_status_;                                                                    \
  } while (0)

/* Passes a failure on through a label that releases what the function holds; `status` must be a local variable. */
#define MICA_TRY_GOTO(call, label)                                                                                     \
  do {                                                                                                                 \
    status = (call);                                                                                                   \
    if (status != MICA_OK) goto label;                                                                                 \
  } while (0)

/* A log line, sent to the callback of mica_log_set when its level is wanted. */
MICA__SHARED void mica__log(mica_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mica__log_wanted(mica_log_level level);

#endif
