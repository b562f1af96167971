/* cli/compiling.h: a line that says why a first start takes time. */
#ifndef MICA_CLI_COMPILING_H
#define MICA_CLI_COMPILING_H

#include "cli/command.h"

#include <mica/device.h>
#include <stddef.h>

/* Lets several processes of this command compile the kernels of an engine that is made with the config. After two
 * seconds of compiling, one line on stderr says so: on a terminal, or if MICA_VERBOSE is above 0. If a program cannot
 * be written to the cache, another line says why, once. */
void cli_compile_with(const cli_command *self, mica_engine_config *config);
/* How many programs such engines compiled but could not write to the cache; *reason says why for the first of them. */
size_t cli_compiled_in_vain(const char **reason);
/* Leaves the line about the cache to a command that calls cli_compiled_in_vain. */
void cli_compile_tell_lost_later(void);
/* Prints neither line from now on: for --quiet, and for ranks after the first. */
void cli_compile_silently(void);

#endif
