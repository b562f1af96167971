/* Writes TensorBoard's event files: TensorFlow's records. A record is a length with its checksum, then a content with
 * its checksum. The content is an Event message of protocol buffers. No package of Debian 12 has the schema, so
 * messages are encoded by hand (events.h). */
#include "io/events.h"
#include "base/file.h"
#include "base/text.h"
#include "io/crc32c.h"
#include "io/history.h"

#include <errno.h>
#include <fcntl.h>
#include <mica/history.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct mica_events {
  int file;
  char *path;
};

/* Adds Event.wall_time. */
static void add_time(mica__text *out) {
  struct timespec now;
  uint64_t bits;
  clock_gettime(CLOCK_REALTIME, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  memcpy(&bits, &seconds, sizeof bits);
  mica__proto_key(out, 1, MICA__PROTO_FIXED64);
  mica__proto_little_endian(out, bits, 8);
}

/* Appends the record of an event in one write, so that other processes see it complete or truncated. */
static mica_status append(mica_events *events, const mica__text *event) {
  mica__text record = {0};
  mica__proto_little_endian(&record, event->length, 8);
  if (record.data) mica__proto_little_endian(&record, mica__crc32c_masked(record.data, 8), 4);
  mica__text_add_bytes(&record, event->data ? event->data : "", event->length);
  mica__proto_little_endian(&record, mica__crc32c_masked(event->data ? event->data : "", event->length), 4);
  mica_status status = mica__text_status(event->failed ? event : &record);
  for (size_t at = 0; status == MICA_OK && at < record.length;) {
    ssize_t put = write(events->file, record.data + at, record.length - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) status = mica__fail(MICA_E_IO, "cannot write %s: %s", events->path, strerror(put < 0 ? errno : EIO));
    at += put > 0 ? (size_t)put : 0;
  }
  mica__text_free(&record);
  return status;
}

/* Creates a file under a unique name. */
static mica_status open_file(const char *folder, mica_events *events) {
  static atomic_uint serial;
  char host[64] = "host";
  mica__text path = {0};
  gethostname(host, sizeof host - 1);
  mica__text_addf(&path, "%s/events.out.tfevents.%lld.%s.%ld.%u", folder, (long long)time(NULL), host, (long)getpid(),
                  atomic_fetch_add(&serial, 1));
  MICA_TRY(mica__text_status(&path));
  events->path = path.data;
  MICA_TRY(mica__file_make_parents(path.data));
  events->file = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666);
  if (events->file < 0) return mica__fail(MICA_E_IO, "cannot write %s: %s", path.data, strerror(errno));
  return MICA_OK;
}

mica_status mica_events_create(const char *folder, mica_events **out) {
  static const char version[] = "brain.Event:2";
  if (!folder || !out) return mica__fail(MICA_E_INVALID, "mica_events_create: folder or events is NULL");
  mica_events *events = calloc(1, sizeof *events);
  if (!events) return mica__fail_nomem("an event file");
  events->file = -1;
  mica__text event = {0};
  mica_status status = open_file(folder, events);
  if (status == MICA_OK) {
    add_time(&event);
    mica__proto_bytes(&event, 3, version, sizeof version - 1);
    status = append(events, &event);
  }
  mica__text_free(&event);
  if (status == MICA_OK)
    *out = events;
  else
    mica_events_close(events);
  return status;
}

mica_status mica__events_add(mica_events *events, int64_t step, unsigned field, const mica__text *message) {
  mica__text event = {0};
  mica_status status = mica__text_status(message);
  if (status != MICA_OK) return status;
  add_time(&event);
  mica__proto_key(&event, 2, MICA__PROTO_VARINT); /* Event.step */
  mica__proto_varint(&event, (uint64_t)step);
  mica__proto_bytes(&event, field, message->data ? message->data : "", message->length);
  status = append(events, &event);
  mica__text_free(&event);
  return status;
}

mica_status mica__events_add_value(mica_events *events, const char *tag, int64_t step, const mica__text *content) {
  mica__text summary = {0}, entry = {0};
  mica_status status = mica__text_status(content);
  if (status != MICA_OK) return status;
  mica__proto_bytes(&entry, 1, tag, strlen(tag)); /* Summary.Value.tag */
  mica__text_add_bytes(&entry, content->data, content->length);
  status = mica__text_status(&entry);
  if (status == MICA_OK) mica__proto_bytes(&summary, 1, entry.data, entry.length); /* Summary.value */
  if (status == MICA_OK) status = mica__events_add(events, step, 5, &summary);     /* Event.summary */
  mica__text_free(&entry);
  mica__text_free(&summary);
  return status;
}

mica_status mica_events_scalar(mica_events *events, const char *tag, int64_t step, double value) {
  if (!events || !tag) return mica__fail(MICA_E_INVALID, "mica_events_scalar: events or tag is NULL");
  mica__text content = {0};
  const float number = (float)value;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  mica__proto_key(&content, 2, MICA__PROTO_FIXED32); /* Summary.Value.simple_value */
  mica__proto_little_endian(&content, bits, 4);
  mica_status status = mica__events_add_value(events, tag, step, &content);
  mica__text_free(&content);
  return status;
}

const char *mica__events_path(const mica_events *events) { return events->path; }

void mica_events_close(mica_events *events) {
  if (!events) return;
  if (events->file >= 0) close(events->file);
  free(events->path);
  free(events);
}
