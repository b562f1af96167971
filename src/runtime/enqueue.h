/* runtime/enqueue.h: passes a packed launch to the driver; shared by immediate launches and replays. */
#ifndef MICA_RUNTIME_ENQUEUE_H
#define MICA_RUNTIME_ENQUEUE_H

#include "runtime/launch.h"
#include "runtime/objects.h"

/* Checks that packing had no error, that the kernel takes this number of arguments, and that kernel and device allow
 * the groups and the range. */
mica_status mica__launch_check(const mica_engine *engine, const mica__launch *launch);
bool mica__launch_is_empty(const mica__launch *launch);

/* Set arguments of the kernel object. mica__launch_set_arg sets argument `index` alone, mica__launch_set_packed the
 * last argument, which holds all packed values, and mica__launch_set_args all arguments. */
mica_status mica__launch_set_arg(mica_engine *engine, cl_kernel handle, const mica__launch *launch, uint32_t index);
mica_status mica__launch_set_packed(mica_engine *engine, cl_kernel handle, const mica__launch *launch);
mica_status mica__launch_set_args(mica_engine *engine, cl_kernel handle, const mica__launch *launch);

/* Queues the kernel object, whose arguments must be set, in several parts if the range exceeds the device's limits. */
mica_status mica__launch_enqueue(mica_queue *queue, cl_kernel handle, const mica__launch *launch);

#endif
