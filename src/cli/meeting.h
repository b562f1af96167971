/* cli/meeting.h: a limit on the time that processes take to meet: MPI waits for all of them, however long that is. */
#ifndef MICA_CLI_MEETING_H
#define MICA_CLI_MEETING_H

#include "cli/command.h"

/* Ends this process with a sentence unless cli_meeting_end is called within `seconds` (0: 300). `what` says what the
 * processes do. One meeting at a time; without memory for a thread there is no limit. */
void cli_meeting_begin(const cli_command *self, const char *what, double seconds, int rank);
void cli_meeting_end(void);

#endif
