/* The least a consumer does: headers and library are of one version, and an engine comes and goes. */
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  if (strcmp(mica_version(), MICA_VERSION_STRING) != 0) {
    fprintf(stderr, "headers %s, library %s\n", MICA_VERSION_STRING, mica_version());
    return 1;
  }
  mica_engine *engine;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  if (mica_engine_create(&config, &engine) != MICA_OK) {
    fprintf(stderr, "%s\n", mica_error_message());
    return 1;
  }
  mica_engine_destroy(engine);
  return 0;
}
