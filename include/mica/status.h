/* mica/status.h: what can go wrong, and the sentence that says what did.
 *
 * Every function that can fail returns a mica_status: MICA_OK is 0, errors are negative. The library never aborts,
 * exits or prints. Beside the status stands a sentence that names the shapes, the op or the file concerned:
 *
 *   if (mica_tensor_create(engine, MICA_F32, shape, &t) != MICA_OK)
 *     fprintf(stderr, "%s\n", mica_error_message());
 */
#ifndef MICA_STATUS_H
#define MICA_STATUS_H

#include <mica/api.h>

MICA_BEGIN_DECLS

/* name, value, meaning */
#define MICA_STATUS_LIST(X)                                                                                            \
  X(OK, 0, "success")                                                                                                  \
  X(E_INVALID, -1, "an argument is outside its contract")                                                              \
  X(E_SHAPE, -2, "shapes do not fit together")                                                                         \
  X(E_DTYPE, -3, "element types do not fit together")                                                                  \
  X(E_NOMEM, -4, "the host is out of memory")                                                                          \
  X(E_DEVICE_MEMORY, -5, "the device is out of memory")                                                                \
  X(E_NO_DEVICE, -6, "no device matches")                                                                              \
  X(E_DEVICE, -7, "the device or its driver reported an error")                                                        \
  X(E_BUILD, -8, "the driver could not build a kernel")                                                                \
  X(E_UNSUPPORTED, -9, "this device or build cannot do that")                                                          \
  X(E_OVERFLOW, -10, "a size does not fit its integer")                                                                \
  X(E_IO, -11, "a file could not be read or written")                                                                  \
  X(E_FORMAT, -12, "a file's content is not what its format demands")                                                  \
  X(E_NOT_FOUND, -13, "no such name")                                                                                  \
  X(E_STATE, -14, "the object is not in a state that allows the call")                                                 \
  X(E_NUMERIC, -15, "a result is not a number, or outside its tolerance")                                              \
  X(E_DEVICE_LOST, -16, "the device is lost, and what its memory held; a run resumes from its last checkpoint")

typedef enum mica_status {
#define MICA_STATUS_ENUM(name, value, text) MICA_##name = value,
  MICA_STATUS_LIST(MICA_STATUS_ENUM)
#undef MICA_STATUS_ENUM
} mica_status;

/* "MICA_E_SHAPE". A constant string; "MICA_E_UNKNOWN" for a value that is no status. */
MICA_API const char *mica_status_name(mica_status status);

/* The general meaning of a status, as in the list above. A constant string. */
MICA_API const char *mica_status_text(mica_status status);

/* The sentence of the last call that failed in this thread; "" when none has. It belongs to the library and is valid
 * until the next failing call in the same thread. Successful calls leave it as it was. */
MICA_API const char *mica_error_message(void);
/* What that call returned; MICA_OK when none has failed. */
MICA_API MICA_CHECKED mica_status mica_error_status(void);

/* Levels of the log, most severe first. */
#define MICA_LOG_LEVEL_LIST(X)                                                                                         \
  X(ERROR, 0)                                                                                                          \
  X(WARNING, 1)                                                                                                        \
  X(INFO, 2)                                                                                                           \
  X(DEBUG, 3)

typedef enum mica_log_level {
#define MICA_LOG_ENUM(name, value) MICA_LOG_LEVEL_##name = value,
  MICA_LOG_LEVEL_LIST(MICA_LOG_ENUM)
#undef MICA_LOG_ENUM
} mica_log_level;

/* message is one line without its newline, valid during the call only. Called from any thread that uses the library,
 * never from two at once. It must not call the library. */
typedef void mica_log_fn(void *user, mica_log_level level, const char *message);

/* Sends log lines of `level` and more severe ones to fn; NULL (the initial state) silences them. There is one log for
 * the process: lines of all engines and threads go to the fn that was set last. The call returns when no other thread
 * is inside the previous fn. The library reads no variable for it; MICA_VERBOSE is the command's (README). */
MICA_API void mica_log_set(mica_log_level level, mica_log_fn *fn, void *user);

MICA_END_DECLS

#endif
