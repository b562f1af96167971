#include "support/engine.h"
#include "support/limited_api.h"

#include <stdio.h>
#include <stdlib.h>

static mica_engine *engine;

mica_engine *test_engine(void) {
  if (engine) return engine;
  const char *limits = getenv("MICA_TEST_LIMITS");
  if (limits && !limited_install(limits)) exit(1);
  /* Room for the kernels of several build folders that share a cache (MICA_TEST_CACHE). */
  const mica_engine_config config = {.cache_bytes = (uint64_t)4 << 30};
  mica_status status = mica_engine_create(&config, &engine);
  if (status == MICA_OK && limits) limited_split(engine);
  if (status == MICA_OK || status == MICA_E_NO_DEVICE) return engine;
  fprintf(stderr, "%s\n", mica_error_message());
  exit(1);
}

mica_queue *test_queue(void) { return mica_engine_queue(test_engine()); }

uint64_t test_engine_close(void) {
  if (!engine) return 0;
  if (mica_queue_finish(test_queue()) != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  uint64_t launches = mica_engine_stats(engine).launches;
  mica_engine_destroy(engine);
  engine = NULL;
  return launches;
}
