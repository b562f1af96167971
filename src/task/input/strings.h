/* task/input/strings.h: recordings with their texts. A sample is one recording or a string, which joins several
 * recordings of one speaker. The network reads it step by step. The data are made in strings_data.c and
 * data/sound/strings.c, the networks in networks/recogniser.c. */
#ifndef MICA_TASK_INPUT_STRINGS_H
#define MICA_TASK_INPUT_STRINGS_H

#include "data/sound/strings.h"
#include "networks/recogniser.h"
#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"

#define STRINGS_SETTINGS(X, S)                                                                                         \
  X(S, TEXT, join, "join", "", "A-B",                                                                                  \
    "join A to B recordings of one speaker into a sample, their texts separated by spaces, as in 2-5 (default: "       \
    "single recordings)",                                                                                              \
    .fixed = true)                                                                                                     \
  X(S, INT, strings, "strings", "0", "N", "with --join: samples per epoch; 0: twice the number of recordings",         \
    .low = 0, .high = 0x1p31, .of = "join=*", .fixed = true)                                                           \
  X(S, REAL, gap, "gap", "0.3", "S", "with --join: longest silence between recordings, in seconds", .low = 0,          \
    .high = 60, .of = "join=*", .fixed = true)                                                                         \
  X(S, REAL, noise, "noise", "15", "DB",                                                                               \
    "lowest signal-to-noise ratio of the noise that is added in training, in dB; 0: no noise", .low = 0, .high = 120,  \
    .fixed = true)                                                                                                     \
  MICA__MEL_SETTINGS(X, S, 8)                                                                                          \
  X(S, CHOICE, reduction, "reduction", "4", "N", "frames of 10 ms per output step",                                    \
    .names = mica__strings_reduction_at, .fixed = true, .structure = true)                                             \
  X(S, INT, filters, "filters", "16", "N", "filters per convolution", .low = 1, .high = 1024, .fixed = true,           \
    .structure = true)                                                                                                 \
  X(S, INT, layers, "layers", "1", "N",                                                                                \
    "recurrent layers of gru, or blocks of conformer (default: 1 for gru, 3 for conformer)", .low = 1,                 \
    .high = MICA__RECOGNISER_LAYERS, .fixed = true, .structure = true)                                                 \
  X(S, INT, width, "width", "96", "N",                                                                                 \
    "units per layer of gru, or features of conformer (default: 96 for gru, 64 for conformer)", .low = 1,              \
    .high = 4096, .fixed = true, .structure = true)                                                                    \
  X(S, INT, heads, "heads", "4", "N", "conformer: attention heads", .low = 1, .high = 1024, .of = "model=conformer",   \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, kernel, "kernel", "15", "N", "conformer: length of the convolutions, in output steps (--reduction)",       \
    .low = 2, .high = 1024, .of = "model=conformer", .fixed = true, .structure = true)                                 \
  X(S, REAL, context, "context", "2.5", "S", "conformer: seconds of the past that attention sees", .low = 0.02,        \
    .high = 600, .of = "model=conformer", .fixed = true)                                                               \
  X(S, REAL, dropout, "dropout", "0.1", "P", "dropout before each layer", .low = 0, .high = 0.95, .fixed = true)       \
  MICA__MASK_SETTINGS(X, S)

/* "alphabet": the letters of all texts of the training part. */
#define STRINGS_FACTS(X, S)                                                                                            \
  X(S, TEXTS, alphabet, .needed = true)                                                                                \
  X(S, NUMBER, rate, .needed = true, .most = 1 << 20)

extern const mica__input mica__input_strings;
const char *mica__strings_reduction_at(size_t i);

/* --- time and network --- */

/* Seconds of zeros after a recording of speech. */
#define MICA__STRINGS_TAIL 0.4
mica__strings_time mica__strings_time_of(const mica_run *run);
/* The network that the run's settings describe. */
mica__recogniser mica__strings_network(const mica_run *run);

/* --- data --- */

/* Opens a part whose samples are made as form says (data/sound/strings.h). All parts number speakers as the training
 * part does. */
mica_status mica__strings_open_form(const mica_run *run, const char *path, mica_part part,
                                    const mica__strings_form *form, mica_dataset **data);
/* Opens a part with two columns: "sound", with zeros after each recording, and "tokens", the code points of its
 * text. */
mica_status mica__strings_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                               mica_dataset **data);
/* Stores these values with the run, and checks the texts of the training and the validation part against the alphabet.
 *
 *   rate              the rate of the data or, if they have none, `rate`
 *   mean, deviation   0 and 1
 *   alphabet          the letters of all texts of the training part */
mica_status mica__strings_note(mica_run *run, double rate, mica__strings_time (*time_of)(const mica_run *run));
/* Stores the names of the training part's speakers with the run, as "speakers". If the data name no speakers, the list
 * has one empty name. */
mica_status mica__strings_note_speakers(mica_run *run);
/* Checks that data have recordings with texts (columns "sound" and "tokens"), and that the texts suit the run's
 * alphabet and the lengths of the recordings. */
mica_status mica__strings_fits(const mica_run *run, const mica__strings_time *time, const mica_dataset *data);

/* Functions that mica__input_strings points to (in strings_show.c). */
mica_status mica__strings_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__strings_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
