/* mica/mica.h: all of Mica's public API but mica/opencl.h, which alone needs the OpenCL headers.
 *
 * Conventions. Names are mica_<noun>_<verb>; builders of a graph's values are mica_<op> (mica_relu), operations on
 * tensors mica_op_<op>, or mica_op_<op>_<pass> where an op has a backward pass. An enumerator of the type mica_<noun>
 * is MICA_<NOUN>_<NAME>, and MICA_<NOUN>_LIST is the X-macro that lists them; only statuses (MICA_OK, MICA_E_<NAME>)
 * and dtypes (MICA_F32) are shorter. What create makes, destroy releases, and destroy(NULL) does nothing.
 *
 * Zeros. Structures named ..._config are zero-initialised, or filled by ..._config_default() where there is one: a zero
 * field always means the default, so that fields added later never break a caller, and NULL means all defaults.
 * MICA_ZERO is a real zero where 0 stands for something else. What has no default says so where it stands. Pointers a
 * function stores a result through are written only on success. */
#ifndef MICA_H
#define MICA_H

#include <mica/batch.h>
#include <mica/buffer.h>
#include <mica/cache.h>
#include <mica/conv.h>
#include <mica/data.h>
#include <mica/device.h>
#include <mica/doctor.h>
#include <mica/dtype.h>
#include <mica/graph.h>
#include <mica/history.h>
#include <mica/io.h>
#include <mica/kernel.h>
#include <mica/model.h>
#include <mica/nn.h>
#include <mica/nodes.h>
#include <mica/norm.h>
#include <mica/ops.h>
#include <mica/optim.h>
#include <mica/pool.h>
#include <mica/profile.h>
#include <mica/safetensors.h>
#include <mica/session.h>
#include <mica/shape.h>
#include <mica/status.h>
#include <mica/tensor.h>
#include <mica/train.h>
#include <mica/version.h>
#include <mica/window.h>

#endif
