/* For platforms where no builder process exists (Windows): programs are built here, one after another. */
#include "runtime/builder.h"

#include "base/error.h"
#include "runtime/serve_builds.h"

bool mica__builder_start(mica__builder *builder, const mica_engine *engine) {
  (void)builder, (void)engine;
  return false;
}

bool mica__builder_start_doctor(mica__builder *builder, const mica_engine *engine) {
  (void)builder, (void)engine;
  return false;
}

void mica__builder_end_doctor(mica__builder *builder) { (void)builder; }

bool mica__builder_make(mica__builder *builder, const mica__build_item *item) {
  (void)builder, (void)item;
  return false;
}

void mica__builder_stop(mica__builder *builder) { (void)builder; }

mica_status mica__engine_serve_builds(mica_engine *engine, int socket) {
  (void)engine, (void)socket;
  return mica__fail(MICA_E_UNSUPPORTED, "this system does not support building kernels in other processes");
}
