/* runtime/attachment.h: an object of a higher layer that lives as long as an engine. */
#ifndef MICA_RUNTIME_ATTACHMENT_H
#define MICA_RUNTIME_ATTACHMENT_H

#include <mica/device.h>

/* Gets the object that is attached to the engine. The first call for an engine makes the object with `make`. `destroy`
 * runs while the engine's queue and pool still work. May be called from any thread. */
mica_status mica__engine_attachment(mica_engine *engine, mica_status (*make)(void **object),
                                    void (*destroy)(void *object), void **object);

#endif
