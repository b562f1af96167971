/* mica/profile.h: where a device's time goes, kernel by kernel.
 *
 * Threads: any; a profile is the engine's, and launches of all its queues are in it. Read it when it is stopped. */
#ifndef MICA_PROFILE_H
#define MICA_PROFILE_H

#include <mica/device.h>

MICA_BEGIN_DECLS

/* Profiles: from start to stop every launch of every queue of the engine is timed by the device's own clock. start
 * forgets what an earlier profile held. MICA_E_UNSUPPORTED when the caller's own queue lacks CL_QUEUE_PROFILING_ENABLE.
 * stop blocks until the launches are done. */
MICA_API MICA_CHECKED mica_status mica_profile_start(mica_engine *engine);
MICA_API MICA_CHECKED mica_status mica_profile_stop(mica_engine *engine);

/* One kernel of the profile, all its launches together. flops and bytes are what the algorithm needs (as stated by the
 * op), not what the hardware did; 0 where unknown. */
typedef struct mica_profile_row {
  char kernel[64];
  uint64_t count;
  double seconds;
  double flops;
  double bytes;
} mica_profile_row;

/* Writes at most capacity rows, the most expensive first, and how many there are to *count. The profile must be
 * stopped. */
MICA_API MICA_CHECKED mica_status mica_profile_rows(mica_engine *engine, mica_profile_row *rows, size_t capacity,
                                                    size_t *count);

/* The whole profile. Launches on one queue follow each other: there, seconds + idle_seconds = span_seconds. Those of
 * several queues may overlap, and then their sum is more. */
typedef struct mica_profile_total {
  uint64_t launches;
  double seconds;      /* of all launches together: the sum of the rows */
  double span_seconds; /* from the start of the first launch to the end of the last */
  double idle_seconds; /* of the span: in which none of the launches ran, and the device waited for driver or host */
  double flops;
  double bytes;
} mica_profile_total;
MICA_API MICA_CHECKED mica_status mica_profile_sum(mica_engine *engine, mica_profile_total *total);

/* The rows as a table for people, with the sum, the idle time and the span at its end. *text is the caller's to
 * mica_free. */
MICA_API MICA_CHECKED mica_status mica_profile_text(mica_engine *engine, char **text);

/* Writes the launches as a Chrome trace (JSON; open it in a browser's tracing page or in Perfetto), and as process 1
 * what ops of the host did in sessions' runs; its otherData says what mica_profile_sum does, times in microseconds. */
MICA_API MICA_CHECKED mica_status mica_profile_write_trace(mica_engine *engine, const char *path);

MICA_END_DECLS

#endif
