/* The U-Net of denoising diffusion (Ho et al. 2020), with the names that diffusers' UNet2DModel gives its weights. */
#include "nn/zoo/zoo.h"

#include "ir/graph.h"
#include "nn/sequence.h"

#include <math.h>
#include <stdio.h>

#define USUAL_WIDTH 32
#define USUAL_DEPTH 3
#define MOST_DEPTH 6
#define MOST_BLOCKS 8
#define USUAL_GROUPS 8
/* The default depth leaves at least this many pixels per side. */
#define LEAST_SIDE 4
/* Channels of all levels except the first, in units of `width`. */
#define WIDER 2
/* The wavelengths of the time's embedding, divided by 2 pi, are 1 to almost this. */
#define LONGEST 10000.0

static const mica_value null_value = {0};

/* A network under construction. */
typedef struct building {
  mica_nn *nn;
  mica_denoiser_config c;
  mica_value time; /* (N, 4 width): the embedding of time and class, after silu; all blocks use it */
} building;

static int64_t channels_of(const building *b, int64_t level) { return level ? WIDER * b->c.width : b->c.width; }

static mica_value norm(const building *b, const char *name, mica_value x) {
  if (!x.graph) return x;
  const int64_t channels = mica_value_shape(x).dim[1];
  int64_t groups = b->c.groups ? b->c.groups : channels < USUAL_GROUPS ? channels : USUAL_GROUPS;
  while (!b->c.groups && channels % groups) groups--;
  return mica_nn_group_norm(b->nn, name, x, groups, NULL);
}

/* If `last`, the weights begin as zeros, so that a residual block begins as the identity. */
static mica_value conv(const building *b, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride,
                       bool last) {
  const int64_t pad = size / 2;
  const mica_nn_conv_config c = {.how = {.stride = {stride, stride}, .pad = {pad, pad}},
                                 .weight = {.kind = last ? MICA_INIT_CONSTANT : MICA_INIT_XAVIER_UNIFORM}};
  return mica_nn_conv(b->nn, name, x, filters, size, &c);
}

static mica_value dense(const building *b, const char *name, mica_value x, int64_t units, bool last) {
  const mica_dense_config c = {.weight = {.kind = last ? MICA_INIT_CONSTANT : MICA_INIT_XAVIER_UNIFORM}};
  return mica_nn_dense(b->nn, name, x, units, &c);
}

/* --- blocks --- */

/* Two convolutions; the embedding of time and class is added between them. */
static mica_value residual(const building *b, const char *name, int64_t index, mica_value x, int64_t filters) {
  char scope[32];
  snprintf(scope, sizeof scope, "%s.%lld", name, (long long)index);
  mica_nn_push(b->nn, scope);
  mica_value y = conv(b, "conv1", mica_silu(norm(b, "norm1", x)), filters, 3, 1, false);
  mica_value shift = dense(b, "time_emb_proj", b->time, filters, false);
  y = mica_add(y, mica_unsqueeze(shift, MICA_AXES(2, 3)));
  y = mica_silu(norm(b, "norm2", y));
  if (b->c.dropout > 0) y = mica_nn_dropout(b->nn, y, b->c.dropout);
  y = conv(b, "conv2", y, filters, 3, 1, true);
  if (mica_value_shape(x).dim[1] != filters) x = conv(b, "conv_shortcut", x, filters, 1, 1, false);
  mica_nn_pop(b->nn);
  return mica_add(mica__nn_narrow(b->nn, x), y);
}

/* Splits (N, T, C) into heads (N, heads, T, size). */
static mica_value heads_of(const building *b, const char *name, mica_value x, int64_t heads, int64_t size) {
  x = mica__split_heads(dense(b, name, x, heads * size, false), heads, size);
  return mica_transpose(x, MICA_AXES(0, 2, 1, 3));
}

/* Attention of each pixel to all pixels of its picture. */
static mica_value attention(const building *b, const char *name, int64_t index, mica_value x) {
  if (!x.graph) return x;
  const mica_shape s = mica_value_shape(x);
  const int64_t C = s.dim[1], size = b->c.head ? b->c.head : C, heads = C / size;
  char scope[32];
  if (C % size)
    return mica__graph_fail(x.graph, MICA_E_INVALID,
                            "denoiser: channels per head (%lld) must divide the channels (%lld)", (long long)size,
                            (long long)C);
  snprintf(scope, sizeof scope, "%s.%lld", name, (long long)index);
  mica_nn_push(b->nn, scope);
  mica_value rows = mica_reshape(norm(b, "group_norm", x), MICA_SHAPE(MICA__COPY_DIM(0), C, s.dim[2] * s.dim[3]));
  rows = mica_transpose(rows, MICA_AXES(0, 2, 1));
  mica_value q = heads_of(b, "to_q", rows, heads, size), k = heads_of(b, "to_k", rows, heads, size);
  mica_value y = mica_attention(q, k, heads_of(b, "to_v", rows, heads, size), NULL);
  y = mica__join_heads(mica_transpose(y, MICA_AXES(0, 2, 1, 3)), C);
  y = mica_transpose(dense(b, "to_out.0", y, C, true), MICA_AXES(0, 2, 1));
  mica_nn_pop(b->nn);
  return mica_add(x, mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), C, s.dim[2], s.dim[3])));
}

static mica_value twice_as_large(mica_value x) {
  const mica_resize_config how = {.mode = MICA_RESIZE_MODE_NEAREST,
                                  .coordinates = MICA_RESIZE_COORDINATES_ASYMMETRIC,
                                  .nearest = MICA_RESIZE_NEAREST_FLOOR,
                                  .scale = {0, 0, 2, 2}};
  return mica_resize(x, &how);
}

/* --- the network --- */

/* Cosines, then sines, of the times (N) at width / 2 frequencies. */
static mica_value waves(mica_value time, int64_t width) {
  float frequencies[MICA_DENOISER_WIDEST / 2];
  const int64_t half = width / 2;
  for (int64_t i = 0; i < half; i++) frequencies[i] = (float)exp(-log(LONGEST) * (double)i / (double)half);
  mica_value row = mica_constant(time.graph, MICA_F32, MICA_SHAPE(1, half), frequencies);
  mica_value angles = mica_mul(mica_unsqueeze(mica_cast(time, MICA_F32), MICA_AXES(1)), row);
  return mica_concat((mica_value[]){mica_cos(angles), mica_sin(angles)}, 2, 1);
}

/* The embedding of time and class, activated. */
static mica_value embed(const building *b, mica_value time, mica_value label) {
  const int64_t units = 4 * b->c.width;
  mica_value e = dense(b, "time_embedding.linear_1", waves(time, b->c.width), units, false);
  e = dense(b, "time_embedding.linear_2", mica_silu(e), units, false);
  if (b->c.classes) e = mica_add(e, mica_nn_embedding(b->nn, "class_embedding", label, b->c.classes, units, NULL));
  return mica_silu(e);
}

/* Runs the levels from the finest to the coarsest. Appends the result of each block and of each downsampling to
 * `skips`. */
static mica_value go_down(const building *b, mica_value x, mica_value *skips, int *count) {
  for (int64_t level = 0; level <= b->c.depth; level++) {
    char scope[32];
    snprintf(scope, sizeof scope, "down_blocks.%lld", (long long)level);
    mica_nn_push(b->nn, scope);
    for (int64_t i = 0; i < b->c.blocks; i++) {
      x = residual(b, "resnets", i, x, channels_of(b, level));
      if (level == b->c.depth) x = attention(b, "attentions", i, x);
      skips[(*count)++] = x;
    }
    if (level < b->c.depth) {
      x = conv(b, "downsamplers.0.conv", x, channels_of(b, level), 3, 2, false);
      skips[(*count)++] = x;
    }
    mica_nn_pop(b->nn);
  }
  return x;
}

static mica_value go_up(const building *b, mica_value x, const mica_value *skips, int count) {
  for (int64_t level = b->c.depth; level >= 0; level--) {
    char scope[32];
    snprintf(scope, sizeof scope, "up_blocks.%lld", (long long)(b->c.depth - level));
    mica_nn_push(b->nn, scope);
    for (int64_t i = 0; i <= b->c.blocks; i++) {
      x = mica_concat((mica_value[]){x, skips[--count]}, 2, 1);
      x = residual(b, "resnets", i, x, channels_of(b, level));
      if (level == b->c.depth) x = attention(b, "attentions", i, x);
    }
    if (level) x = conv(b, "upsamplers.0.conv", twice_as_large(x), channels_of(b, level), 3, 1, false);
    mica_nn_pop(b->nn);
  }
  return x;
}

static int64_t usual_depth(int64_t H, int64_t W) {
  int64_t depth = 0;
  while (depth < USUAL_DEPTH && !((H | W) >> depth & 1) && (H < W ? H : W) >> (depth + 1) >= LEAST_SIDE) depth++;
  return depth;
}

/* Fills in defaults for zeros. False, with an error in the graph, if something does not fit. */
static bool complete(mica_value x, mica_denoiser_config *c) {
  const mica_shape s = mica_value_shape(x);
  if (s.rank != 4 || s.dim[1] < 1 || s.dim[2] < 1 || s.dim[3] < 1) {
    char text[MICA_SHAPE_TEXT];
    mica__graph_fail(x.graph, MICA_E_SHAPE, "denoiser: the input is %s, but must be (N, C, H, W) with C, H and W known",
                     mica_shape_format(s, text));
    return false;
  }
  if (!c->width) c->width = USUAL_WIDTH;
  if (!c->blocks) c->blocks = 1;
  if (c->width < 2 || c->width > MICA_DENOISER_WIDEST || c->width % 2 || c->blocks < 1 || c->blocks > MOST_BLOCKS ||
      c->classes < 0 || c->groups < 0 || c->head < 0 || c->depth < 0 || c->depth > MOST_DEPTH ||
      !(c->dropout >= 0 && c->dropout < 1)) {
    mica__graph_fail(
        x.graph, MICA_E_INVALID,
        "denoiser: width (%lld) must be even and 2 to %d, blocks (%lld) 1 to %d, depth (%lld) 0 to %d, dropout "
        "(%g) at least 0 and below 1, and classes (%lld), groups (%lld) and head (%lld) 0 or above",
        (long long)c->width, MICA_DENOISER_WIDEST, (long long)c->blocks, MOST_BLOCKS, (long long)c->depth, MOST_DEPTH,
        (double)c->dropout, (long long)c->classes, (long long)c->groups, (long long)c->head);
    return false;
  }
  if (!c->depth) c->depth = usual_depth(s.dim[2], s.dim[3]);
  const int64_t multiple = (int64_t)1 << c->depth;
  if (c->depth && s.dim[2] % multiple == 0 && s.dim[3] % multiple == 0) return true;
  mica__graph_fail(x.graph, MICA_E_SHAPE, "denoiser: pictures of %lld x %lld pixels cannot be halved evenly %lld times",
                   (long long)s.dim[2], (long long)s.dim[3], (long long)(c->depth ? c->depth : 1));
  return false;
}

mica_value mica_denoiser_build(mica_nn *nn, mica_value x, mica_value time, mica_value label,
                               const mica_denoiser_config *config) {
  building b = {.nn = nn, .c = config ? *config : (mica_denoiser_config){0}};
  mica_value skips[(MOST_DEPTH + 1) * (MOST_BLOCKS + 1) + 1];
  int count = 0;
  if (mica__nn_missing(nn, "denoiser", x) || !x.graph || !time.graph) return null_value;
  if (!complete(x, &b.c)) return null_value;
  if (b.c.classes && !label.graph)
    return mica__graph_fail(x.graph, MICA_E_INVALID, "denoiser: a network with classes needs a label per picture");
  const int64_t channels = mica_value_shape(x).dim[1];
  b.time = embed(&b, time, label);
  x = conv(&b, "conv_in", x, b.c.width, 3, 1, false);
  skips[count++] = x;
  x = go_down(&b, x, skips, &count);
  mica_nn_push(nn, "mid_block");
  x = residual(&b, "resnets", 0, x, channels_of(&b, b.c.depth));
  x = attention(&b, "attentions", 0, x);
  x = residual(&b, "resnets", 1, x, channels_of(&b, b.c.depth));
  mica_nn_pop(nn);
  x = go_up(&b, x, skips, count);
  x = conv(&b, "conv_out", mica_silu(norm(&b, "conv_norm_out", x)), channels, 3, 1, true);
  return mica_value_dtype(x) == MICA_F32 || !x.graph ? x : mica_cast(x, MICA_F32);
}
