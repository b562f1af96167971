#include "nn/divided.h"

#include "ir/graph.h"

#include <mica/nodes.h>
#include <mica/parallel.h>
#include <string.h>

/* A rank's number, shifted left by this many bits, is added to the seeds of its random numbers, so that ranks draw
 * different numbers. Replicas of data parallelism add multiples of 2^32 to their seeds (train/phase.c); the sums stay
 * below 2^48. */
#define RANK_DRAWS 48

static mica_communicator *ranks_of(const mica_nn *nn) { return nn->config.tensor_ranks; }

int32_t mica__nn_ranks(const mica_nn *nn) { return ranks_of(nn) ? ranks_of(nn)->ranks : 1; }

static bool is_whole(const mica_nn *nn) { return mica__nn_ranks(nn) == 1; }

int64_t mica__nn_share_of(mica_nn *nn, const char *what, int64_t count) {
  const int32_t ranks = mica__nn_ranks(nn);
  const size_t length = *nn->prefix ? strlen(nn->prefix) - 1 : 0; /* without the dot at the end */
  if (count % ranks)
    mica__graph_fail(nn->graph, MICA_E_INVALID,
                     "%.*s%sthe number of %s is %lld, but must be a multiple of the number of ranks, %d", (int)length,
                     nn->prefix, length ? ": " : "", what, (long long)count, (int)ranks);
  return count / ranks;
}

mica_value mica__nn_fan_out(mica_nn *nn, mica_value x) {
  if (is_whole(nn) || mica_value_is_null(x)) return x;
  if (mica_value_dtype(x) != MICA_F32) x = mica_cast(x, MICA_F32);
  return mica_parallel_enter(x, ranks_of(nn), nn->sums++);
}

/* Marks the parameters from number `first` on as divided along an axis. Each section of the axis is divided among the
 * ranks separately. */
static void divide(mica_nn *nn, size_t first, int32_t axis, const int64_t sections[MICA__DIVISION_SECTIONS]) {
  mica__division d = {.axis = axis};
  for (int32_t s = 0; s < MICA__DIVISION_SECTIONS && sections[s] > 0; s++) d.sections[d.count++] = sections[s];
  for (size_t i = first; i < nn->parameter_count; i++) nn->parameters[i].division = d;
}

mica_value mica__nn_columns(mica_nn *nn, const char *name, mica_value x,
                            const int64_t sections[MICA__DIVISION_SECTIONS], const mica_dense_config *config) {
  const size_t first = nn->parameter_count;
  int64_t units = 0;
  for (int s = 0; s < MICA__DIVISION_SECTIONS; s++) units += mica__nn_share_of(nn, "units", sections[s]);
  mica_value y = mica_nn_dense(nn, name, x, units, config);
  if (!is_whole(nn)) divide(nn, first, 0, sections);
  return y;
}

mica_value mica__nn_rows(mica_nn *nn, const char *name, mica_value x, int64_t inner, int64_t units,
                         const mica_dense_config *config) {
  if (is_whole(nn)) return mica_nn_dense(nn, name, x, units, config);
  mica_dense_config how = config ? *config : (mica_dense_config){0};
  const bool biased = !how.no_bias;
  const size_t first = nn->parameter_count;
  how.no_bias = true; /* the bias is added once, after the sum over ranks */
  mica_value y = mica_nn_dense(nn, name, x, units, &how);
  if (mica_value_is_null(y)) return y;
  divide(nn, first, 1, (int64_t[MICA__DIVISION_SECTIONS]){inner});
  if (mica_value_dtype(y) != MICA_F32) y = mica_cast(y, MICA_F32);
  y = mica__nn_narrow(nn, mica_parallel_leave(y, ranks_of(nn), nn->sums++));
  if (!biased) return y;
  mica_nn_push(nn, name);
  y = mica_add(y, mica_nn_parameter(nn, "bias", MICA_SHAPE(units), &how.bias));
  mica_nn_pop(nn);
  return y;
}

uint64_t mica__nn_draw_own(mica_nn *nn) {
  const uint64_t rank = ranks_of(nn) ? (uint64_t)ranks_of(nn)->rank : 0;
  return nn->config.seed + ++nn->draws + (rank << RANK_DRAWS);
}

mica_value mica__nn_dropout_own(mica_nn *nn, mica_value x, double rate) {
  if (is_whole(nn) || !nn->config.training || mica_value_is_null(x) || !(rate >= 0 && rate < 1))
    return mica_nn_dropout(nn, x, rate);
  return mica_dropout(x, mica_nn_step(nn), mica__nn_draw_own(nn), rate);
}

const mica__division *mica__nn_division(const mica_nn *nn, size_t index) { return &nn->parameters[index].division; }

void mica__nn_divide_like(mica_nn *nn, const char *own_name) {
  if (is_whole(nn) || !nn->parameter_count) return;
  mica__nn_parameter *last = &nn->parameters[nn->parameter_count - 1];
  for (size_t i = 0; i < nn->parameter_count; i++) {
    const mica__nn_parameter *p = &nn->parameters[i];
    if (strcmp(p->info.own_name, own_name) != 0) continue;
    if (mica_shape_equal(mica_value_shape(p->info.value), mica_value_shape(last->info.value)))
      last->division = p->division;
    return;
  }
}

void mica__nn_divide_as(mica_nn *nn, const mica__division *division) {
  if (nn->parameter_count) nn->parameters[nn->parameter_count - 1].division = *division;
}

bool mica__nn_is_divided(const mica_nn *nn) {
  for (size_t i = 0; i < nn->parameter_count; i++)
    if (mica__is_divided(&nn->parameters[i].division)) return true;
  return false;
}
