/* run/parts.h: the parts of the data that a run is trained and tested on, and their loaders. */
#ifndef MICA_RUN_PARTS_H
#define MICA_RUN_PARTS_H

#include "base/error.h"

#include <mica/run.h>

/* The configuration for opening data: pictures of the run's size, labels as its task takes them. */
mica_dataset_config mica__run_opening(const mica_run *run, mica_part part);
/* Opens a part as the run's task does. */
mica_status mica__run_open_part(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data);
/* MICA_E_INVALID where the data that are trained on are of another size than the setting says. */
mica_status mica__run_check_size(const mica_run *run);
/* True if the run's data have a validation part of their own, or their task makes one. */
mica_status mica__run_has_validation(const mica_run *run, bool *has);
/* Parts data that have no validation part by the settings "validation" and "seed", as training and evaluation both do:
 * *part validates, *rest is trained on. Both are NULL where one would be empty: all samples are trained on. */
mica_status mica__run_split(const mica_run *run, const mica_dataset *whole, mica_dataset **part, mica_dataset **rest);
/* Opens the training's data, finds the task, prepares it and makes loaders. */
mica_status mica__run_open_data(mica_run *run);
/* The loader's configuration for a part, by the run's settings and facts, without augmentation. */
mica_status mica__run_loading(mica_run *run, mica_part part, mica_loader_config *config);
/* Puts what the task makes of *data (mica__input.views.derive) in place of it, which is destroyed unless it is the
 * whole or the caller's. */
mica_status mica__run_derive(mica_run *run, mica_part part, const mica_dataset **data);
/* Makes data that were opened for a run ready for its loaders: they fit, have its classes and what the task derives.
 * *ready takes their place; a failure destroys them. */
mica_status mica__run_make_ready(mica_run *run, mica_part part, mica_dataset *data, mica_dataset **ready);
/* Makes a part's loader for tests, with a residence of AUTO as the task loads it. *shown, NULL before, gets what it
 * reads in place of the data, or stays NULL; it is the caller's to destroy after the loader, when the call fails
 * too. */
mica_status mica__run_load(mica_run *run, mica_part part, const mica_dataset *data, mica_residence residence,
                           mica_dataset **shown, mica_loader **loader);

#endif
