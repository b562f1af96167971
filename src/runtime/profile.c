#include "runtime/profile.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/kernel_table.h"
#include "runtime/lost.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__profile_init(mica__profile *profile) {
  *profile = (mica__profile){0};
  return pthread_mutex_init(&profile->lock, NULL) ? mica__fail_nomem("a lock") : MICA_OK;
}

static void forget(mica_engine *engine) {
  mica__profile *profile = engine->profile;
  for (size_t i = 0; i < profile->count; i++)
    if (profile->entries[i].event) engine->api->ReleaseEvent(profile->entries[i].event);
  free(profile->entries);
  profile->entries = NULL;
  profile->count = profile->capacity = 0;
  free(profile->host);
  profile->host = NULL;
  profile->host_count = profile->host_capacity = 0;
}

static uint64_t nanoseconds(double clock) { return (uint64_t)llround(1e9 * clock); }

void mica__profile_destroy(mica_engine *engine) {
  forget(engine);
  pthread_mutex_destroy(&engine->profile->lock);
}

void mica__profile_add(mica_engine *engine, const mica_queue *queue, const mica__launch *launch, double share,
                       cl_event event) {
  mica__profile *profile = engine->profile;
  pthread_mutex_lock(&profile->lock);
  /* The profile may have been stopped since the launch. */
  bool wanted = atomic_load(&profile->active);
  if (wanted && profile->count == profile->capacity) {
    size_t capacity = profile->capacity ? profile->capacity * 2 : 1024;
    mica__profile_entry *grown = realloc(profile->entries, capacity * sizeof *grown);
    if (grown) {
      profile->entries = grown;
      profile->capacity = capacity;
    }
  }
  if (wanted && profile->count < profile->capacity) {
    profile->entries[profile->count++] = (mica__profile_entry){.kernel = launch->kernel->name,
                                                               .queue = queue->id,
                                                               .flops = launch->flops * share,
                                                               .bytes = launch->bytes * share,
                                                               .event = event,
                                                               .queued = nanoseconds(mica__clock())};
  } else {
    if (wanted)
      mica__log(MICA_LOG_LEVEL_WARNING, "there is not enough memory to profile a launch of %s", launch->kernel->name);
    engine->api->ReleaseEvent(event);
  }
  pthread_mutex_unlock(&profile->lock);
}

void mica__profile_add_host(mica_engine *engine, const mica_queue *queue, const char *part, const char *name,
                            double start) {
  mica__profile *profile = engine->profile;
  if (!atomic_load_explicit(&profile->active, memory_order_relaxed)) return;
  pthread_mutex_lock(&profile->lock);
  if (profile->host_count == profile->host_capacity) {
    size_t capacity = profile->host_capacity ? profile->host_capacity * 2 : 64;
    mica__profile_host *grown = realloc(profile->host, capacity * sizeof *grown);
    if (grown) {
      profile->host = grown;
      profile->host_capacity = capacity;
    }
  }
  if (profile->host_count < profile->host_capacity)
    profile->host[profile->host_count++] =
        (mica__profile_host){part, name, queue->id, nanoseconds(start), nanoseconds(mica__clock())};
  else
    mica__log(MICA_LOG_LEVEL_WARNING, "there is not enough memory to profile %s%s", part, name);
  pthread_mutex_unlock(&profile->lock);
}

mica_status mica_profile_start(mica_engine *engine) {
  if (!engine) return mica__fail(MICA_E_INVALID, "mica_profile_start: engine is NULL");
  if (!engine->queue->can_profile)
    return mica__fail(MICA_E_UNSUPPORTED, "the queue given to the engine was made without CL_QUEUE_PROFILING_ENABLE");
  pthread_mutex_lock(&engine->profile->lock);
  forget(engine);
  atomic_store(&engine->profile->active, true);
  pthread_mutex_unlock(&engine->profile->lock);
  return MICA_OK;
}

/* Sets *shift to the device's clock minus the host's, at the time when the host queued the launch. The host's clock was
 * read slightly later, which makes the difference too small, so *shift keeps the largest difference of all launches.
 * *shift stays 0 if the driver does not report the time of queueing, or if the profile has no host steps to align. */
static void align_clocks(const mica_engine *engine, const mica__profile_entry *entry, int64_t *shift, bool *aligned) {
  cl_ulong queued = 0;
  if (engine->profile->host_count == 0) return;
  cl_int error =
      engine->api->GetEventProfilingInfo(entry->event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL);
  if (error != CL_SUCCESS || queued == 0 || (*aligned && (int64_t)(queued - entry->queued) <= *shift)) return;
  *shift = (int64_t)(queued - entry->queued);
  *aligned = true;
}

/* Waits for one launch, reads its times, and improves *shift, which is the device's clock minus the host's. *aligned
 * becomes true when *shift is known. */
static mica_status resolve(mica_engine *engine, mica__profile_entry *entry, int64_t *shift, bool *aligned) {
  const mica__cl_api *api = engine->api;
  cl_ulong start = 0, end = 0;
  MICA_TRY(mica__engine_check(engine, api->WaitForEvents(1, &entry->event), "waiting for a profiled kernel"));
  MICA_TRY(mica__engine_check(
      engine, api->GetEventProfilingInfo(entry->event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL),
      "profiling"));
  MICA_TRY(mica__engine_check(
      engine, api->GetEventProfilingInfo(entry->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "profiling"));
  entry->start = start;
  entry->end = end > start ? end : start; /* some drivers' clocks are so coarse that the end precedes the start */
  align_clocks(engine, entry, shift, aligned);
  api->ReleaseEvent(entry->event);
  entry->event = NULL;
  return MICA_OK;
}

static int first_started(const void *a, const void *b) {
  const mica__profile_entry *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

mica_status mica_profile_stop(mica_engine *engine) {
  if (!engine) return mica__fail(MICA_E_INVALID, "mica_profile_stop: engine is NULL");
  mica__profile *profile = engine->profile;
  mica_status status = MICA_OK;
  int64_t shift = 0;
  bool aligned = false;
  pthread_mutex_lock(&profile->lock);
  atomic_store(&profile->active, false);
  for (size_t i = 0; status == MICA_OK && i < profile->count; i++)
    if (profile->entries[i].event) status = resolve(engine, &profile->entries[i], &shift, &aligned);
  for (size_t i = 0; i < profile->host_count; i++) {
    profile->host[i].start += (uint64_t)shift;
    profile->host[i].end += (uint64_t)shift;
  }
  if (status != MICA_OK) forget(engine);
  if (profile->count) qsort(profile->entries, profile->count, sizeof *profile->entries, first_started);
  pthread_mutex_unlock(&profile->lock);
  return status;
}

static int dearest_first(const void *a, const void *b) {
  const mica_profile_row *x = a, *y = b;
  return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

/* Makes one row per kernel name, with the longest time first, and returns their number. `rows` must have room for as
 * many rows as the profile has entries. */
static size_t aggregate(const mica__profile *profile, mica_profile_row *rows) {
  size_t count = 0;
  for (size_t i = 0; i < profile->count; i++) {
    const mica__profile_entry *e = &profile->entries[i];
    size_t r = 0;
    while (r < count && strcmp(rows[r].kernel, e->kernel)) r++;
    if (r == count) {
      rows[count] = (mica_profile_row){0};
      snprintf(rows[count++].kernel, sizeof rows->kernel, "%s", e->kernel);
    }
    rows[r].count++;
    rows[r].seconds += 1e-9 * (double)(e->end - e->start);
    rows[r].flops += e->flops;
    rows[r].bytes += e->bytes;
  }
  qsort(rows, count, sizeof *rows, dearest_first);
  return count;
}

static mica_profile_total sum_of(const mica__profile *profile) {
  mica_profile_total total = {.launches = profile->count};
  uint64_t last = profile->count ? profile->entries[0].start : 0;
  for (size_t i = 0; i < profile->count; i++) {
    const mica__profile_entry *e = &profile->entries[i];
    if (e->start > last) total.idle_seconds += 1e-9 * (double)(e->start - last);
    if (e->end > last) last = e->end;
    total.seconds += 1e-9 * (double)(e->end - e->start);
    total.flops += e->flops;
    total.bytes += e->bytes;
  }
  if (profile->count) total.span_seconds = 1e-9 * (double)(last - profile->entries[0].start);
  return total;
}

static mica_status check_stopped(const mica_engine *engine, const char *what) {
  if (!engine) return mica__fail(MICA_E_INVALID, "%s: engine is NULL", what);
  if (atomic_load(&engine->profile->active))
    return mica__fail(MICA_E_STATE, "%s: the profile is still running; stop it first", what);
  return MICA_OK;
}

mica_status mica_profile_rows(mica_engine *engine, mica_profile_row *rows, size_t capacity, size_t *count) {
  MICA_TRY(check_stopped(engine, "mica_profile_rows"));
  if (!count || (capacity && !rows)) return mica__fail(MICA_E_INVALID, "mica_profile_rows: a pointer is NULL");
  mica__profile *profile = engine->profile;
  pthread_mutex_lock(&profile->lock);
  mica_profile_row *all = calloc(profile->count + 1, sizeof *all);
  size_t n = all ? aggregate(profile, all) : 0;
  pthread_mutex_unlock(&profile->lock);
  if (!all) return mica__fail_nomem("the rows of a profile");
  for (size_t i = 0; i < n && i < capacity; i++) rows[i] = all[i];
  free(all);
  *count = n;
  return MICA_OK;
}

mica_status mica_profile_sum(mica_engine *engine, mica_profile_total *total) {
  MICA_TRY(check_stopped(engine, "mica_profile_sum"));
  if (!total) return mica__fail(MICA_E_INVALID, "mica_profile_sum: total is NULL");
  pthread_mutex_lock(&engine->profile->lock);
  *total = sum_of(engine->profile);
  pthread_mutex_unlock(&engine->profile->lock);
  return MICA_OK;
}

static void add_row(mica__text *text, const char *name, const mica_profile_row *row, double whole) {
  double share = whole > 0 ? row->seconds / whole : 0, second = row->seconds > 0 ? row->seconds : 1;
  mica__text_addf(text, "%-48.48s %8" PRIu64 " %12.3f %6.1f%% %9.2f %9.2f\n", name, row->count, 1e3 * row->seconds,
                  100 * share, 1e-9 * row->flops / second, 1e-9 * row->bytes / second);
}

mica_status mica_profile_text(mica_engine *engine, char **out) {
  mica_profile_total total;
  mica_profile_row *rows = NULL;
  size_t count = 0;
  mica__text text = {0};
  if (!out) return mica__fail(MICA_E_INVALID, "mica_profile_text: text is NULL");
  MICA_TRY(check_stopped(engine, "mica_profile_text"));
  MICA_TRY(mica_profile_sum(engine, &total));
  rows = calloc((size_t)total.launches + 1, sizeof *rows);
  if (!rows) return mica__fail_nomem("the text of a profile");
  mica_status status = mica_profile_rows(engine, rows, (size_t)total.launches, &count);
  mica__text_addf(&text, "%-48s %8s %12s %7s %9s %9s\n", "kernel", "launches", "ms", "share", "GFLOP/s", "GB/s");
  for (size_t i = 0; status == MICA_OK && i < count; i++) add_row(&text, rows[i].kernel, &rows[i], total.span_seconds);
  free(rows);
  mica_profile_row all = {
      .count = total.launches, .seconds = total.seconds, .flops = total.flops, .bytes = total.bytes};
  mica_profile_row idle = {.seconds = total.idle_seconds};
  add_row(&text, "all launches", &all, total.span_seconds);
  add_row(&text, "between launches", &idle, total.span_seconds);
  mica__text_addf(&text, "first start to last end: %.3f ms\n", 1e3 * total.span_seconds);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}

/* Writes nanoseconds as microseconds with three decimals, without floating point, whose decimal point depends on the
 * locale. */
static void write_microseconds(mica__text *text, uint64_t nanoseconds) {
  mica__text_addf(text, "%" PRIu64 ".%03u", nanoseconds / 1000, (unsigned)(nanoseconds % 1000));
}

/* Writes the result of mica_profile_sum, with times in the units of the trace. */
static void write_total(mica__text *text, mica_profile_total total) {
  mica__text_addf(text, "\"otherData\":{\"launches\":%" PRIu64 ",\"microseconds\":", total.launches);
  write_microseconds(text, (uint64_t)llround(1e9 * total.seconds));
  mica__text_add(text, ",\"span_microseconds\":");
  write_microseconds(text, (uint64_t)llround(1e9 * total.span_seconds));
  mica__text_add(text, ",\"idle_microseconds\":");
  write_microseconds(text, (uint64_t)llround(1e9 * total.idle_seconds));
  mica__text_addf(text, ",\"flops\":%.0f,\"bytes\":%.0f},", total.flops, total.bytes);
}

static void write_entries(mica__text *text, const mica__profile *profile) {
  uint64_t origin = profile->count ? profile->entries[0].start : profile->host_count ? profile->host[0].start : 0;
  for (size_t i = 0; i < profile->host_count; i++)
    if (profile->host[i].start < origin) origin = profile->host[i].start;
  for (size_t i = 0; i < profile->count; i++) {
    const mica__profile_entry *e = &profile->entries[i];
    /* Kernel names are C identifiers and need no escaping. */
    mica__text_addf(text, "%s\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":0,\"tid\":%" PRIu64 ",\"ts\":", i ? "," : "",
                    e->kernel, e->queue);
    write_microseconds(text, e->start - origin);
    mica__text_add(text, ",\"dur\":");
    write_microseconds(text, e->end - e->start);
    mica__text_addf(text, ",\"args\":{\"flops\":%.0f,\"bytes\":%.0f}}", e->flops, e->bytes);
  }
  for (size_t i = 0; i < profile->host_count; i++) {
    const mica__profile_host *h = &profile->host[i];
    mica__text_addf(text, "%s\n{\"name\":\"%s%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%" PRIu64 ",\"ts\":",
                    profile->count + i ? "," : "", h->part, h->name, h->queue);
    write_microseconds(text, h->start - origin);
    mica__text_add(text, ",\"dur\":");
    write_microseconds(text, h->end - h->start);
    mica__text_add(text, "}");
  }
}

mica_status mica_profile_write_trace(mica_engine *engine, const char *path) {
  MICA_TRY(check_stopped(engine, "mica_profile_write_trace"));
  if (!path) return mica__fail(MICA_E_INVALID, "mica_profile_write_trace: path is NULL");
  mica__text text = {0};
  pthread_mutex_lock(&engine->profile->lock);
  mica__text_add(&text, "{\"displayTimeUnit\":\"ns\",");
  write_total(&text, sum_of(engine->profile));
  mica__text_add(&text, "\"traceEvents\":[");
  write_entries(&text, engine->profile);
  mica__text_add(&text, "\n]}\n");
  pthread_mutex_unlock(&engine->profile->lock);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__file_replace(path, &(mica__bytes){text.data, text.length}, 1);
  mica__text_free(&text);
  return status;
}
