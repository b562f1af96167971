/* mica/status.h: status codes and error messages.
 *
 * Functions that can fail return a mica_status. MICA_OK is 0, errors are negative. The library never aborts, exits or
 * prints. The message of an error names the shapes, op or file concerned:
 *
 *   if (mica_tensor_create(engine, MICA_F32, shape, &t) != MICA_OK)
 *     fprintf(stderr, "%s\n", mica_error_message());
 *
 * Threads: any thread may call these functions. Messages are per thread; the log is per process. */
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

/* "MICA_E_SHAPE", ...; "MICA_E_UNKNOWN" for any other value. A constant string. */
MICA_API const char *mica_status_name(mica_status status);

/* General meaning of a status, as in the list above; "unknown status" for any other value. A constant string. */
MICA_API const char *mica_status_text(mica_status status);

/* Message of the last failed call in this thread; "" if there was no failure. The library owns it; it is valid until
 * the next failing call in this thread. Successful calls do not change it. */
MICA_API const char *mica_error_message(void);
/* Status of the last failed call in this thread; MICA_OK if there was no failure. */
MICA_API MICA_CHECKED mica_status mica_error_status(void);

/* Log levels, most severe first. */
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

/* Receives one line without a newline; message is valid during the call only. Any thread that uses the library may call
 * it, but never two at once. It must not call the library. */
typedef void mica_log_fn(void *user, mica_log_level level, const char *message);

/* Sends log lines of `level` and more severe ones to fn. NULL (initially): no log. There is one log per process: lines
 * of all engines and threads go to the last fn. Returns when no thread is inside the previous fn. The library reads no
 * environment variable for it; MICA_VERBOSE belongs to the command `mica`. */
MICA_API void mica_log_set(mica_log_level level, mica_log_fn *fn, void *user);

MICA_END_DECLS

#endif
