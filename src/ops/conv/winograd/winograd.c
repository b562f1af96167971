#include "ops/conv/winograd/winograd.h"

#include "base/arith.h"

/* The number of tiles that can be multiplied with a filter in the time that its transform takes (measured on a CPU). */
#define FILTER_TILES 40

const char *mica__winograd_unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (d->filter[1] != 3 || d->filter[2] != 3) return "the filter is not 3 x 3";
  if (d->stride[1] != 1 || d->stride[2] != 1) return "the stride is not 1";
  if (d->dilation[1] != 1 || d->dilation[2] != 1) return "the filter is dilated";
  if (d->groups != 1) return "the channels are in groups";
  mica__winograd winograd = mica__winograd_of(conv);
  return mica__winograd_tiles(&winograd, 2) > INT32_MAX / 2 ? "there are too many tiles" : NULL;
}

mica__winograd mica__winograd_of(const mica__conv *conv) {
  mica__winograd w = {.phase = mica__conv_phase_at(conv, 0), .flipped = conv->pass == MICA__CONV_BWD_DATA};
  w.top = w.phase.first[1] - (w.flipped ? 2 : 0);
  w.left = w.phase.first[2] - (w.flipped ? 2 : 0);
  return w;
}

MICA__FIELDS(size_fields, WINOGRAD_SIZE);
void mica__winograd_push_size(mica__launch *launch, const mica__winograd *problem) {
  const mica__conv_phase *w = &problem->phase;
  const int64_t *in = w->in, *out = w->out;
  mica__launch_sizes(
      launch,
      (size_fields){.N = w->n, .CG = w->c, .IN1 = in[1], .IN2 = in[2], .KG = w->k, .OUT1 = out[1], .OUT2 = out[2]}
          .values);
}

int64_t mica__winograd_tiles(const mica__winograd *problem, int64_t edge) {
  const mica__conv_phase *w = &problem->phase;
  return w->n * mica__ceil_div(w->out[1], edge) * mica__ceil_div(w->out[2], edge);
}

int32_t mica__winograd_edge(const mica__winograd *problem) {
  return 36 * mica__winograd_tiles(problem, 4) < 16 * mica__winograd_tiles(problem, 2) ? 4 : 2;
}

bool mica__winograd_pays(const mica__winograd *problem) {
  int64_t edge = mica__winograd_edge(problem), points = (edge + 2) * (edge + 2);
  int64_t results = problem->phase.n * mica__product3(problem->phase.out);
  return (mica__winograd_tiles(problem, edge) + FILTER_TILES) * points < 9 * results;
}
