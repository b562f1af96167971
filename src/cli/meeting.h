/* cli/meeting.h: a time limit for a point of the program that all processes of a job must reach (a meeting). MPI itself
 * would wait for them without a limit. */
#ifndef MICA_CLI_MEETING_H
#define MICA_CLI_MEETING_H

#include "cli/command.h"

/* Ends this process with a message unless cli_meeting_end is called within `seconds` (0: 300) and half a second for
 * each rank before this one. The message is "the other ranks did not WHAT within ...", so `what` is a verb such as
 * "start". Only one meeting at a time. If the thread that watches the time cannot be created, there is no limit. */
void cli_meeting_begin(const cli_command *self, const char *what, double seconds, int rank);
void cli_meeting_end(void);

#endif
