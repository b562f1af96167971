/* runtime/recording.h: launches kept ready. See launch.h for the contract; these are the runtime's own parts of it. */
#ifndef MICA_RUNTIME_RECORDING_H
#define MICA_RUNTIME_RECORDING_H

#include "runtime/engine.h"

mica_status mica__recording_add(mica__recording *recording, const mica__launch *launch);

/* The steps of a launch, shared by the immediate and the replayed way. */
mica_status mica__launch_check(const mica_engine *engine, const mica__launch *launch);
bool mica__launch_is_empty(const mica__launch *launch);
mica_status mica__launch_set_arg(const mica_engine *engine, cl_kernel handle, const mica__launch *launch,
                                 uint32_t index);
mica_status mica__launch_set_packed(const mica_engine *engine, cl_kernel handle, const mica__launch *launch);
/* All of them. */
mica_status mica__launch_set_args(const mica_engine *engine, cl_kernel handle, const mica__launch *launch);
mica_status mica__launch_enqueue(mica_queue *queue, cl_kernel handle, const mica__launch *launch);

#endif
