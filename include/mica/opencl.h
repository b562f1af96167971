/* mica/opencl.h: use Mica in a program that has its own OpenCL objects. The only public header that includes OpenCL's.
 *
 * Threads: as in mica/device.h and mica/tensor.h. */
#ifndef MICA_OPENCL_H
#define MICA_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* Creates an engine on the caller's context and one of its devices.
 *
 * queue becomes the engine's queue (mica_engine_queue). It must be an in-order queue; NULL: the engine creates one. The
 * engine retains all three objects, so the caller may release its own references at any time. config may be NULL;
 * config->device is ignored. config->bundle works as in mica_engine_create. */
MICA_API MICA_CHECKED mica_status mica_engine_create_from_opencl(cl_context context, cl_device_id device,
                                                                 cl_command_queue queue,
                                                                 const mica_engine_config *config,
                                                                 mica_engine **engine);

/* Creates a buffer on the caller's memory object, without a copy. mica_tensor_wrap creates tensors on the buffer.
 * memory is retained until the buffer and its tensors are destroyed. MICA_E_INVALID: memory is not a memory object of
 * the engine's context. */
MICA_API MICA_CHECKED mica_status mica_buffer_wrap_opencl(mica_engine *engine, cl_mem memory, mica_buffer **buffer);

/* The underlying OpenCL objects, not retained. *offset_bytes receives the offset of the tensor's first element in the
 * returned memory object; offset_bytes may be NULL. */
MICA_API cl_context mica_engine_opencl_context(const mica_engine *engine);
MICA_API cl_device_id mica_engine_opencl_device(const mica_engine *engine);
MICA_API cl_command_queue mica_queue_opencl(const mica_queue *queue);
MICA_API cl_mem mica_tensor_opencl(const mica_tensor *tensor, size_t *offset_bytes);

MICA_END_DECLS

#endif
