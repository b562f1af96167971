/* labels: device oracle
 *
 * Networks of the zoo with the weights of torchvision's: as many of them, of the same names, with the same result. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>

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

START_TEST(results_are_torchvisions) {
  oracle_run("nn/zoo_oracle.py", files_folder());
  compare("densenet121");
  compare("efficientnetb0");
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, torchvision, safetensors")), NULL, NULL, results_are_torchvisions)
