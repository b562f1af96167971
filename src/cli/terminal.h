/* cli/terminal.h: colour and progress, which exist on a terminal only. */
#ifndef MICA_CLI_TERMINAL_H
#define MICA_CLI_TERMINAL_H

typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_RED, CLI_YELLOW } cli_colour;

/* The escape sequence that switches stdout to a colour; "" unless stdout is a terminal that takes it. NO_COLOR, when
 * set and not empty, turns colour off. */
const char *cli_colour_code(cli_colour colour);

/* Shows a line on stderr in place of the last one; nothing when stderr is not a terminal. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes that line. */
void cli_progress_end(void);

#endif
