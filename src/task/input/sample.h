/* task/input/sample.h: pictures and rows of tables. */
#ifndef MICA_TASK_INPUT_SAMPLE_H
#define MICA_TASK_INPUT_SAMPLE_H

#include "run/composed.h"

extern const mica__input mica__input_sample;

#endif
