/* io/events.h: encodes protocol-buffer messages of TensorBoard's event files. */
#ifndef MICA_IO_EVENTS_H
#define MICA_IO_EVENTS_H

#include "base/text.h"

#include <mica/history.h>
#include <stdint.h>

enum { MICA__PROTO_VARINT = 0, MICA__PROTO_FIXED64 = 1, MICA__PROTO_BYTES = 2, MICA__PROTO_FIXED32 = 5 };

void mica__proto_little_endian(mica__text *out, uint64_t value, int bytes);
void mica__proto_varint(mica__text *out, uint64_t value);
void mica__proto_key(mica__text *out, unsigned field, unsigned wire);
/* Append a field: mica__proto_number appends an integer, mica__proto_double a double, and mica__proto_bytes n bytes of
 * a text or of an encoded message. */
void mica__proto_number(mica__text *out, unsigned field, uint64_t value);
void mica__proto_bytes(mica__text *out, unsigned field, const char *data, size_t n);
void mica__proto_double(mica__text *out, unsigned field, double value);
/* Appends a message as a field and frees it. */
void mica__proto_message(mica__text *out, unsigned field, mica__text *message);

/* Appends an event whose field `field` is the message. */
mica_status mica__events_add(mica_events *events, int64_t step, unsigned field, const mica__text *message);
/* Appends a Summary.Value of a tag; content: its encoded fields after the tag. */
mica_status mica__events_add_value(mica_events *events, const char *tag, int64_t step, const mica__text *content);

#endif
