/* tests/support/fault_api.h: OpenCL that fails on purpose, and counts what is created and released.
 *
 * A layer over another table of OpenCL functions, in whose place Mica uses it (mica__cl_install). Not thread-safe. */
#ifndef MICA_TESTS_SUPPORT_FAULT_API_H
#define MICA_TESTS_SUPPORT_FAULT_API_H

#include "runtime/opencl_api.h"

#include <stdbool.h>

typedef enum fault_call {
#define FAULT_STATUS_ENUM(name, parameters, arguments) FAULT_##name,
#define FAULT_OBJECT_ENUM(type, name, parameters, arguments) FAULT_##name,
  MICA__CL_CALLS(FAULT_STATUS_ENUM, FAULT_OBJECT_ENUM)
#undef FAULT_STATUS_ENUM
#undef FAULT_OBJECT_ENUM
      FAULT_CALL_COUNT,
  FAULT_ANY = FAULT_CALL_COUNT
} fault_call;

/* Puts the layer over `below`, with nothing failing and all counts 0. */
void fault_install(const mica__cl_api *below);
/* Takes it away again: Mica uses the loader. */
void fault_remove(void);

/* The n-th call of a function (or of any, FAULT_ANY) from now on fails with `error`; n 0 for none. A call that
 * releases something or waits does its work and then answers the error, since nobody could do it in its place. */
void fault_arm(fault_call call, unsigned n, cl_int error);
/* As fault_arm; from that call on the device is lost and answers as NVIDIA's driver was seen to. */
void fault_lose(fault_call call, unsigned n, cl_int error);
/* Every call of the function fails with `error` from now on; CL_SUCCESS ends that. */
void fault_always(fault_call call, cl_int error);
/* BuildProgram fails with CL_BUILD_PROGRAM_FAILURE from now on for options with one of these texts; NULL ends that. The
 * texts stay the caller's. */
void fault_build(const char *first, const char *second);
/* The call that failed since fault_arm; FAULT_CALL_COUNT when none has. */
fault_call fault_fired(void);

/* Calls since fault_install. */
unsigned long fault_calls(fault_call call);
const char *fault_call_name(fault_call call);

/* Objects of all kinds that were created and not released, memory that is mapped, references that were retained. */
long fault_live(void);
/* What is live in words, for a message; "" when there are none. */
const char *fault_live_text(void);

#endif
