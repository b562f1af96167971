#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEPT = 4, PATH_BYTES = 4096 };

const char *golden_path(const char *folder, const char *name) {
  static char paths[KEPT][PATH_BYTES];
  static int next;
  char *path = paths[next++ % KEPT];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, PATH_BYTES, "%s/tests/golden/%s/%s", root ? root : ".", folder, name);
  return path;
}

const char *test_data(const char *name) {
  static char paths[KEPT][PATH_BYTES];
  static int next;
  char *path = paths[next++ % KEPT];
  const char *root = getenv("MICA_TEST_DATA");
  if (!root || !*root) return NULL;
  snprintf(path, PATH_BYTES, "%s/%s", root, name);
  return access(path, R_OK) == 0 ? path : NULL;
}
