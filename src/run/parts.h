/* run/parts.h: the parts of the data that a run is trained and tested on, and their loaders. */
#ifndef MICA_RUN_PARTS_H
#define MICA_RUN_PARTS_H

#include "base/error.h"

#include <mica/run.h>

/* The configuration to open data with: pictures of the run's size, labels in the form that the task takes. */
mica_dataset_config mica__run_opening(const mica_run *run, mica_part part);
/* Opens a part as the run's task does. */
mica_status mica__run_open_part(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data);
/* MICA_E_INVALID if the setting "size" is malformed, or if the pictures of the training data have another size. */
mica_status mica__run_check_size(const mica_run *run);
/* Sets *has to true if the run's data have their own validation part, or if the task makes one. */
mica_status mica__run_has_validation(const mica_run *run, bool *has);
/* Splits data without a validation part by the settings "validation" and "seed", in the same way for training and
 * evaluation: *part validates, *rest trains. If one would be empty, both are NULL and all samples train. */
mica_status mica__run_split(const mica_run *run, const mica_dataset *whole, mica_dataset **part, mica_dataset **rest);
/* Opens the training data, finds the task, prepares it and makes the loaders. */
mica_status mica__run_open_data(mica_run *run);
/* Sets *config for a loader that reads `data` in the way in which the run's loader reads `part`: by the run's settings
 * and stored values (run/facts.h), but without augmentation. */
mica_status mica__run_loading(mica_run *run, mica_part part, const mica_dataset *data, mica_loader_config *config);
/* Replaces *data by what the task makes of it (mica__input.views.derive). Destroys the old dataset unless it is the
 * whole dataset or the caller's. */
mica_status mica__run_derive(mica_run *run, mica_part part, const mica_dataset **data);
/* Prepares data on which the run was not trained for the run's loaders: checks that they fit, numbers classes as the
 * run does, and applies what the task derives. With `blind`, a table may lack the answers. *ready replaces the data; if
 * this fails, the data are destroyed. */
mica_status mica__run_make_ready(mica_run *run, mica_part part, mica_dataset *data, bool blind, mica_dataset **ready);
/* Makes a loader that reads `data` in the way in which the run tests `part`. `residence` says where the loader keeps
 * the data; with AUTO the task decides. If the loader reads another dataset that is made from `data`, *shown is set to
 * it; *shown must be NULL before. The caller destroys *shown after the loader, also if the call fails. */
mica_status mica__run_load(mica_run *run, mica_part part, const mica_dataset *data, mica_residence residence,
                           mica_dataset **shown, mica_loader **loader);

#endif
