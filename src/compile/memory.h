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
  int32_t node;  /* OUTPUT: its number; otherwise the node's id */
} mica__location;

typedef struct mica__memory {
  mica__location *locations; /* by id - 1 */
  mica__slabs arena, constants, outputs;
  size_t unplanned_bytes; /* bytes of the arena's values if they shared no memory */
  size_t value_count;     /* of the arena */
} mica__memory;

/* Plans the memory of scheduled steps on the engine's device. Values that are never alive at once share memory: largest
 * first, each at the lowest offset that is free during its life. A kernel's value takes over the memory of an operand
 * that nothing reads afterwards, if both are accessed at the same point only, or if the op allows it.
 * MICA_E_DEVICE_MEMORY, with the value's name, if it exceeds the device's largest buffer. */
mica_status mica__memory_plan(const mica__template *template, const mica__partition *partition, const bool *deferred,
                              const mica_engine *engine, mica__memory *memory);
/* MICA_E_DEVICE_MEMORY for values that the device's memory cannot hold together. with_outputs: outputs take memory of
 * the session's own, not the caller's. */
mica_status mica__memory_check(const mica__memory *memory, const mica_graph *graph, const mica_engine *engine,
                               bool with_outputs);
bool mica__memory_has_room(const mica__memory *memory, const mica_engine *engine, bool with_outputs);
void mica__memory_free(mica__memory *memory);

#endif
