/* cli/stop.h: signals that stop a training run. */
#ifndef MICA_CLI_STOP_H
#define MICA_CLI_STOP_H

/* The signal that asked for a stop, 0: none yet; for mica_run_config.stop. */
const volatile int *cli_stop_flag(void);
/* Makes SIGINT, SIGTERM, SIGHUP and SIGPIPE set the flag. A second signal of the same kind ends the process, except
 * SIGPIPE. Signals that the process ignores stay ignored, except SIGINT. */
void cli_stop_catch(void);

/* CLI_STOP_EARLY begins the message for a stop before the first step. CLI_STOP_JSON is its JSON object, a format with
 * the task's name. CLI_STOP_TEXT is the size of a buffer for the message with the command that continues the run. */
#define CLI_STOP_EARLY "stopped before the first step"
#define CLI_STOP_JSON "{\"task\":\"%s\",\"stopped\":true}\n"
#define CLI_STOP_TEXT (16384 + 128)

/* Notes which folders of this path are missing. A stop at once removes only these: a folder that existed before the
 * command stays, even if it is empty. Call it before the command makes a folder. */
void cli_stop_note_folder(const char *folder);
/* From now on the first signal ends the process at once, even while a driver compiles, because there is nothing to
 * save. Before the process ends,
 *
 *   - if the file `path` exists: `said` is written to the descriptor `file`
 *   - otherwise: the empty folders of cli_stop_note_folder are removed, and `otherwise` is written to `file`
 *   - in both cases json, unless it is NULL, is written to standard output */
void cli_stop_at_once(int file, const char *path, const char *said, const char *otherwise, const char *json);
/* Ends the effect of cli_stop_at_once: from now on, a signal only sets the flag. */
void cli_stop_in_order(void);

#endif
