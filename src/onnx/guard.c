#include "onnx/guard.h"

#include <stdbool.h>
#include <stdint.h>

/* Protocol buffers' wire types. */
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_GROUP, WIRE_END, WIRE_32 };

typedef struct guard {
  const char *name;
  const uint8_t *first;
  uint32_t messages;
} guard;

static mica_status refuse(const guard *g, const ProtobufCMessageDescriptor *type, const uint8_t *at, const char *what) {
  return mica__fail(MICA_E_FORMAT, "%s is damaged or no ONNX file: byte %zu, in a message %s, begins %s", g->name,
                    (size_t)(at - g->first), type->short_name, what);
}

/* Reads a varint: seven bits per byte, the lowest first; false at the end or beyond 64 bits. */
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 70 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    if (shift < 64) *value |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) return shift < 63 || byte <= 1;
  }
  return false;
}

/* The message type of a field; NULL if the field is unknown or not a message. */
static const ProtobufCMessageDescriptor *message_in(const ProtobufCMessageDescriptor *type, uint64_t number) {
  if (number > UINT32_MAX) return NULL;
  const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, (unsigned)number);
  return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MICA__GUARD_DEPTH deep. */
static mica_status look(guard *g, const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                        int depth) {
  if (depth > MICA__GUARD_DEPTH)
    return mica__fail(MICA_E_FORMAT, "%s: byte %zu: messages are nested more than %d deep", g->name,
                      (size_t)(at - g->first), MICA__GUARD_DEPTH);
  if (++g->messages > MICA__GUARD_MESSAGES)
    return mica__fail(MICA_E_FORMAT, "%s: byte %zu: the file has more than %d messages", g->name,
                      (size_t)(at - g->first), MICA__GUARD_MESSAGES);
  while (at < end) {
    const uint8_t *field = at;
    uint64_t tag = 0, length = 0;
    if (!read_varint(&at, end, &tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
      return refuse(g, type, field, "an invalid or truncated field number");
    int wire = (int)(tag & 7);
    if (wire == WIRE_VARINT) {
      if (!read_varint(&at, end, &length)) return refuse(g, type, field, "a number that does not end");
      continue;
    }
    if (wire == WIRE_BYTES) {
      if (!read_varint(&at, end, &length)) return refuse(g, type, field, "a length that does not end");
    } else if (wire == WIRE_64 || wire == WIRE_32) {
      length = wire == WIRE_64 ? 8 : 4;
    } else {
      return refuse(g, type, field, "a field of a kind that ONNX does not have");
    }
    if (length > (uint64_t)(end - at)) return refuse(g, type, field, "a field beyond the end");
    const ProtobufCMessageDescriptor *inner = wire == WIRE_BYTES ? message_in(type, tag >> 3) : NULL;
    if (inner) MICA_TRY(look(g, inner, at, at + length, depth + 1));
    at += length;
  }
  return MICA_OK;
}

mica_status mica__onnx_guard(const char *name, const ProtobufCMessageDescriptor *type, const void *data, size_t size) {
  guard g = {.name = name, .first = data};
  if (size > INT32_MAX)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes, but must have fewer than 2147483648 (2 GiB)", name, size);
  return look(&g, type, data, (const uint8_t *)data + size, 0);
}
