/* cli/stop.h: signals that stop a training run. */
#ifndef MICA_CLI_STOP_H
#define MICA_CLI_STOP_H

/* The signal that asked for a stop, 0 as long as none has: for mica_run_config.stop. */
const volatile int *cli_stop_flag(void);
/* Has SIGINT, SIGTERM, SIGHUP and SIGPIPE set the flag; a second one ends the process. */
void cli_stop_catch(void);

/* What is said of such a stop, and its object. */
#define CLI_STOP_EARLY "stopped before the first step"
#define CLI_STOP_JSON "{\"task\":\"%s\",\"stopped\":true}\n"
#define CLI_STOP_TEXT (16384 + 128)

/* Notes which folders of this path are missing. A stop at once removes these alone: a folder that was there before the
 * command stays, even an empty one. Call it before the command makes a folder. */
void cli_stop_note_folder(const char *folder);
/* Nothing has to be saved from now on: already the first signal ends the process, while a driver compiles too, having
 * written said to the file descriptor if there is a file path by then, otherwise the other text, and json, unless it is
 * NULL, to standard output. Without the file the folders of cli_stop_note_folder are removed if they are empty. */
void cli_stop_at_once(int file, const char *path, const char *said, const char *otherwise, const char *json);
/* Until now: a signal only sets the flag again. */
void cli_stop_in_order(void);

#endif
