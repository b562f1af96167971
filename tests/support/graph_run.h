/* tests/support/graph_run.h: a graph of one or two inputs, run once. */
#ifndef MICA_TESTS_SUPPORT_GRAPH_RUN_H
#define MICA_TESTS_SUPPORT_GRAPH_RUN_H

#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdlib.h>

/* The fixture: an empty graph before each test, and between the parts of one; graph_session is the last run's. */
extern mica_graph *graph;
extern mica_session *graph_session;
void graph_setup(void);
void graph_teardown(void);
void graph_anew(void);

/* Compiles the outputs: graph_session. */
void graph_compile(const mica_value *outputs, size_t count);
/* Writes a whole f32 tensor. */
void graph_upload(mica_tensor *tensor, const float *data);
/* Fails the test unless the f32 tensor has exactly these elements. */
void graph_expect(const mica_tensor *tensor, const float *wanted, size_t count);

/* Runs the graph on feed "a", f32 of that shape, and "b" unless second is NULL. Gives y's elements, the caller's to
 * free; y is f32. Fails the test when anything fails. */
float *graph_run(mica_value y, mica_shape shape, const void *first, mica_tensor *second);
/* Compiles the outputs, all f32, and runs them twice on "x" of that shape; their elements, one output behind the other,
 * are then in `got`. Gives the launches of a run. */
size_t graph_launches(const mica_value *outputs, size_t count, const mica_session_config *config, mica_shape shape,
                      const float *x, float *got);

#endif
