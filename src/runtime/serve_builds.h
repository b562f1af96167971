/* runtime/serve_builds.h: the other end of a builder (runtime/builder.h). The command `mica` alone sees it beside the
 * public headers: the library exports it, but it is not a part of the API. */
#ifndef MICA_RUNTIME_SERVE_BUILDS_H
#define MICA_RUNTIME_SERVE_BUILDS_H

#include <mica/device.h>

/* Builds what the process at the other end of the socket asks for into the engine's cache, and blocks until that end is
 * closed. MICA_E_FORMAT for a message that is cut short, MICA_E_INVALID if there is no socket. */
MICA_API MICA_CHECKED mica_status mica__engine_serve_builds(mica_engine *engine, int socket);

#endif
