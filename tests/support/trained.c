#include "support/trained.h"

#include "base/element.h"
#include "compile/plan.h"
#include "compile/without.h"
#include "support/engine.h"
#include "support/trained_model.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static double *fetched(const mica_tensor *tensor) {
  int64_t count = mica_tensor_count(tensor);
  void *bytes = malloc(mica_tensor_bytes(tensor) + 1);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  ck_assert(bytes && values);
  ck_ok(mica_tensor_download(test_queue(), tensor, bytes, mica_tensor_bytes(tensor)));
  for (int64_t i = 0; i < count; i++) values[i] = mica__element_get(mica_tensor_dtype(tensor), bytes, i);
  free(bytes);
  return values;
}

static void put(mica_tensor *tensor, const double *values) {
  int64_t count = mica_tensor_count(tensor);
  void *bytes = malloc(mica_tensor_bytes(tensor) + 1);
  ck_assert_ptr_nonnull(bytes);
  for (int64_t i = 0; i < count; i++) mica__element_set(mica_tensor_dtype(tensor), bytes, i, values[i]);
  ck_ok(mica_tensor_upload(test_queue(), tensor, bytes, mica_tensor_bytes(tensor)));
  free(bytes);
}

static mica_shape fed_shape(const trained_model *m, const char *name, int64_t batch) {
  mica_value value = {m->graph, mica__name_table_find(&m->graph->names, name)};
  mica_shape shape = mica_value_shape(value);
  if (shape.rank) shape.dim[0] = batch;
  return shape;
}

/* --- on the device --- */

static void poison(mica_session *session) {
  for (mica__plan *v = session->plans; v; v = v->next)
    for (size_t i = 0; v->arena && i < v->memory.arena.count; i++) {
      mica_tensor *all = NULL;
      int64_t count = (int64_t)(mica_buffer_bytes(v->arena[i]) / sizeof(float));
      ck_ok(mica_tensor_wrap(v->arena[i], 0, MICA_F32, MICA_SHAPE(count), &all));
      ck_ok(mica_op_fill(test_queue(), NAN, all));
      mica_tensor_destroy(all);
    }
}

static void run_on_device(const random_network *n, trained_model *m, uint32_t data, int32_t step, int64_t batch) {
  mica_feed feeds[RANDOM_FEEDS + 1];
  mica_tensor *tensors[RANDOM_FEEDS + 1] = {NULL};
  int32_t count = m->built.feed_count;
  for (int32_t i = 0; i <= count; i++) {
    const char *name = i < count ? m->built.feeds[i].name : MICA_LEARNING_RATE;
    if (mica__name_table_find(&m->graph->names, name) <= 0) {
      count--; /* predictions have no rate */
      break;
    }
    mica_dtype dtype = i < count && m->built.feeds[i].below ? MICA_I32 : MICA_F32;
    ck_ok(mica_tensor_create(test_engine(), dtype, fed_shape(m, name, batch), &tensors[i]));
    double rate = trained_rate(step), *values = &rate;
    if (i < count) values = trained_feed(n, &m->built.feeds[i], data, step, mica_tensor_count(tensors[i]));
    put(tensors[i], values);
    if (i < count) free(values);
    feeds[i] = (mica_feed){name, tensors[i]};
  }
  poison(m->session);
  ck_ok(mica_session_run(m->session, test_queue(), feeds, (size_t)count + 1));
  ck_ok(mica_queue_finish(test_queue()));
  for (int32_t i = 0; i <= RANDOM_FEEDS; i++) mica_tensor_destroy(tensors[i]);
}

static void note_outputs(trained *run, const trained_model *m, int32_t step) {
  for (size_t i = 0; i < m->output_count; i++) {
    const mica_tensor *tensor = mica_session_output(m->session, i);
    trained_note(run, step, m->names[i], mica_tensor_dtype(tensor), fetched(tensor), mica_tensor_count(tensor));
  }
}

static void note_parameters(trained *run, const trained_model *m, int32_t step) {
  for (size_t i = 0; i < mica_nn_parameter_count(m->nn); i++) {
    const char *name = mica_nn_parameter_at(m->nn, i)->name;
    mica_tensor *tensor = mica_session_parameter(m->session, name);
    if (tensor) trained_note(run, step, name, mica_tensor_dtype(tensor), fetched(tensor), mica_tensor_count(tensor));
  }
}

static void make_session(trained_model *m, const trained_way *way, mica_session *share) {
  mica_session_config config = {.no_fusion = way->no_fusion, .no_simplify = way->no_simplify, .share = share};
  ck_ok(mica_session_create(test_engine(), m->graph, m->outputs, m->output_count, &config, &m->session));
}

static void put_initial(const trained_model *m, const trained *run) {
  for (size_t i = 0; i < run->count; i++) {
    mica_tensor *tensor = mica_session_parameter(m->session, run->tensors[i].name + 2);
    if (tensor) put(tensor, run->tensors[i].values);
  }
}

trained trained_on_device(const random_network *n, uint32_t data, const trained_way *way) {
  trained run = {0};
  trained_model models[RANDOM_STEPS], predicting = trained_model_of(n, false, MICA_DYNAMIC);
  size_t count = 0;
  mica__compile_without(way->without);
  for (int32_t step = 1; step <= n->steps; step++) {
    const int64_t batch = n->batch[step - 1];
    trained_model *m = trained_model_for(n, models, &count, n->open ? MICA_DYNAMIC : batch);
    if (!m->session) make_session(m, way, count > 1 ? models[0].session : NULL);
    if (step == 1) {
      make_session(&predicting, way, m->session);
      if (n->averages) ck_ok(mica_nn_share_ema(predicting.nn, predicting.session, m->session));
      trained_begin(&run, m);
      put_initial(m, &run);
      run_on_device(n, &predicting, data, 1, batch);
    }
    run_on_device(n, m, data, step, batch);
    note_outputs(&run, m, step);
    note_parameters(&run, models, step);
    run_on_device(n, &predicting, data, step, trained_predicted(n, step));
    note_outputs(&run, &predicting, step);
  }
  mica__compile_without(0);
  trained_model_free(&predicting);
  while (count > 0) trained_model_free(&models[--count]);
  return run;
}
