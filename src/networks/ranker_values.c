/* Values of pairs: for predictions, and to rank items that are scored pair by pair. */
#include "networks/ranker.h"

#include <stdlib.h>

/* The contents of a batch. */
typedef struct columns {
  mica__recommender network;
  int64_t width; /* sum of the widths of all sets */
  int32_t *ids;  /* users, items, categories, sets, lengths */
  float *numbers;
  mica_tensor *tensors[6];
  mica_feed feeds[6];
  size_t count;
} columns;

static mica_status add_tensor(mica_engine *engine, columns *c, const char *name, mica_dtype dtype, mica_shape shape,
                              const void *data) {
  mica_tensor **tensor = &c->tensors[c->count];
  MICA_TRY(mica_tensor_create(engine, dtype, shape, tensor));
  c->feeds[c->count++] = (mica_feed){name, *tensor};
  return mica_tensor_upload(mica_engine_queue(engine), *tensor, data, mica_tensor_bytes(*tensor));
}

static mica_status make_columns(mica_engine *engine, const mica__features *f, const mica__interaction *pairs, size_t n,
                                columns *c) {
  const mica__recommender *r = &c->network;
  const int64_t count = (int64_t)n;
  for (int64_t s = 0; s < r->sets; s++) c->width += r->set_width[s];
  c->ids = calloc(n * (size_t)(2 + r->categories + c->width + r->sets) + 1, sizeof *c->ids);
  c->numbers = calloc(n * (size_t)r->numbers + 1, sizeof *c->numbers);
  if (!c->ids || !c->numbers) return mica__fail_nomem("pairs");
  int32_t *users = c->ids, *items = users + n, *categories = items + n, *sets = categories + count * r->categories;
  int32_t *lengths = sets + count * c->width;
  for (int64_t i = 0; i < count; i++) {
    users[i] = pairs[i].user;
    items[i] = pairs[i].item;
    mica__features_encode(f, &pairs[i].rows, c->numbers + i * r->numbers, categories + i * r->categories,
                          sets + i * c->width, lengths + i * r->sets);
  }
  MICA_TRY(add_tensor(engine, c, "user", MICA_I32, MICA_SHAPE(count), users));
  MICA_TRY(add_tensor(engine, c, "item", MICA_I32, MICA_SHAPE(count), items));
  if (r->numbers) MICA_TRY(add_tensor(engine, c, "numbers", MICA_F32, MICA_SHAPE(count, r->numbers), c->numbers));
  if (r->categories)
    MICA_TRY(add_tensor(engine, c, "categories", MICA_I32, MICA_SHAPE(count, r->categories), categories));
  if (!r->sets) return MICA_OK;
  MICA_TRY(add_tensor(engine, c, "sets", MICA_I32, MICA_SHAPE(count, c->width), sets));
  return add_tensor(engine, c, "set_lengths", MICA_I32, MICA_SHAPE(count, r->sets), lengths);
}

mica_status mica__ranker_values(const mica__ranker *r, const mica__features *f, const mica__interaction *pairs,
                                size_t n, float *values) {
  columns c = {.network = r->network};
  mica_status status = make_columns(r->engine, f, pairs, n, &c);
  const mica_batch batch = {.count = (int64_t)n, .tensors = c.feeds, .tensor_count = c.count};
  if (status == MICA_OK) status = mica_trainer_predict(r->trainer, &batch);
  const mica_tensor *value = status == MICA_OK ? mica_trainer_output(r->trainer, "value") : NULL;
  if (status == MICA_OK && !value)
    status = mica__fail(MICA_E_STATE, "the network has no output 'value', so it cannot rate items");
  if (value) status = mica_tensor_download(mica_engine_queue(r->engine), value, values, n * sizeof *values);
  for (size_t i = 0; i < sizeof c.tensors / sizeof *c.tensors; i++) mica_tensor_destroy(c.tensors[i]);
  free(c.ids);
  free(c.numbers);
  return status;
}
