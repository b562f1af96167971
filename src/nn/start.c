#include "nn/start.h"

#include "base/error.h"
#include "nn/divided.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shape of a parameter on all ranks together. */
static mica_shape whole_of(const mica__nn_parameter *p) {
  return mica__division_whole(&p->division, mica_value_shape(p->info.value));
}

/* The parameter LAYER.PART; NULL: the network lacks it. */
static const mica__nn_parameter *find(const mica_nn *nn, const char *layer, const char *part) {
  const size_t length = strlen(layer);
  for (size_t i = 0; i < nn->parameter_count; i++) {
    const char *name = nn->parameters[i].info.own_name;
    if (!strncmp(name, layer, length) && name[length] == '.' && !strcmp(name + length + 1, part))
      return &nn->parameters[i];
  }
  return NULL;
}

/* Uploads this rank's part of the whole parameter's values. */
static mica_status upload_part(const mica_nn *nn, const mica__nn_parameter *p, mica_tensor *tensor, float *whole) {
  const mica_communicator *ranks = nn->config.tensor_ranks;
  const size_t bytes = mica_tensor_bytes(tensor);
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
  if (!mica__is_divided(&p->division)) return mica_tensor_upload(queue, tensor, whole, bytes);
  char *own = malloc(bytes + 1);
  if (!own) return mica__fail_nomem("initial values");
  mica__division_copy(&p->division, mica_tensor_shape(tensor), sizeof *whole, ranks->ranks, ranks->rank, (char *)whole,
                      own, false);
  mica_status status = mica_tensor_upload(queue, tensor, own, bytes);
  free(own);
  return status;
}

static mica_status upload_uniform(const mica_nn *nn, mica_session *session, const mica__nn_parameter *p, uint64_t seed,
                                  double fan_in, uint32_t which) {
  mica_tensor *tensor = p ? mica_session_parameter(session, p->info.name) : NULL;
  if (!tensor) return MICA_OK;
  int64_t count = 0;
  MICA_TRY(mica_shape_count(whole_of(p), &count));
  float *values = malloc((size_t)count * sizeof *values + 1);
  if (!values) return mica__fail_nomem("initial values");
  for (int64_t i = 0; i < count; i++) {
    /* The third word spells "regr". It makes these numbers differ from the numbers that other code draws with the same
     * seed. */
    uint32_t words[4] = {(uint32_t)i, which, UINT32_C(0x72656772), 0};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    values[i] = (float)((((double)words[0] + 0.5) * 0x1p-31 - 1) / sqrt(fan_in));
  }
  mica_status status = upload_part(nn, p, tensor, values);
  free(values);
  return status;
}

mica_status mica__nn_start_dense(const mica_nn *nn, mica_session *session, const char *layer, uint64_t seed,
                                 uint32_t which) {
  const mica__nn_parameter *weight = find(nn, layer, "weight");
  if (!weight) return MICA_OK;
  const double fan_in = (double)whole_of(weight).dim[1];
  MICA_TRY(upload_uniform(nn, session, weight, seed, fan_in, 2 * which));
  return upload_uniform(nn, session, find(nn, layer, "bias"), seed, fan_in, 2 * which + 1);
}
