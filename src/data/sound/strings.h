/* data/sound/strings.h: recordings with their texts as samples: single ones, or strings of several recordings with
 * silence between them and noise over all. */
#ifndef MICA_DATA_SOUND_STRINGS_H
#define MICA_DATA_SOUND_STRINGS_H

#include "base/error.h"

#include <mica/data.h>

/* How samples are made of recordings, from the settings of the same names. */
typedef struct mica__strings_form {
  const char *join;
  int64_t strings;
  double gap, noise;
  bool between; /* silence only between recordings, each `gap` long */
  int32_t rate;
  uint64_t seed;
  double tail;              /* seconds of zeros at the end of each sample */
  bool speakers;            /* also makes a column "speaker": classes, numbered as in `known` if it has some */
  const char *const *known; /* names of speakers */
  size_t known_count;
} mica__strings_form;

/* Opens recordings with texts from files: a list (of the training part), a folder with a list for each part, or any
 * dataset. */
mica_status mica__strings_open_files(int32_t rate, const char *path, mica_part part, mica_dataset **data);
/* Leaves out of *part the recordings whose texts have letters that no text of `rest` has, because the network cannot
 * learn these letters. MICA_E_FORMAT if none is left. */
mica_status mica__strings_know(const mica_dataset *rest, mica_dataset **part);
/* Makes samples from a dataset of recordings: columns "sound", with zeros after each recording, "tokens", the code
 * points of its text, and "speaker" if the form wants it. base is destroyed with *data, also after a failure. task: the
 * task's name in messages. */
mica_status mica__strings_make(mica_dataset *base, const char *task, mica_part part, const mica__strings_form *form,
                               mica_dataset **data);
/* The names of the data's speakers, *count of them, or one name "" if the data have no speakers; the caller frees
 * the list. NULL: memory is short. */
const char **mica__strings_speakers(const mica_dataset *data, int32_t *count);

/* Frames of the spectrum and steps of the network, in samples. A step reads `reach` samples, the next step those
 * `stride` later. Only recurrent layers and the blocks of Conformer connect a step with earlier ones. */
typedef struct mica__strings_time {
  int64_t length, hop; /* of a frame */
  int64_t stride, reach;
  double rate;  /* samples per second */
  int64_t tail; /* zeros after a recording, during which its last letters are found */
} mica__strings_time;
/* The number of steps for a number of samples. */
int64_t mica__strings_steps(const mica__strings_time *time, int64_t samples);
/* Checks each sample. MICA_E_FORMAT names one with a letter outside the alphabet, or with a sound that has too few
 * steps for its letters. letters: the alphabet, ascending. */
mica_status mica__strings_check(const mica__strings_time *time, const mica_dataset *data, const int32_t *letters,
                                int64_t count);

#endif
