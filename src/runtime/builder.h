/* runtime/builder.h: a process that builds programs into a disk cache that it shares with this one. */
#ifndef MICA_RUNTIME_BUILDER_H
#define MICA_RUNTIME_BUILDER_H

#include "runtime/build_list.h"

#include <mica/device.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct mica__builder {
  pid_t process;
  int socket; /* its standard input, on which it also answers; other output is discarded */
} mica__builder;

/* Starts mica_engine_config.builder for the engine's device and cache; false if it cannot be started. */
bool mica__builder_start(mica__builder *builder, const mica_engine *engine);
/* Lets the builder make one program, and waits. A program that fails to build is not an error; false if the builder can
 * no longer be used. */
bool mica__builder_make(mica__builder *builder, const mica__build_item *item);
/* Closes the socket, and waits until the process ends. */
void mica__builder_stop(mica__builder *builder);

/* Starts mica_engine_config.builder for the engine's device and cache; false if it cannot be started. The process
 * runs every op's check, from the last op to the first (mica_doctor_ahead), so that an examination in this process
 * finds programs already built. It ends when its socket is closed, or is killed. */
bool mica__builder_start_doctor(mica__builder *builder, const mica_engine *engine);
void mica__builder_end_doctor(mica__builder *builder);

#endif
