/* cli/tracks.h: tracks of boxes in the frames of a video: mica predict --track and mica eval --track. */
#ifndef MICA_CLI_TRACKS_H
#define MICA_CLI_TRACKS_H

#include "cli/command.h"

#include <mica/run.h>
#include <mica/track.h>

/* Boxes with an id, of all frames so far. */
typedef struct cli_tracks {
  mica_track_box *list;
  size_t count, capacity;
  int64_t frames;
} cli_tracks;

/* Adds the boxes of a prediction, whose sections are the next frames. False: there is not enough memory. */
bool cli_tracks_add(cli_tracks *tracks, const mica_report *prediction);
void cli_tracks_free(cli_tracks *tracks);
/* Returns CLI_OK if boxes of the run can be tracked, else CLI_USAGE after a message. */
int cli_tracks_check(const cli_command *self, const mica_run *run);

/* Tracks the boxes that the run finds in FOLDER/img1 and scores them by FOLDER/gt/gt.txt; prints the scores, or a JSON
 * object. Returns an exit status. */
int cli_tracks_eval(const cli_command *self, mica_run *run, const char *folder, bool json);

#endif
