/* run/verbs/published.h: a run whose network is a published model with a new last layer (mica/foundation.h). */
#ifndef MICA_RUN_VERBS_PUBLISHED_H
#define MICA_RUN_VERBS_PUBLISHED_H

#include "base/error.h"

#include <mica/nn.h>
#include <mica/run.h>

/* A copy of the model's config.json in the run's folder. */
#define MICA__PUBLISHED_FILE "network.json"

/* Opens the model of the setting "init" if that is a model's folder, or the copy in the folder of a run that began with
 * such a model. Sets the setting "model", and gives settings that the user left out values that suit the model.
 * `pictures` is true if the samples are pictures, false if they are texts. Does nothing if there is no such model, but
 * fails if the setting "model" asks for one. */
mica_status mica__published_open(mica_run *run, bool pictures);
/* MICA_E_INVALID if the run's tokenizer has tokens that the model lacks. */
mica_status mica__published_check_tokens(const mica_run *run);
/* The model's features of x, then a new dense layer: (N, outputs). x is pictures, or tokens with their lengths. */
mica_value mica__published_build(const mica_run *run, mica_nn *nn, mica_value x, mica_value lengths, int64_t outputs);
/* Loads the weights of all layers but the last, for a new run. */
mica_status mica__published_load(mica_run *run);
/* Writes the copy to the folder of a new run. Does nothing if the run has no such model, or was resumed. */
mica_status mica__published_keep(const mica_run *run);
/* Writes the copy of an opened run to the folder of another one. Does nothing if the run has no such model. */
mica_status mica__published_copy(const mica_run *from, const mica_run *to);

#endif
