/* tests/support/heads.h: runs a head's step on known answers on the host, without a network. */
#ifndef MICA_TESTS_SUPPORT_HEADS_H
#define MICA_TESTS_SUPPORT_HEADS_H

#include "run/run.h"
#include "run/sample.h"

#include <mica/mica.h>
#include <stdbool.h>
#include <stddef.h>

/* The run of a test: made before it, destroyed after it. */
extern mica_run *heads_run;
void heads_make(void);
void heads_drop(void);
/* Gives the run a task, with the label's column "label". */
void heads_take(const char *task);

/* A batch of answers for the head's step: the column y, and another one beside it if it has a name. */
typedef struct heads_answers {
  mica_shape z_shape, y_shape, other_shape;
  const double *z, *y, *other;
  mica_dtype y_type, other_type;
  const char *y_name, *other_name; /* y_name NULL: "label" */
} heads_answers;

typedef struct heads_results {
  double loss, weight;
  double metrics[MICA_OBJECTIVE_METRICS][2]; /* sum and weight */
  size_t outputs;
  double output[64];
} heads_results;

/* What the head's step of a network of tests, or of training, makes of them. */
heads_results heads_step(const heads_answers *a, bool training);
/* The quotient of a metric's sums. */
double heads_mean(const heads_results *r, size_t metric);
/* A report whose one section says what the head says of a sample. */
mica_report *heads_section(const mica__sample *sample, const float *outputs, const mica_run_input *given);

#endif
