/* base/error.h: functions that record an error's message and status, macros that return a callee's error, and the log.
 */
#ifndef MICA_BASE_ERROR_H
#define MICA_BASE_ERROR_H

#include "base/shared.h"

#include <mica/status.h>
#include <stdarg.h>

/* Stores the message for mica_error_message() in this thread and returns status, so that a check is one line:
 *   if (m != n) return mica__fail(MICA_E_SHAPE, "matmul: a has %d columns, b has %d rows", m, n); */
MICA__SHARED mica_status mica__fail(mica_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefixes this thread's message with "where: " and returns status. */
MICA__SHARED mica_status mica__fail_in(mica_status status, const char *where);

/* Fails with MICA_E_NOMEM: `what` could not be allocated on the host. */
MICA__SHARED mica_status mica__fail_nomem(const char *what);

/* Fails with MICA_E_UNSUPPORTED: `subject` needs an optional library that this build lacks. The message says how to
 * build with it. */
MICA__SHARED mica_status mica__fail_lacks(const char *subject, const char *library);

#ifdef __clang_analyzer__
/* The analyser cannot tell from a declaration that these never return MICA_OK. */
#define mica__fail(status, ...) ((void)mica__fail(status, __VA_ARGS__), (status))
#define mica__fail_in(status, where) ((void)mica__fail_in(status, where), (status))
#define mica__fail_nomem(what) ((void)mica__fail_nomem(what), MICA_E_NOMEM)
#define mica__fail_lacks(subject, library) ((void)mica__fail_lacks(subject, library), MICA_E_UNSUPPORTED)
#endif

/* Use the pair around calls whose failure is handled internally. Between begin and end, errors of this thread are
 * private: mica_error_message() and mica_error_status() return the private error, which is empty at first. After end,
 * they return the error from before begin again. Pairs may be nested, and each has an error of its own; from the
 * seventh level on they share one. */
MICA__SHARED void mica__attempt_begin(void);
MICA__SHARED void mica__attempt_end(void);
/* Ends an attempt instead of mica__attempt_end and passes its failure on: its message becomes the private one of
 * the attempt around it, or the public one. Returns status. */
MICA__SHARED mica_status mica__attempt_pass(mica_status status);

/* Returns from the calling function with call's status unless it is MICA_OK. */
#define MICA_TRY(call)                                                                                                 \
  do {                                                                                                                 \
    mica_status try_status_ = (call);                                                                                  \
    if (try_status_ != MICA_OK) return try_status_;                                                                    \
  } while (0)

/* Stores call's status in the local variable `status`. Unless it is MICA_OK, jumps to a label, which frees resources
 * and returns status. */
#define MICA_TRY_GOTO(call, label)                                                                                     \
  do {                                                                                                                 \
    status = (call);                                                                                                   \
    if (status != MICA_OK) goto label;                                                                                 \
  } while (0)

/* Sends a log line to the callback of mica_log_set if the log includes its level. mica__log_wanted: 1 if there is a
 * callback and the log includes the level. */
MICA__SHARED void mica__log(mica_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mica__log_wanted(mica_log_level level);

#endif
