/* tests/support/trained_model.h: what the ways of training a random network share. */
#ifndef MICA_TESTS_SUPPORT_TRAINED_MODEL_H
#define MICA_TESTS_SUPPORT_TRAINED_MODEL_H

#include "compile/template.h"
#include "support/trained.h"

#define TRAINED_OUTPUTS 64

/* A graph of the network for one batch size, or any. */
typedef struct trained_model {
  mica_graph *graph;
  mica_nn *nn;
  random_built built;
  mica_value outputs[TRAINED_OUTPUTS];
  char names[TRAINED_OUTPUTS][64];
  size_t output_count;
  int64_t batch;
  bool averages; /* weights are their moving averages, where there are any */
  mica_session *session;
} trained_model;

/* Training: with the loss and the optimiser. */
trained_model trained_model_of(const random_network *network, bool training, int64_t batch);
/* The training model of that batch size among *count, or a new one behind them. */
trained_model *trained_model_for(const random_network *network, trained_model *models, size_t *count, int64_t batch);
void trained_model_free(trained_model *model);

/* Notes the initial values of all parameters, as those of step 0. */
void trained_begin(trained *run, const trained_model *model);
/* Takes the values. */
void trained_note(trained *run, int32_t step, const char *name, mica_dtype dtype, double *values, int64_t count);
double *trained_copy(const double *values, int64_t count);

/* The elements that an input is fed, as floats have them, and the learning rate. */
double *trained_feed(const random_network *network, const random_feed *feed, uint32_t data, int32_t step,
                     int64_t count);
double trained_rate(int32_t step);
/* The batch that the network predicts after a step. */
int64_t trained_predicted(const random_network *network, int32_t step);

#endif
