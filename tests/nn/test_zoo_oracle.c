/* labels: device oracle
 *
 * Networks of the zoo with the weights of torchvision's: as many of them, of the same names, with the same result. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Every weight of the network is in the file and the other way round; results are equal within 1e-4 of the largest. */
static void compare(const char *name) {
  char path[4096];
  mica_model *model = NULL;
  mica_safetensors *file = NULL;
  mica_tensor *x = NULL;
  const mica_model_config config = {.input = MICA_SHAPE(3, 64, 64), .classes = 10, .stem = MICA_STEM_LARGE};
  snprintf(path, sizeof path, "%s.safetensors", files_path(name));
  ck_ok(mica_safetensors_open(path, &file));
  ck_ok(mica_model_create(test_engine(), name, &config, &model));
  ck_assert_uint_eq(mica_safetensors_count(file), mica_nn_parameter_count(mica_model_network(model)) + 2);
  ck_ok(mica_nn_load(mica_model_network(model), mica_model_session(model), path, NULL));
  const mica_safetensors_entry *in = mica_safetensors_find(file, "oracle.x"),
                               *want = mica_safetensors_find(file, "oracle.y");
  ck_assert(in && want);
  float got[20], largest = 0;
  ck_ok(mica_tensor_create_from(test_engine(), in->dtype, in->shape, in->data, &x));
  ck_ok(mica_session_run(mica_model_session(model), test_queue(), (mica_feed[]){{"inputs", x}}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(mica_model_session(model), 0), got, sizeof got));
  for (int i = 0; i < 20; i++) largest = fmaxf(largest, fabsf(((const float *)want->data)[i]));
  ck_assert(largest > 0);
  for (int i = 0; i < 20; i++)
    ck_assert_msg(fabsf(got[i] - ((const float *)want->data)[i]) <= 1e-4f * largest, "%s: output %d is %g, not %g",
                  name, i, (double)got[i], (double)((const float *)want->data)[i]);
  mica_tensor_destroy(x);
  mica_model_destroy(model);
  mica_safetensors_close(file);
}

/* The exit status of python with these arguments; -1 where it has none. */
static int run_python(const char *arguments) {
  const char *python = getenv("MICA_ORACLE_PYTHON");
  char command[8192];
  snprintf(command, sizeof command, "'%s' %s >/dev/null 2>&1", python ? python : "", arguments);
  const int status = python && *python ? system(command) : -1;
  return status == -1 || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

START_TEST(results_are_torchvisions) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char arguments[4096];
  snprintf(arguments, sizeof arguments, "'%s/tests/nn/zoo_oracle.py' '%s'", root ? root : ".", files_folder());
  ck_assert_int_eq(run_python(arguments), 0);
  compare("densenet121");
  compare("efficientnetb0");
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  if (run_python("-c 'import torch, torchvision, safetensors'") != 0)
    return test_skip("no MICA_ORACLE_PYTHON with torch, torchvision and safetensors");
  Suite *suite = suite_create("zoo_oracle");
  TCase *all = tcase_create("zoo_oracle");
  tcase_set_timeout(all, 300);
  tcase_add_unchecked_fixture(all, NULL, files_remove);
  tcase_add_test(all, results_are_torchvisions);
  suite_add_tcase(suite, all);
  return suite;
}
