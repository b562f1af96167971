/* onnx/guard.h: looking at a message's bytes before protobuf-c unpacks them, which calls itself for every message
 * inside another, without a limit, and allocates for each more than it takes in the file. */
#ifndef MICA_ONNX_GUARD_H
#define MICA_ONNX_GUARD_H

#include "base/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Messages inside each other: 64 subgraphs, each of which is three messages deep, and what stands in the last. */
#define MICA__GUARD_DEPTH 200
/* Messages in all. One of two bytes takes about 150 once it is unpacked: 600 MB at most. */
#define MICA__GUARD_MESSAGES 4000000

/* MICA_OK when the bytes are a well-formed message of the type within those limits: every length inside of what it
 * stands in, every number of at most ten bytes. MICA_E_FORMAT names the file, the message and its byte otherwise. */
mica_status mica__onnx_guard(const char *name, const ProtobufCMessageDescriptor *type, const void *data, size_t size);

#endif
