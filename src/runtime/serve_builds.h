/* runtime/serve_builds.h: the builder's side of runtime/builder.h. Only the command `mica` uses it in addition to the
 * public headers: the library exports it, but it is not part of the API. */
#ifndef MICA_RUNTIME_SERVE_BUILDS_H
#define MICA_RUNTIME_SERVE_BUILDS_H

#include <mica/device.h>

/* Builds the programs that the process at the other end of the socket asks for, into the engine's cache, and blocks
 * until that end is closed. MICA_E_FORMAT if a message is truncated, MICA_E_INVALID if `socket` is not a socket. */
MICA_API MICA_CHECKED mica_status mica__engine_serve_builds(mica_engine *engine, int socket);

#endif
