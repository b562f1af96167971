/* runtime/enqueue.h: a packed launch brought to the driver; what starting at once and replaying have in common. */
#ifndef MICA_RUNTIME_ENQUEUE_H
#define MICA_RUNTIME_ENQUEUE_H

#include "runtime/launch.h"
#include "runtime/objects.h"

/* Packed without an error, for as many arguments as the kernel takes, and groups and a range that it and the device
 * allow. */
mica_status mica__launch_check(const mica_engine *engine, const mica__launch *launch);
bool mica__launch_is_empty(const mica__launch *launch);

/* Sets one argument of the kernel object, the argument that holds all packed values, or everything. */
mica_status mica__launch_set_arg(mica_engine *engine, cl_kernel handle, const mica__launch *launch, uint32_t index);
mica_status mica__launch_set_packed(mica_engine *engine, cl_kernel handle, const mica__launch *launch);
mica_status mica__launch_set_args(mica_engine *engine, cl_kernel handle, const mica__launch *launch);

/* Starts the kernel object, whose arguments are set. */
mica_status mica__launch_enqueue(mica_queue *queue, cl_kernel handle, const mica__launch *launch);

#endif
