#include "nn/zoo/zoo.h"

#include "ir/graph.h"

#include <stdlib.h>

typedef struct entry {
  const char *name, *text;
  mica_value (*build)(mica_nn *nn, mica_value x, const mica_model_config *config);
  mica_model_family family;
  int64_t channels, side; /* of the images it was published for */
} entry;

static const entry entries[] = {
#define ZOO(name, family, text, channels, side)                                                                        \
  {#name, text, mica__zoo_##name, MICA_MODEL_FAMILY_##family, channels, side},
#include "nn/zoo/zoo.def"
#undef ZOO
};
static const char *const names[] = {
#define ZOO(name, family, text, channels, side) #name,
#include "nn/zoo/zoo.def"
#undef ZOO
};
#define ENTRIES (sizeof entries / sizeof *entries)
/* Images with sides up to this get the small stem. */
#define SMALL_IMAGE 64

const char *mica_model_name(size_t index) { return index < ENTRIES ? entries[index].name : NULL; }
const char *mica_model_text(size_t index) { return index < ENTRIES ? entries[index].text : NULL; }

mica_model_family mica_model_family_of(size_t index) {
  return index < ENTRIES ? entries[index].family : MICA_MODEL_FAMILY_IMAGE;
}

const char *mica_model_family_name(mica_model_family family) {
  static const char *const texts[] = {
#define FAMILY_TEXT(name, text) text,
      MICA_MODEL_FAMILY_LIST(FAMILY_TEXT)};
  return (unsigned)family < sizeof texts / sizeof *texts ? texts[family] : "?";
}

/* False, with an error in the graph, if x is not a valid input of the network's family. */
static bool takes(const entry *network, mica_value x) {
  mica_shape shape = mica_value_shape(x);
  mica_dtype dtype = mica_value_dtype(x);
  mica_dtype_kind kind = mica_dtype_kind_of(dtype);
  const char *wanted = NULL;
  char text[MICA_SHAPE_TEXT];
  switch (network->family) {
  case MICA_MODEL_FAMILY_IMAGE:
    if (shape.rank == 5 && network->build == mica__zoo_unet && kind == MICA_DTYPE_KIND_FLOAT) break;
    if (shape.rank != 4 || shape.dim[2] < 1 || shape.dim[3] < 1 || kind != MICA_DTYPE_KIND_FLOAT)
      wanted = network->build == mica__zoo_unet ? "float images (N, C, H, W) or (N, C, D, H, W), with H and W known"
                                                : "float images (N, C, H, W), with H and W known";
    break;
  case MICA_MODEL_FAMILY_TABLE:
    if (shape.rank < 2 || kind != MICA_DTYPE_KIND_FLOAT) wanted = "float rows (N, ...)";
    break;
  case MICA_MODEL_FAMILY_TOKENS:
    if (shape.rank == 3 && kind == MICA_DTYPE_KIND_FLOAT) break;
    if (shape.rank != 2 || (dtype != MICA_I32 && dtype != MICA_I64))
      wanted = "i32 or i64 tokens (N, T), or float sequences (N, T, F)";
    break;
  }
  if (wanted)
    mica__graph_fail(x.graph, MICA_E_SHAPE, "%s: the input must be %s, not %s %s", network->name, wanted,
                     mica_dtype_name(dtype), mica_shape_format(shape, text));
  return !wanted;
}

mica_value mica_model_build(mica_nn *nn, mica_value x, const void *config) {
  mica_model_config c = config ? *(const mica_model_config *)config : (mica_model_config){0};
  mica_shape shape = mica_value_shape(x);
  int32_t found = 0;
  if (mica__nn_missing(nn, "model", x) || mica_value_is_null(x)) return (mica_value){0};
  mica_status status = mica__name_find("model", c.name ? c.name : "", names, ENTRIES, &found);
  if (status != MICA_OK) return mica__graph_fail_with(x.graph, status);
  if (!takes(&entries[found], x)) return (mica_value){0};
  if (c.stem < MICA_STEM_AUTO || c.stem > MICA_STEM_LARGE)
    return mica__graph_fail(x.graph, MICA_E_INVALID, "%s: the stem is %d, but must be 0 to %d",
                            c.name ? c.name : "model", (int)c.stem, (int)MICA_STEM_LARGE);
  bool small =
      entries[found].family == MICA_MODEL_FAMILY_IMAGE && shape.dim[2] <= SMALL_IMAGE && shape.dim[3] <= SMALL_IMAGE;
  if (c.classes == 0) c.classes = 10;
  if (c.stem == MICA_STEM_AUTO) c.stem = small ? MICA_STEM_SMALL : MICA_STEM_LARGE;
  return entries[found].build(nn, x, &c);
}

mica_value mica__zoo_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride,
                          int64_t groups, bool bias) {
  int64_t pad = size / 2;
  mica_nn_conv_config c = {.how = {.stride = {stride, stride}, .pad = {pad, pad}, .groups = groups},
                           .no_bias = !bias,
                           .weight = {.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.4142135623730951, .fan_out = true}};
  return mica_nn_conv(nn, name, x, filters, size, &c);
}

mica_value mica__zoo_max_pool(mica_value x, int64_t size, int64_t stride, int64_t pad) {
  return mica_max_pool(x, &(mica_pool_config){.size = {size, size}, .stride = {stride, stride}, .pad = {pad, pad}});
}

mica_value mica__zoo_pool_all(mica_value x) { return mica_mean(x, MICA_AXES(2, 3), false); }

mica_value mica__zoo_classifier(mica_nn *nn, const char *name, mica_value x, int64_t units) {
  return mica_nn_dense(nn, name, x, units, &(mica_dense_config){.weight = {.kind = MICA_INIT_NORMAL, .value = 0.01}});
}

/* --- models with a session --- */

struct mica_model {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
};

static mica_status build(mica_engine *engine, const mica_model_config *c, mica_model_family family, mica_model *m) {
  mica_dtype dtype = family == MICA_MODEL_FAMILY_TOKENS ? MICA_I32 : MICA_F32;
  mica_shape shape = {.rank = c->input.rank + 1, .dim = {MICA_DYNAMIC}};
  if (c->input.rank < 1 || c->input.rank >= MICA_MAX_RANK)
    return mica__fail(MICA_E_SHAPE, "mica_model_create: the input's rank is %d, but must be 1 to %d",
                      (int)c->input.rank, MICA_MAX_RANK - 1);
  for (int32_t i = 0; i < c->input.rank; i++) shape.dim[i + 1] = c->input.dim[i];
  MICA_TRY(mica_graph_create(&m->graph));
  MICA_TRY(mica_nn_create(m->graph, NULL, &m->nn));
  mica_value z = mica_model_build(m->nn, mica_input(m->graph, "inputs", dtype, shape), c);
  MICA_TRY(mica_session_create(engine, m->graph, &z, 1, NULL, &m->session));
  return c->blank ? MICA_OK : mica_nn_initialise(m->nn, m->session);
}

mica_status mica_model_create(mica_engine *engine, const char *name, const mica_model_config *config,
                              mica_model **out) {
  if (!engine || !name || !out) return mica__fail(MICA_E_INVALID, "mica_model_create: engine, name or model is NULL");
  mica_model_config c = config ? *config : (mica_model_config){0};
  int32_t found = 0;
  MICA_TRY(mica__name_find("model", name, names, ENTRIES, &found));
  c.name = name;
  const entry *known = &entries[found];
  if (c.input.rank == 0 && known->family == MICA_MODEL_FAMILY_TOKENS)
    c.input = MICA_SHAPE(known->side ? known->side : MICA_DYNAMIC);
  else if (c.input.rank == 0)
    c.input = MICA_SHAPE(known->channels, known->side, known->side);
  mica_model *m = calloc(1, sizeof *m);
  if (!m) return mica__fail_nomem("a model");
  mica_status status = build(engine, &c, known->family, m);
  if (status == MICA_OK)
    *out = m;
  else
    mica_model_destroy(m);
  return status;
}

void mica_model_destroy(mica_model *m) {
  if (!m) return;
  mica_session_destroy(m->session);
  mica_nn_destroy(m->nn);
  mica_graph_destroy(m->graph);
  free(m);
}

mica_nn *mica_model_network(mica_model *m) { return m->nn; }
mica_session *mica_model_session(mica_model *m) { return m->session; }
