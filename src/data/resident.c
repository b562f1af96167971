/* Samples resident on the device. A thread copies them, since the caller goes on to build a network. A
 * batch gathered from them takes less time than its upload would, and the host may be ahead of the device. */
#include "base/clock.h"
#include "data/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mica__resident {
  const mica_loader *loader;
  mica_tensor *x, *labels; /* of all samples, in the dataset's order */
  void *mapped;            /* x mapped for filling; NULL once it is unmapped */
  pthread_t thread;
  bool threaded; /* `thread` fills x */
};

/* Fills x. It cannot fail if the dataset holds its samples in memory. */
static mica_status fill(mica__resident *r) {
  const mica_loader *loader = r->loader;
  const mica_dataset *dataset = loader->dataset;
  const uint64_t count = mica_dataset_count(dataset);
  mica_status status = MICA_OK;
  if (!loader->rows && dataset->store->input && !dataset->map && dataset->store->stride == loader->sample_bytes)
    memcpy(r->mapped, dataset->store->input, (size_t)count * loader->sample_bytes);
  else
    for (uint64_t i = 0; status == MICA_OK && i < count; i++)
      status = mica__loader_sample(loader, i, (uint8_t *)r->mapped + i * loader->sample_bytes);
  return status;
}

static void *fill_in_thread(void *user) {
  (void)fill(user);
  return NULL;
}

static mica_status make_labels(mica__resident *r, uint64_t count) {
  int32_t *labels = malloc((size_t)count * sizeof *labels);
  if (!labels) return mica__fail_nomem("labels");
  for (uint64_t i = 0; i < count; i++) labels[i] = mica__loader_label(r->loader, i);
  mica_status status =
      mica_tensor_create_from(r->loader->engine, MICA_I32, MICA_SHAPE((int64_t)count), labels, &r->labels);
  free(labels);
  return status;
}

static mica_status fill_resident(mica__resident *r) {
  const mica_loader *loader = r->loader;
  const uint64_t count = mica_dataset_count(loader->dataset);
  MICA_TRY(make_labels(r, count));
  MICA_TRY(mica_tensor_create(loader->engine, loader->sample_dtype, mica__loader_shape(loader, (int64_t)count), &r->x));
  MICA_TRY(mica_tensor_map(mica_engine_queue(loader->engine), r->x, MICA_MAP_MODE_WRITE, &r->mapped));
  /* Files are decoded by the caller, so that an unreadable one fails the creation of the loader. */
  r->threaded = loader->dataset->store->input && pthread_create(&r->thread, NULL, fill_in_thread, r) == 0;
  return r->threaded ? MICA_OK : fill(r);
}

/* Waits for the thread and unmaps x. */
static mica_status finish(mica__resident *r, mica_queue *queue) {
  void *mapped = r->mapped;
  if (r->threaded) pthread_join(r->thread, NULL);
  r->threaded = false;
  r->mapped = NULL;
  return mapped ? mica_tensor_unmap(queue, r->x, mapped) : MICA_OK;
}

mica_status mica__resident_create(const mica_loader *loader, mica__resident **out) {
  mica__resident *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("samples on the device");
  r->loader = loader;
  mica_status status = fill_resident(r);
  if (status == MICA_OK)
    *out = r;
  else
    mica__resident_destroy(r);
  return status;
}

void mica__resident_destroy(mica__resident *r) {
  if (!r) return;
  (void)finish(r, mica_engine_queue(r->loader->engine));
  mica_tensor_destroy(r->x);
  mica_tensor_destroy(r->labels);
  free(r);
}

mica_status mica__resident_take(mica__resident *r, mica_queue *queue, const mica_tensor **x, const mica_tensor **labels,
                                double *waited) {
  const double start = mica__clock();
  *waited = 0;
  *x = r->x;
  *labels = r->labels;
  if (!r->mapped) return MICA_OK;
  mica_status status = finish(r, queue);
  *waited = mica__clock() - start;
  return status;
}
