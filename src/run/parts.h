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
/* MICA_E_INVALID if the size of the training data differs from the setting. */
mica_status mica__run_check_size(const mica_run *run);
/* *has: the run's data have their own validation part, or the task makes one. */
mica_status mica__run_has_validation(const mica_run *run, bool *has);
/* Splits data without a validation part by the settings "validation" and "seed", in the same way for training and
 * evaluation: *part validates, *rest trains. If one would be empty, both are NULL and all samples train. */
mica_status mica__run_split(const mica_run *run, const mica_dataset *whole, mica_dataset **part, mica_dataset **rest);
/* Opens the training data, finds the task, prepares it and makes the loaders. */
mica_status mica__run_open_data(mica_run *run);
/* Sets *config for a loader that reads the data as it would read that part: by the run's settings and facts, but
 * without augmentation. */
mica_status mica__run_loading(mica_run *run, mica_part part, const mica_dataset *data, mica_loader_config *config);
/* Replaces *data by what the task makes of it (mica__input.views.derive), and destroys it unless it is the whole
 * dataset or the caller's. */
mica_status mica__run_derive(mica_run *run, mica_part part, const mica_dataset **data);
/* Prepares data for the loaders of a run they were not trained on: checks that they fit, numbers classes as the run
 * does, and applies what the task derives. With `blind`, a table may lack the answers. *ready replaces the data; on
 * failure they are destroyed. */
mica_status mica__run_make_ready(mica_run *run, mica_part part, mica_dataset *data, bool blind, mica_dataset **ready);
/* Makes the loader that tests the data as that part. `residence` says where it keeps them; with AUTO the task
 * decides. *shown, NULL before, receives what the loader reads instead of the data, or stays NULL. The caller
 * destroys it after the loader, also if the call fails. */
mica_status mica__run_load(mica_run *run, mica_part part, const mica_dataset *data, mica_residence residence,
                           mica_dataset **shown, mica_loader **loader);

#endif
