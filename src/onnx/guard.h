/* onnx/guard.h: checks a message's bytes before protobuf-c unpacks them. protobuf-c unpacks nested messages recursively
 * without a limit, and a message can take far more bytes of memory than it has in the file. */
#ifndef MICA_ONNX_GUARD_H
#define MICA_ONNX_GUARD_H

#include "base/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* The deepest nesting of messages. 64 nested bodies take three messages each (node, attribute, graph), which leaves 8
 * for the content of the innermost body. */
#define MICA__GUARD_DEPTH 200
/* The maximum number of messages in a file. The smallest message has 2 bytes in the file and takes about 150 bytes of
 * memory, so a file of 8 MB can take up to 600 MB. */
#define MICA__GUARD_MESSAGES 4000000

/* Checks that the bytes are a well-formed message of this type: every length fits into its enclosing message, every
 * number has at most ten bytes, the two limits above hold, and the message has less than 2 GiB. Else MICA_E_FORMAT; the
 * error message names the file, the byte offset of the fault and its kind. */
mica_status mica__onnx_guard(const char *name, const ProtobufCMessageDescriptor *type, const void *data, size_t size);

#endif
