/* mica/profile.h: device time per kernel.
 *
 * Threads: any thread. A profile belongs to the engine and covers all its queues. Read it after stopping it. */
#ifndef MICA_PROFILE_H
#define MICA_PROFILE_H

#include <mica/device.h>

MICA_BEGIN_DECLS

/* Starts and stops a profile: the device's clock times every launch on every queue of the engine. start discards an
 * earlier profile. stop blocks until the launches are done. MICA_E_UNSUPPORTED: the caller's own queue lacks
 * CL_QUEUE_PROFILING_ENABLE. */
MICA_API MICA_CHECKED mica_status mica_profile_start(mica_engine *engine);
MICA_API MICA_CHECKED mica_status mica_profile_stop(mica_engine *engine);

/* Sums over all launches of one kernel. flops and bytes are the operations and the memory traffic that the op declares
 * for its algorithm, not measured numbers; 0 if unknown. */
typedef struct mica_profile_row {
  char kernel[64];
  uint64_t count;
  double seconds;
  double flops;
  double bytes;
} mica_profile_row;

/* Writes at most `capacity` rows, in descending order of time. *count receives the number of all rows. This function
 * and those below return MICA_E_STATE while the profile is running. */
MICA_API MICA_CHECKED mica_status mica_profile_rows(mica_engine *engine, mica_profile_row *rows, size_t capacity,
                                                    size_t *count);

/* Totals of a profile. On one queue, launches do not overlap and seconds + idle_seconds = span_seconds. Launches on
 * several queues may overlap; seconds + idle_seconds is then more than span_seconds. */
typedef struct mica_profile_total {
  uint64_t launches;
  double seconds;      /* sum over all launches */
  double span_seconds; /* from the start of the first launch to the end of the last */
  double idle_seconds; /* part of the span without a running launch: the device waited for driver or host */
  double flops;
  double bytes;
} mica_profile_total;
MICA_API MICA_CHECKED mica_status mica_profile_sum(mica_engine *engine, mica_profile_total *total);

/* The rows as a text table, with total, idle time and span at the end. The caller frees *text with mica_free. */
MICA_API MICA_CHECKED mica_status mica_profile_text(mica_engine *engine, char **text);

/* Writes the launches as a Chrome trace (JSON for Perfetto or a browser's tracing page). Times are in microseconds. In
 * the trace, process 1 has the ops that ran on the host, and "otherData" has the totals of mica_profile_sum. */
MICA_API MICA_CHECKED mica_status mica_profile_write_trace(mica_engine *engine, const char *path);

MICA_END_DECLS

#endif
