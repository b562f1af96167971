/* runtime/attachment.h: an object of a higher layer that lives as long as an engine. */
#ifndef MICA_RUNTIME_ATTACHMENT_H
#define MICA_RUNTIME_ATTACHMENT_H

#include <mica/device.h>

/* Made by `make` at the engine's first call, and destroyed by `destroy` while queue and pool of the engine still work.
 * An engine has one such object. From any thread. */
mica_status mica__engine_attachment(mica_engine *engine, mica_status (*make)(void **object),
                                    void (*destroy)(void *object), void **object);

#endif
