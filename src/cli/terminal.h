/* cli/terminal.h: colour and progress, only on a terminal. */
#ifndef MICA_CLI_TERMINAL_H
#define MICA_CLI_TERMINAL_H

typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_RED, CLI_YELLOW } cli_colour;

/* The escape sequence that switches stdout to a colour; "" unless stdout is a terminal with colours. NO_COLOR, if set
 * and not empty, turns colour off. */
const char *cli_colour_code(cli_colour colour);

/* Replaces the last line on stderr by a new one; does nothing unless stderr is a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes that line. */
void cli_progress_end(void);

#endif
