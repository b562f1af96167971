#include "io/events.h"

#include <string.h>

void mica__proto_little_endian(mica__text *out, uint64_t value, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; i++) text[i] = (char)(value >> (8 * i));
  mica__text_add_bytes(out, text, (size_t)bytes);
}

void mica__proto_varint(mica__text *out, uint64_t value) {
  for (; value > 0x7f; value >>= 7) mica__proto_little_endian(out, (value & 0x7f) | 0x80, 1);
  mica__proto_little_endian(out, value, 1);
}

void mica__proto_key(mica__text *out, unsigned field, unsigned wire) { mica__proto_varint(out, field << 3 | wire); }

void mica__proto_number(mica__text *out, unsigned field, uint64_t value) {
  mica__proto_key(out, field, MICA__PROTO_VARINT);
  mica__proto_varint(out, value);
}

void mica__proto_bytes(mica__text *out, unsigned field, const char *data, size_t n) {
  mica__proto_key(out, field, MICA__PROTO_BYTES);
  mica__proto_varint(out, n);
  mica__text_add_bytes(out, data, n);
}

void mica__proto_double(mica__text *out, unsigned field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  mica__proto_key(out, field, MICA__PROTO_FIXED64);
  mica__proto_little_endian(out, bits, 8);
}

void mica__proto_message(mica__text *out, unsigned field, mica__text *message) {
  if (message->failed) out->failed = true;
  mica__proto_bytes(out, field, message->data ? message->data : "", message->length);
  mica__text_free(message);
}
