/* runtime/builder.h: a process that builds programs into the disk cache which it shares with this one. */
#ifndef MICA_RUNTIME_BUILDER_H
#define MICA_RUNTIME_BUILDER_H

#include "runtime/build_list.h"

#include <mica/device.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct mica__builder {
  pid_t process;
  int socket; /* its standard input, through which it answers too; what it writes elsewhere is lost */
} mica__builder;

/* Starts mica_engine_config.builder for the engine's device and cache. */
bool mica__builder_start(mica__builder *builder, const mica_engine *engine);
/* Has it make one program, and waits. One that does not build is nobody's fault; false when the builder is of no more
 * use. */
bool mica__builder_make(mica__builder *builder, const mica__build_item *item);
/* Waits for its end. */
void mica__builder_stop(mica__builder *builder);

/* Starts mica_engine_config.builder for this device and cache to run every op's check, the last op's first
 * (mica_doctor_ahead), so that an examination here finds programs that are built. It ends with its socket, or is
 * ended. */
bool mica__builder_start_doctor(mica__builder *builder, const mica_engine *engine);
void mica__builder_end_doctor(mica__builder *builder);

#endif
