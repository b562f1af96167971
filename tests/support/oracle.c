#include "support/oracle.h"

#include "base/text.h"
#include "support/engine.h"
#include "support/files.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frees the command. */
static bool succeeds(mica__text *command) {
  /* NOLINTNEXTLINE(cert-env33-c): a test's own command */
  const bool done = mica__text_status(command) == MICA_OK && system(command->data) == 0;
  mica__text_free(command);
  return done;
}

static const char *python(void) {
  const char *named = getenv("MICA_ORACLE_PYTHON");
  return named && *named ? named : "python3";
}

const char *oracle_lacks(const char *packages) {
  static char reason[256];
  mica__text command = {0};
  mica__text_addf(&command, "'%s' -c 'import %s' 2>/dev/null", python(), packages);
  if (succeeds(&command)) return NULL;
  snprintf(reason, sizeof reason, "MICA_ORACLE_PYTHON does not have all of %s", packages);
  return reason;
}

void oracle_run(const char *script, const char *arguments) {
  const char *root = getenv("MICA_SOURCE_DIR");
  mica__text command = {0};
  mica__text_addf(&command, "'%s' '%s/tests/%s' %s", python(), root ? root : ".", script, arguments);
  ck_assert_msg(succeeds(&command), "%s %s", script, arguments);
}

void oracle_add(oracle_values *values, const char *prefix, const char *name, mica_dtype dtype, mica_shape shape,
                const void *data) {
  int64_t elements = 0;
  mica__text full = {0};
  ck_ok(mica_shape_count(shape, &elements));
  mica__text_addf(&full, "%s%s", prefix, name);
  ck_ok(mica__text_status(&full));
  const size_t bytes = (size_t)elements * mica_dtype_size(dtype);
  void *copy = malloc(bytes + 1);
  values->entries = realloc(values->entries, (values->count + 1) * sizeof *values->entries);
  ck_assert(copy && values->entries);
  memcpy(copy, data, bytes);
  values->entries[values->count++] =
      (mica_safetensors_entry){.name = full.data, .dtype = dtype, .shape = shape, .data = copy, .bytes = bytes};
}

void oracle_add_tensor(oracle_values *values, const char *prefix, const char *name, const mica_tensor *tensor) {
  const size_t bytes = mica_tensor_bytes(tensor);
  void *data = malloc(bytes + 1);
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, bytes));
  oracle_add(values, prefix, name, mica_tensor_dtype(tensor), mica_tensor_shape(tensor), data);
  free(data);
}

const char *oracle_write(oracle_values *values, const char *name) {
  const char *path = files_path(name);
  ck_ok(mica_safetensors_write(path, values->entries, values->count, NULL, 0));
  for (size_t i = 0; i < values->count; i++) {
    free((void *)values->entries[i].data);
    free((void *)values->entries[i].name);
  }
  free(values->entries);
  *values = (oracle_values){0};
  return path;
}
