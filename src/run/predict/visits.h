/* run/predict/visits.h: visits the samples given to predict, for mica__input.samples.visit. To visit a sample is to run
 * the network on it and to call a function with the sample and the network's output. */
#ifndef MICA_RUN_PREDICT_VISITS_H
#define MICA_RUN_PREDICT_VISITS_H

#include "run/sample.h"

/* Visits the first `count` samples of a dataset that fits the run; count is at most the number of its samples. */
typedef mica_status mica__data_visit_fn(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                                        void *user);
/* Visits the sample in a file. */
typedef mica_status mica__file_visit_fn(mica_run *run, const char *path, mica__sample_fn *fn, void *user);

/* Opens the given data and visits the requested samples; MICA_E_FORMAT if they do not fit. */
mica_status mica__visit_data(mica_run *run, const mica_run_input *given, mica__data_visit_fn *visit,
                             mica__sample_fn *fn, void *user);
/* Visits the given files, and the pictures (or recordings) in folders. Files that cannot be read are skipped if
 * given->unread is set. */
mica_status mica__visit_files(mica_run *run, const mica_run_input *given, mica__file_visit_fn *visit,
                              mica__sample_fn *fn, void *user);

/* Predicts one sample, whose shape may differ from that of other samples, and visits it with the head's output of
 * `width` numbers. Feeds that the network has no inputs for are left out. */
mica_status mica__visit_fed(mica_run *run, const mica__sample *sample, const mica_feed *feeds, size_t count,
                            int64_t width, mica__sample_fn *fn, void *user);

/* Runs the network on a recording and visits it. The network is fed with "sound", the recording padded with zeros to
 * one of a few lengths, and with "sound.length". */
mica_status mica__visit_sound(mica_run *run, const mica__sample *sample, const float *samples, int64_t length,
                              int64_t width, mica__sample_fn *fn, void *user);
/* Reads the column "sound" of a sample. *samples must be freed, also after a failure. */
mica_status mica__sound_of(const mica_dataset *data, uint64_t sample, float **samples, int64_t *length);

#endif
