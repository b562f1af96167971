/* base/error.h: fails with a status and a message, and passes failures on. */
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

/* Between begin and end this thread's failures are private, so the caller can try something and handle its failure.
 * Afterwards mica_error_message() and mica_error_status() return what they did before; inside they return the private
 * failure. Pairs may be nested. */
MICA__SHARED void mica__attempt_begin(void);
MICA__SHARED void mica__attempt_end(void);
/* Ends an attempt and passes its failure on: its message becomes the public one. Returns status. */
MICA__SHARED mica_status mica__attempt_pass(mica_status status);

/* Passes a failure on. */
#define MICA_TRY(call)                                                                                                 \
  do {                                                                                                                 \
    mica_status try_status_ = (call);                                                                                  \
    if (try_status_ != MICA_OK) return try_status_;                                                                    \
  } while (0)

/* Passes a failure on by a jump to a label that frees the function's resources; needs a local variable `status`. */
#define MICA_TRY_GOTO(call, label)                                                                                     \
  do {                                                                                                                 \
    status = (call);                                                                                                   \
    if (status != MICA_OK) goto label;                                                                                 \
  } while (0)

/* Sends a log line to the callback of mica_log_set if its level is wanted. */
MICA__SHARED void mica__log(mica_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mica__log_wanted(mica_log_level level);

#endif
