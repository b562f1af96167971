#include "run/verbs/model_feeds.h"
#include "run/columns/kinds.h"

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "run/composed.h"
#include "run/run.h"
#include "run/settings.h"

#include <mica/data.h>
#include <mica/io.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES 512
/* How many samples the model computes at once if it accepts any number. */
#define BATCH 16
#define MOST_CHANNELS 4096

/* The array of an input, and the part of it that is on the device. */
typedef struct array {
  mica_dtype dtype;
  mica_shape shape;
  unsigned char *data;
  size_t row; /* bytes of a sample */
} array;

struct mica__model_feeds {
  mica_engine *engine;
  size_t count; /* inputs */
  mica_onnx_feed *list;
  array *arrays; /* NULL if the samples come from a dataset */
  mica_tensor **tensors;
  mica_dataset *data;
  mica_loader *loader;
  mica_batch_source source;
  char *column;
  int64_t batch, at, samples;
};

void mica__model_feeds_close(mica__model_feeds *f) {
  if (!f) return;
  mica_loader_destroy(f->loader);
  mica_dataset_destroy(f->data);
  for (size_t i = 0; i < f->count; i++) {
    if (f->tensors) mica_tensor_destroy(f->tensors[i]);
    if (f->arrays) mica_free(f->arrays[i].data);
  }
  free(f->tensors);
  free(f->arrays);
  free(f->list);
  free(f->column);
  free(f);
}

/* --- arrays --- */

/* Returns "FOLDER/NAME.npy"; letters that cannot be in a plain file name become '_'. The caller frees it. */
static char *path_of(const char *folder, const char *name) {
  mica__text text = {0};
  mica__text_addf(&text, "%s/", folder);
  const size_t begin = text.data ? strlen(text.data) : 0;
  mica__text_addf(&text, "%s.npy", name);
  if (text.failed) return NULL;
  for (char *c = text.data + begin; *c; c++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *c)) *c = '_';
  return text.data;
}

/* True if the folder has an array for each input. */
static bool has_arrays(const mica_onnx *model, const char *folder) {
  size_t count = mica_onnx_input_count(model), found = 0;
  for (size_t i = 0; i < count; i++) {
    char *path = path_of(folder, mica_onnx_input(model, i).name);
    found += path && access(path, F_OK) == 0;
    free(path);
  }
  return count && found == count;
}

/* Checks that samples of this shape fit the model's input. */
static mica_status check_shape(const char *from, const mica_onnx_port *port, mica_shape shape) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  bool fits = !port->has_shape || port->shape.rank == shape.rank;
  shape.dim[0] = MICA_DYNAMIC;
  for (int32_t k = 1; fits && port->has_shape && k < shape.rank; k++)
    fits = port->shape.dim[k] == MICA_DYNAMIC || port->shape.dim[k] == shape.dim[k];
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the input '%.80s' is %s, but the samples of %s are %s", port->name,
                    mica_shape_format(port->shape, want), from, mica_shape_format(shape, is));
}

static mica_status read_array(mica__model_feeds *f, const mica_onnx *model, const char *folder, size_t i) {
  const mica_onnx_port port = mica_onnx_input(model, i);
  array *a = &f->arrays[i];
  void *data = NULL;
  char *path = path_of(folder, port.name);
  mica_status status = path ? mica_npy_read(path, &a->dtype, &a->shape, &data) : mica__fail_nomem("samples");
  a->data = data;
  if (status == MICA_OK && !a->shape.rank)
    status = mica__fail(MICA_E_FORMAT, "%s is a single number, but must have samples along its first axis", path);
  if (status == MICA_OK && port.has_dtype && port.dtype != a->dtype)
    status = mica__fail(MICA_E_FORMAT, "%s holds %s, but the input '%.80s' is %s", path, mica_dtype_name(a->dtype),
                        port.name, mica_dtype_name(port.dtype));
  if (status == MICA_OK) status = check_shape(path, &port, a->shape);
  if (status == MICA_OK && a->shape.dim[0] < f->samples) f->samples = a->shape.dim[0];
  a->row = mica_dtype_size(a->dtype);
  for (int32_t k = 1; k < a->shape.rank; k++) a->row *= (size_t)a->shape.dim[k];
  free(path);
  return status;
}

static mica_status open_arrays(mica__model_feeds *f, const mica_onnx *model, const char *folder) {
  f->arrays = calloc(f->count, sizeof *f->arrays);
  f->tensors = calloc(f->count, sizeof *f->tensors);
  if (!f->arrays || !f->tensors) return mica__fail_nomem("samples");
  for (size_t i = 0; i < f->count; i++) MICA_TRY(read_array(f, model, folder, i));
  return MICA_OK;
}

static mica_status next_arrays(mica__model_feeds *f, int64_t count) {
  for (size_t i = 0; i < f->count; i++) {
    const array *a = &f->arrays[i];
    mica_shape shape = a->shape;
    shape.dim[0] = count;
    mica_tensor_destroy(f->tensors[i]);
    f->tensors[i] = NULL;
    const unsigned char *data = a->data + (size_t)f->at * a->row;
    f->list[i].dtype = a->dtype;
    f->list[i].shape = shape;
    f->list[i].data = data;
    if (a->dtype != MICA_F32) continue;
    MICA_TRY(mica_tensor_create_from(f->engine, MICA_F32, shape, data, &f->tensors[i]));
    f->list[i].tensor = f->tensors[i];
  }
  return MICA_OK;
}

/* --- datasets --- */

/* Reads the numbers of metadata such as "[0.5, 0.5]"; returns how many there are. */
static size_t numbers_of(const char *text, float *numbers) {
  size_t count = 0;
  while (text && *text && count < MOST_CHANNELS) {
    char *end = NULL;
    const double number = mica__strtod(text, &end);
    if (end != text) numbers[count++] = (float)number;
    text = end != text ? end : text + 1;
  }
  return count;
}

/* Sets the means and deviations of the channels: those that the caller gives or, without such, those in the model's
 * metadata. If these have none, the means are 0 and the deviations 1. */
static mica_status take_scale(const mica_onnx *model, const mica_onnx_quantize_config *c, size_t channels, float *mean,
                              float *deviation) {
  const size_t means = numbers_of(mica_onnx_metadata(model, "mean"), mean),
               deviations = numbers_of(mica_onnx_metadata(model, "deviation"), deviation);
  const bool own = means && means == deviations;
  const size_t count = c->channels ? c->channels : own ? means : 1;
  if (count != 1 && count != channels)
    return mica__fail(MICA_E_FORMAT, "there are means and deviations for %zu channels, but the samples have %zu", count,
                      channels);
  for (size_t k = 0; k < channels; k++) {
    const size_t at = count == 1 ? 0 : k;
    mean[k] = c->channels ? (float)c->mean[at] : own ? mean[at] : 0;
    deviation[k] = c->channels ? (float)c->deviation[at] : own ? deviation[at] : 1;
  }
  return MICA_OK;
}

/* The column that provides the samples: the first one of pictures or numbers. */
static const mica_column *find_column(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    const bool takes = column->kind == MICA_COLUMN_KIND_IMAGE || column->kind == MICA_COLUMN_KIND_NUMBER;
    if (takes && column->shape.rank > 0 && column->shape.dim[0] != MICA_DYNAMIC) return column;
  }
  return NULL;
}

static mica_status load(mica__model_feeds *f, const mica_onnx *model, const mica_onnx_quantize_config *c) {
  const mica_onnx_port port = mica_onnx_input(model, 0);
  const mica_column *column = find_column(f->data);
  if (!column)
    return mica__fail(MICA_E_FORMAT, "%s has no column of pictures or numbers for the input '%.80s'", c->data,
                      port.name);
  mica_shape shape = {.rank = column->shape.rank + 1};
  if (shape.rank > MICA_MAX_RANK)
    return mica__fail(MICA_E_FORMAT, "the samples of %s have %d dimensions, but may have at most %d", c->data,
                      (int)column->shape.rank, MICA_MAX_RANK - 1);
  memcpy(shape.dim + 1, column->shape.dim, (size_t)column->shape.rank * sizeof *shape.dim);
  MICA_TRY(check_shape(c->data, &port, shape));
  f->column = mica__strdup(column->name);
  const size_t channels = (size_t)column->shape.dim[0];
  const size_t room = channels < MOST_CHANNELS ? MOST_CHANNELS : channels;
  float *scale = calloc(2 * room, sizeof *scale);
  mica_status status =
      f->column && scale ? take_scale(model, c, channels, scale, scale + room) : mica__fail_nomem("samples");
  /* Samples are shuffled, because the data may be sorted by class. */
  const mica_loader_config how = {
      .batch = f->batch, .shuffle = true, .mean = scale, .deviation = scale + room, .residence = MICA_RESIDENCE_STREAM};
  if (status == MICA_OK) status = mica_loader_create(f->engine, f->data, &how, &f->loader);
  free(scale);
  if (status == MICA_OK) f->source = mica_loader_source(f->loader);
  return status;
}

/* True for a task that answers with numbers. */
static bool has_numbers(const char *name) {
  for (size_t i = 0; name && mica__task_at(i); i++)
    if (!strcmp(mica__task_at(i)->name, name)) return mica__task_at(i)->head && mica__task_at(i)->head->numbers;
  return false;
}

/* Opens the training part; the test part if the data have no training part. */
static mica_status open_dataset(mica__model_feeds *f, const mica_onnx *model, const mica_onnx_quantize_config *c) {
  const mica_onnx_port port = mica_onnx_input(model, 0);
  mica_dataset_config how = {.part = MICA_PART_TRAIN, .regression = has_numbers(mica_onnx_metadata(model, "task"))};
  if (f->count != 1 || port.kind != MICA_ONNX_KIND_TENSOR || !port.has_dtype || port.dtype != MICA_F32)
    return mica__fail(
        MICA_E_FORMAT,
        "the model does not have exactly one input of f32; give a folder with one file per input, such as "
        "FOLDER/%.80s.npy",
        f->count ? port.name : "NAME");
  if (port.has_shape && port.shape.rank == 4) {
    how.channels = port.shape.dim[1] > 0 ? (int32_t)port.shape.dim[1] : 0;
    how.height = port.shape.dim[2] > 0 ? (int32_t)port.shape.dim[2] : 0;
    how.width = port.shape.dim[3] > 0 ? (int32_t)port.shape.dim[3] : 0;
  }
  mica__text bases = {0};
  mica_status status =
      mica__bases_parse(mica_onnx_metadata(model, "bases"), mica_onnx_metadata(model, "columns"), &bases);
  how.bases = bases.data;
  if (status == MICA_OK) status = mica_dataset_open(c->data, &how, &f->data);
  how.part = MICA_PART_TEST;
  if (status == MICA_E_NOT_FOUND) status = mica_dataset_open(c->data, &how, &f->data);
  mica__text_free(&bases);
  MICA_TRY(status);
  const int64_t there = (int64_t)mica_dataset_count(f->data);
  if (there < f->samples) f->samples = there;
  return load(f, model, c);
}

static mica_status next_batch(mica__model_feeds *f) {
  mica_batch batch = {0};
  MICA_TRY(f->source.next(f->source.user, mica_engine_queue(f->engine), &batch));
  for (size_t i = 0; i < batch.tensor_count; i++)
    if (!strcmp(batch.tensors[i].name, f->column)) f->list[0].tensor = batch.tensors[i].tensor;
  return batch.count && f->list[0].tensor
             ? MICA_OK
             : mica__fail(MICA_E_FORMAT, "the data ended before all samples for calibration were read");
}

/* --- both --- */

static mica_status open_feeds(mica__model_feeds *f, const mica_onnx *model, const mica_onnx_quantize_config *c) {
  const mica_onnx_port first = mica_onnx_input(model, 0);
  const bool fixed = first.has_shape && first.shape.rank && first.shape.dim[0] != MICA_DYNAMIC;
  f->list = calloc(f->count + 1, sizeof *f->list);
  if (!f->list) return mica__fail_nomem("samples");
  for (size_t i = 0; i < f->count; i++) f->list[i].name = mica_onnx_input(model, i).name;
  f->samples = c->samples ? c->samples : SAMPLES;
  f->batch = fixed ? first.shape.dim[0] : BATCH;
  MICA_TRY(has_arrays(model, c->data) ? open_arrays(f, model, c->data) : open_dataset(f, model, c));
  if (!fixed && f->batch > f->samples) f->batch = f->samples;
  if (f->batch > 0 && f->samples >= f->batch) return MICA_OK;
  if (f->samples < 1)
    return mica__fail(MICA_E_FORMAT, "%s gives %lld samples to calibrate with, but at least 1 is needed", c->data,
                      (long long)f->samples);
  return mica__fail(MICA_E_FORMAT, "%s gives %lld samples to calibrate with, but the model takes %lld at once", c->data,
                    (long long)f->samples, (long long)f->batch);
}

mica_status mica__model_feeds_open(mica_engine *engine, const mica_onnx *model, const mica_onnx_quantize_config *c,
                                   mica__model_feeds **out) {
  mica__model_feeds *f = calloc(1, sizeof *f);
  if (!f) return mica__fail_nomem("samples");
  f->engine = engine;
  f->count = mica_onnx_input_count(model);
  mica_status status = open_feeds(f, model, c);
  if (status == MICA_OK)
    *out = f;
  else
    mica__model_feeds_close(f);
  return status;
}

mica_status mica__model_feeds_next(mica__model_feeds *f, const mica_onnx_feed **list, size_t *count) {
  *count = 0;
  if (f->at + f->batch > f->samples) return MICA_OK;
  MICA_TRY(f->arrays ? next_arrays(f, f->batch) : next_batch(f));
  f->at += f->batch;
  *list = f->list;
  *count = f->count;
  return MICA_OK;
}
