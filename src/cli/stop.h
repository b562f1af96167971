/* cli/stop.h: signals that stop a training run. */
#ifndef MICA_CLI_STOP_H
#define MICA_CLI_STOP_H

/* The signal that asked for a stop, 0: none yet; for mica_run_config.stop. */
const volatile int *cli_stop_flag(void);
/* Makes SIGINT, SIGTERM, SIGHUP and SIGPIPE set the flag; a second signal ends the process. */
void cli_stop_catch(void);

/* The message for a stop before the first step, and its JSON object; CLI_STOP_TEXT: the room for a message with the
 * command that goes on. */
#define CLI_STOP_EARLY "stopped before the first step"
#define CLI_STOP_JSON "{\"task\":\"%s\",\"stopped\":true}\n"
#define CLI_STOP_TEXT (16384 + 128)

/* Notes which folders of this path are missing. A stop at once removes only these: a folder that existed before the
 * command stays, even if it is empty. Call it before the command makes a folder. */
void cli_stop_note_folder(const char *folder);
/* From now on the first signal ends the process, even while a driver compiles, because nothing needs saving. It first
 * writes `said` to the descriptor `file` if the file `path` exists by then, else `otherwise`, and json, unless NULL, to
 * standard output. Without that file it removes the folders of cli_stop_note_folder that are empty. */
void cli_stop_at_once(int file, const char *path, const char *said, const char *otherwise, const char *json);
/* Ends cli_stop_at_once: a signal only sets the flag again. */
void cli_stop_in_order(void);

#endif
