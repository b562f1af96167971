/* data/sound/transcripts.h: lists of recordings and their texts. */
#ifndef MICA_DATA_SOUND_TRANSCRIPTS_H
#define MICA_DATA_SOUND_TRANSCRIPTS_H

#include "base/error.h"

#include <mica/data.h>

/* A list of recordings and texts: lines "FILE <tab> TEXT", or of more columns that a first line names. */
typedef struct mica__speech_list {
  char **files, **texts;
  int32_t *lines;
  size_t count, room;
  size_t again; /* lines that come again as they are */
} mica__speech_list;
/* Reads a list from a file's content; name is for sentences, folder what files are relative to. MICA_E_FORMAT names the
 * line. The list is to be freed after a failure too. */
mica_status mica__speech_list_read(const char *name, const char *folder, const char *content, size_t size,
                                   mica__speech_list *list);
void mica__speech_list_free(mica__speech_list *list);
/* A list as a dataset: columns "sound", "text" and "line". */
mica_status mica__speech_list_open(const char *path, int32_t rate, mica_dataset **data);

#endif
