/* tests/support/oracle.h: packages of Python that results are compared with (label oracle): MICA_ORACLE_PYTHON runs a
 * script beside the test, and a file of numbers goes between the two. */
#ifndef MICA_TESTS_SUPPORT_ORACLE_H
#define MICA_TESTS_SUPPORT_ORACLE_H

#include <mica/mica.h>
#include <stddef.h>

/* Says that Python cannot import all packages, such as "torch, safetensors"; NULL: it can. For TESTS. */
const char *oracle_lacks(const char *packages);

/* Runs a script below tests, such as "nn/rows_torch.py", with arguments as a shell takes them. The test fails unless
 * its exit status is 0. */
void oracle_run(const char *script, const char *arguments);

/* Named numbers; zero-initialise. */
typedef struct oracle_values {
  mica_safetensors_entry *entries;
  size_t count;
} oracle_values;

/* Adds a copy of a tensor's elements, by PREFIX and NAME together. */
void oracle_add(oracle_values *values, const char *prefix, const char *name, mica_dtype dtype, mica_shape shape,
                const void *data);
/* Adds what a tensor of test_engine holds. */
void oracle_add_tensor(oracle_values *values, const char *prefix, const char *name, const mica_tensor *tensor);
/* Writes them as safetensors to files_path(name), which it returns, and empties them. */
const char *oracle_write(oracle_values *values, const char *name);

#endif
