/* cli/meeting.h: a limit on the time until processes meet: MPI itself waits for all of them without a limit. */
#ifndef MICA_CLI_MEETING_H
#define MICA_CLI_MEETING_H

#include "cli/command.h"

/* Ends this process with a message unless cli_meeting_end is called within `seconds` (0: 300). `what` names what the
 * processes do. Only one meeting at a time. If no thread can be made, there is no limit. */
void cli_meeting_begin(const cli_command *self, const char *what, double seconds, int rank);
void cli_meeting_end(void);

#endif
