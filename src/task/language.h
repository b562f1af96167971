/* task/language.h: what training and continuing have in common. */
#ifndef MICA_TASK_LANGUAGE_H
#define MICA_TASK_LANGUAGE_H

#include "task/run.h"

/* The vocabulary where tokens are bytes. */
#define MICA__LANGUAGE_BYTES 256

/* The network that the run's settings describe. */
mica_model_config mica__language_network(const mica_run *run);
/* mica_run_generate. */
mica_status mica__language_generate(mica_run *run, const mica_run_texts *texts);
/* Adds a text that the network writes. */
mica_status mica__language_report(mica_run *run, mica_report *report);

#endif
