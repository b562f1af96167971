/* cli/number.h: reads numbers and the type of --precision from the command line. */
#ifndef MICA_CLI_NUMBER_H
#define MICA_CLI_NUMBER_H

#include "cli/command.h"

#include <mica/dtype.h>
#include <stdint.h>

/* False for a text with blanks or an x: C's functions would accept blanks and hexadecimal numbers. */
bool cli_is_plain(const char *text);
/* Reads the text of --name as a number within bounds; text NULL leaves *number unchanged. Returns CLI_OK, or CLI_USAGE
 * after a message with the bounds. */
int cli_number(const cli_command *self, const char *name, const char *text, double low, double high, double *number);
int cli_integer(const cli_command *self, const char *name, const char *text, int64_t low, int64_t high,
                int64_t *number);
/* Reads the text of --precision: f32, f16 or bf16; NULL leaves *dtype unchanged. Returns CLI_OK, or CLI_USAGE after a
 * message. */
int cli_precision(const cli_command *self, const char *text, mica_dtype *dtype);

/* Returns the number of significant digits with which to print a number by %g: six, or as many as a large number needs
 * for two digits after the point, at most 15. From 1e15 on it is six again. 20000096.1 is then not printed as
 * 2.00001e+07. */
int cli_digits(double number);

#endif
