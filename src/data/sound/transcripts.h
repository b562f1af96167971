/* data/sound/transcripts.h: lists of recordings and their texts. */
#ifndef MICA_DATA_SOUND_TRANSCRIPTS_H
#define MICA_DATA_SOUND_TRANSCRIPTS_H

#include "base/error.h"

#include <mica/data.h>

/* A list of recordings and texts: lines "FILE <tab> TEXT", or lines of more columns named by a header. */
typedef struct mica__speech_list {
  char **files, **texts;
  int32_t *lines;
  size_t count, room;
  size_t again; /* lines that repeat a recording with the same text */
} mica__speech_list;
/* Reads a list from a file's content. `name` appears in messages; `folder` is what file names are relative to.
 * MICA_E_FORMAT names the line. The list must be freed, also after a failure. */
mica_status mica__speech_list_read(const char *name, const char *folder, const char *content, size_t size,
                                   mica__speech_list *list);
void mica__speech_list_free(mica__speech_list *list);
/* A list as a dataset: columns "sound", "text" and "line". */
mica_status mica__speech_list_open(const char *path, int32_t rate, mica_dataset **data);

#endif
