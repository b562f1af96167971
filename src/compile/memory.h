/* compile/memory.h: where the values of a run are in memory. */
#ifndef MICA_COMPILE_MEMORY_H
#define MICA_COMPILE_MEMORY_H

#include "compile/partition.h"
#include "compile/slabs.h"

typedef enum mica__home {
  MICA__HOME_NONE, /* never in memory */
  MICA__HOME_ARENA,
  MICA__HOME_CONSTANT,
  MICA__HOME_DERIVED, /* computed by the prologue, see recorder.h */
  MICA__HOME_OUTPUT,
  MICA__HOME_INPUT,     /* the caller's tensor */
  MICA__HOME_PARAMETER, /* the session's tensor of the parameter `node` */
} mica__home;

typedef struct mica__location {
  mica__home home;
  size_t offset; /* in bytes, into the arena, the constants or the outputs */
  int32_t node;  /* if home is OUTPUT: the number of the output; otherwise the node's id */
} mica__location;

typedef struct mica__memory {
  mica__location *locations; /* by id - 1 */
  mica__slabs arena, constants, outputs;
  size_t unplanned_bytes; /* bytes of the arena's values if they shared no memory */
  size_t value_count;     /* the number of values in the arena */
} mica__memory;

/* Plans the memory of scheduled steps on the engine's device.
 * - Values that are never alive at the same time share memory. The largest is placed first. Each gets the lowest offset
 *   that is free during its life.
 * - A value takes over the memory of an operand that no later step reads, if each element is read only to compute the
 *   same element, or if the op allows it. Values of composites do not.
 *
 * `deferred` is set by mica__partition_schedule. Fails with MICA_E_DEVICE_MEMORY if a value is larger than the device's
 * largest buffer (the message names the value), or if the values without the outputs do not fit together
 * (mica__memory_check). */
mica_status mica__memory_plan(const mica__template *template, const mica__partition *partition, const bool *deferred,
                              const mica_engine *engine, mica__memory *memory);
/* Fails with MICA_E_DEVICE_MEMORY if the device's memory cannot hold all values together. with_outputs: the session
 * allocates the outputs, so they count; otherwise the caller provides their memory. */
mica_status mica__memory_check(const mica__memory *memory, const mica_graph *graph, const mica_engine *engine,
                               bool with_outputs);
bool mica__memory_has_room(const mica__memory *memory, const mica_engine *engine, bool with_outputs);
void mica__memory_free(mica__memory *memory);

#endif
