/* cli/compiling.h: a line that tells why a first start takes its time. */
#ifndef MICA_CLI_COMPILING_H
#define MICA_CLI_COMPILING_H

#include "cli/command.h"

#include <mica/device.h>

/* Has kernels of the engine that is to be made compiled by several processes of this command. Once they have been for
 * two seconds, a line on stderr says so, once: on a terminal, or where MICA_VERBOSE asks for more than warnings. */
void cli_compile_with(const cli_command *self, mica_engine_config *config);
/* Prints nothing about it from now on: for --quiet, and for ranks after the first. */
void cli_compile_silently(void);

#endif
