/* labels: null single, shards: 2
 *
 * Every case of every op on the null device with allocations failing: its builders, its gradient, its session and a run
 * of that. Each ends in a status and leaks nothing. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/op_cases.h"

#include <mica/session.h>
#include <stdio.h>

typedef struct built {
  mica_graph *graph;
  mica_value x[TEST_MAX_OPERANDS], outputs[1 + TEST_MAX_OPERANDS];
  size_t operands, count;
} built;

static bool is_float(mica_value value) { return mica_dtype_kind_of(mica_value_dtype(value)) == MICA_DTYPE_KIND_FLOAT; }

/* The case and, where its result is floating, the gradients of the result's sum with respect to floating operands. */
static mica_status build(const test_case *c, built *b) {
  mica_value wrt[TEST_MAX_OPERANDS];
  size_t wanted = 0;
  *b = (built){.graph = NULL};
  mica_status status = mica_graph_create(&b->graph);
  if (status != MICA_OK) return status;
  for (size_t k = 0; k < TEST_MAX_OPERANDS && (c->operands[k].low != 0 || c->operands[k].high != 0); k++) {
    char name[8];
    snprintf(name, sizeof name, "x%zu", k);
    b->x[k] = mica_input(b->graph, name, c->operands[k].dtype, c->operands[k].shape);
    b->operands++;
    if (c->operands[k].dtype == MICA_F32) wrt[wanted++] = b->x[k];
  }
  mica_value y = c->build(b->graph, b->x);
  if (mica_graph_status(b->graph) != MICA_OK) return mica_graph_status(b->graph);
  b->outputs[b->count++] = y;
  if (wanted == 0 || !is_float(y)) return MICA_OK;
  mica_value loss = mica_sum(y, MICA_ALL_AXES, false);
  if (mica_graph_status(b->graph) != MICA_OK) return mica_graph_status(b->graph);
  status = mica_gradients(loss, wrt, wanted, b->outputs + 1);
  if (status == MICA_OK) b->count += wanted;
  return status;
}

static mica_status build_only(void *user) {
  built b;
  mica_status status = build(user, &b);
  mica_graph_destroy(b.graph);
  return status;
}

/* With an engine of its own, so that what an engine keeps is freed too. */
static mica_status build_and_run(void *user) {
  built b;
  mica_engine *engine = NULL;
  mica_session *session = NULL;
  mica_tensor *tensors[TEST_MAX_OPERANDS] = {NULL};
  mica_feed feeds[TEST_MAX_OPERANDS];
  char names[TEST_MAX_OPERANDS][8];
  mica_status status = build(user, &b);
  if (status == MICA_OK) status = mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine);
  for (size_t k = 0; status == MICA_OK && k < b.operands; k++) {
    status = mica_tensor_create(engine, mica_value_dtype(b.x[k]), mica_value_shape(b.x[k]), &tensors[k]);
    snprintf(names[k], sizeof names[k], "x%zu", k);
    feeds[k] = (mica_feed){names[k], tensors[k]};
  }
  if (status == MICA_OK) status = mica_session_create(engine, b.graph, b.outputs, b.count, NULL, &session);
  if (status == MICA_OK) status = mica_session_run(session, mica_engine_queue(engine), feeds, b.operands);
  if (status == MICA_OK) status = mica_queue_finish(mica_engine_queue(engine));
  mica_session_destroy(session);
  for (size_t k = 0; k < b.operands; k++) mica_tensor_destroy(tensors[k]);
  mica_engine_destroy(engine);
  mica_graph_destroy(b.graph);
  return status;
}

START_TEST(of_building) {
  size_t count = 0;
  const test_case *cases = test_cases(&count);
  for (size_t i = 0; i < count; i++)
    if (test_in_shard(i)) fault_libc_each(FAULT_MEMORY, build_only, (void *)(uintptr_t)&cases[i], 2);
}
END_TEST

/* A third of the calls of each case, another one for the next: cases have most of what a session does in common. */
START_TEST(of_a_session) {
  size_t count = 0;
  const test_case *cases = test_cases(&count);
  for (size_t i = 0; i < count; i++)
    if (test_in_shard(i))
      fault_libc_some(FAULT_MEMORY, 1 + (unsigned)(i / 2 % 3), 3, build_and_run, (void *)(uintptr_t)&cases[i]);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, of_building, of_a_session)
