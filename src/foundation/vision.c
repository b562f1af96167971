/* Networks for pictures: patches, class token, positions, blocks, then classes or a projection. Dosovitskiy et al.
 * 2021, Radford et al. 2021. */
#include "foundation/build.h"

#include "base/error.h"
#include "ir/graph.h"

#include <mica/nodes.h>

#include <inttypes.h>

/* Reshapes (B, C, H, W) to (B, patches, C P P), so that P x P filters with stride P are one product. Pixels after the
 * last whole patch are dropped. */
static mica_value unfold(const mica_foundation_info *i, mica_value x) {
  const int64_t side = i->picture / i->patch, used = side * i->patch;
  if (used < i->picture) x = mica_slice(mica_slice(x, 2, 0, used, 1), 3, 0, used, 1);
  x = mica_reshape(x, MICA_SHAPE(MICA_DYNAMIC, i->channels, side, i->patch, side, i->patch));
  x = mica_transpose(x, MICA_AXES(0, 2, 4, 1, 3, 5));
  return mica_reshape(x, MICA_SHAPE(MICA_DYNAMIC, side * side, i->channels * i->patch * i->patch));
}

/* The class token, then the patches, each plus the vector of its position: (B, 1 + patches, C). CLIP normalises the
 * result. */
static mica_value embed(const mica__network_build *b) {
  const mica_foundation_info *i = b->info;
  const int64_t before[3] = {0, 1, 0}, after[3] = {0}, others[2] = {0, 0}, below[2] = {i->context - 1, 0};
  const mica_init_config normal = {.kind = MICA_INIT_NORMAL, .value = 0.02};
  mica_value x = mica_nn_dense(b->nn, "patches", unfold(i, b->how->pixels), i->width,
                               &(mica_dense_config){.no_bias = b->family->no_patch_bias});
  mica_value first = mica_nn_parameter(b->nn, "class_token", MICA_SHAPE(i->width), &normal);
  mica_value positions = mica_nn_parameter(b->nn, "positions.weight", MICA_SHAPE(i->context, i->width), &normal);
  first = mica_reshape(first, MICA_SHAPE(1, i->width));
  positions = mica_add(positions, mica_pad(first, others, below, MICA_PAD_MODE_CONSTANT, 0));
  x = mica_add(mica_pad(x, before, after, MICA_PAD_MODE_CONSTANT, 0), positions);
  return i->embed_norm ? mica__build_norm(b, "embed_norm", x) : x;
}

static mica_status check(const mica__network_build *b) {
  const mica_foundation_info *i = b->info;
  const mica_shape shape = mica_value_shape(b->how->pixels);
  char text[MICA_SHAPE_TEXT];
  if (shape.rank != 4 || shape.dim[1] != i->channels || shape.dim[2] != i->picture || shape.dim[3] != i->picture)
    return mica__fail(MICA_E_INVALID,
                      "pictures of the shape %s were given, but the model reads (B, %" PRId64 ", %" PRId64 ", %" PRId64
                      ")",
                      mica_shape_format(shape, text), i->channels, i->picture, i->picture);
  if (!b->how->hidden && i->projection == 0 && i->task != MICA_FOUNDATION_TASK_CLASSIFY)
    return mica__fail(MICA_E_UNSUPPORTED, "the model has no classes; set hidden to get its features");
  return MICA_OK;
}

mica_value mica__build_pictures(mica__network_build *b) {
  const mica_foundation_info *i = b->info;
  const mica_status status = check(b);
  if (status != MICA_OK) {
    mica__graph_fail_with(mica_nn_graph(b->nn), status);
    return (mica_value){0};
  }
  mica_value x = mica__build_blocks(b, embed(b));
  /* CLIP's features are taken before the norm, and only the class token is normalised. */
  if (i->projection == 0) x = mica__build_norm(b, "norm", x);
  if (b->how->hidden) return x;
  x = mica_squeeze(mica_slice(x, 1, 0, 1, 1), MICA_AXES(1));
  if (i->projection == 0) return mica_cast(mica_nn_dense(b->nn, "head", x, i->classes, NULL), MICA_F32);
  x = mica__build_norm(b, "norm", x);
  return mica_cast(mica_nn_dense(b->nn, "projection", x, i->projection, &(mica_dense_config){.no_bias = true}),
                   MICA_F32);
}
