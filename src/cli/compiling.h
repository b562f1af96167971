/* cli/compiling.h: compiles kernels in several processes, and says so if it takes long. */
#ifndef MICA_CLI_COMPILING_H
#define MICA_CLI_COMPILING_H

#include "cli/command.h"

#include <mica/device.h>
#include <stddef.h>

/* Lets several processes of this command compile the kernels of an engine that is made with the config. After two
 * seconds of compiling, one line on stderr says so, but only if stderr is a terminal or MICA_VERBOSE is above 0. If a
 * program cannot be written to the cache, another line says why, once. */
void cli_compile_with(const cli_command *self, mica_engine_config *config);
/* Returns how many programs the engines of cli_compile_with compiled but could not write to the cache. *reason receives
 * the reason for the first one. */
size_t cli_compiled_in_vain(const char **reason);
/* Turns off the line about the cache, for a command that reports this itself with cli_compiled_in_vain. */
void cli_compile_tell_lost_later(void);
/* Turns off both lines that cli_compile_with announces, for --quiet and for ranks after the first. */
void cli_compile_silently(void);

#endif
