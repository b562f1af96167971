/* onnx/guard.h: checks a message's bytes before protobuf-c unpacks them. protobuf-c recurses without a limit into
 * nested messages and allocates more for each than it takes in the file. */
#ifndef MICA_ONNX_GUARD_H
#define MICA_ONNX_GUARD_H

#include "base/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* The deepest nesting of messages: 64 subgraphs of three messages each, and the content of the last one. */
#define MICA__GUARD_DEPTH 200
/* The most messages in all. A message of two bytes takes about 150 once unpacked, so at most 600 MB. */
#define MICA__GUARD_MESSAGES 4000000

/* MICA_OK if the bytes are a well-formed message of the type within those limits: every length fits its enclosing
 * message, every number has at most ten bytes. Otherwise MICA_E_FORMAT: the message names the file, the offset of
 * the fault and what it is. */
mica_status mica__onnx_guard(const char *name, const ProtobufCMessageDescriptor *type, const void *data, size_t size);

#endif
