/* Saves the weights of all stages in one file, under the names of a network that is not divided, and loads them. */
#include "base/error.h"
#include "dist/parts.h"
#include "dist/pipeline.h"
#include "ops/collective/channels.h"

static mica_status save(mica_pipeline *p, mica_communicator *c, const char *path, mica__weights *all) {
  MICA_TRY(mica__weights_take(all, mica_pipeline_network(p), mica_pipeline_session(p), mica__pipeline_queue(p)));
  if (c->rank) return mica__weights_send(all, c, MICA__CHANNEL_SAVING, 0);
  for (int32_t k = 1; k < c->ranks; k++) MICA_TRY(mica__weights_receive(all, c, MICA__CHANNEL_SAVING, k));
  return mica__weights_write(all, path, NULL, 0);
}

mica_status mica_pipeline_save(mica_pipeline *p, const char *path) {
  mica__weights all = {NULL, 0};
  if (!p || !path) return mica__fail(MICA_E_INVALID, "mica_pipeline_save: a pointer is NULL");
  mica_communicator *c = mica__pipeline_communicator(p);
  mica_status status = save(p, c, path, &all);
  if (status != MICA_OK) mica_communicator_abort(c, mica_error_message());
  mica__weights_free(&all);
  return status;
}

mica_status mica_pipeline_load(mica_pipeline *p, const char *path) {
  if (!p || !path) return mica__fail(MICA_E_INVALID, "mica_pipeline_load: a pointer is NULL");
  return mica_nn_load(mica_pipeline_network(p), mica_pipeline_session(p), path, NULL);
}
