#include "run/board.h"
#include "run/config.h"
#include "run/state/parts.h"
#include "run/state/record.h"

#include <mica/nn.h>
#include <mica/session.h>
#include <mica/tensor.h>
#include <stdlib.h>
#include <string.h>

/* The most pictures along each side of the grid, and the largest side of a picture in pixels. */
enum { SIDE = 4, MOST_PIXELS = 512 };

static mica_status add_settings(const mica_run *run) {
  mica__text config = {0}, text = {0};
  mica__run_config_text(run, run->data, &config);
  mica_status status = mica__text_status(&config);
  if (status == MICA_OK) mica__text_addf(&text, "```json\n%s```\n", config.data);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_events_text(run->record->events, "config.json", 0, text.data);
  mica__text_free(&config);
  mica__text_free(&text);
  return status;
}

/* --- pictures --- */

#if MICA_WITH_PNG
/* Copies the planes of a picture into its cell of the grid. */
static void copy_planes(const uint8_t *picture, const int64_t *chw, int index, uint8_t *grid) {
  const int64_t across = chw[2] * SIDE, from = index / SIDE * chw[1] * across + index % SIDE * chw[2];
  for (int64_t c = 0; c < chw[0]; c++)
    for (int64_t r = 0; r < chw[1]; r++)
      memcpy(grid + (c * chw[1] * SIDE + r) * across + from, picture + (c * chw[1] + r) * chw[2], (size_t)chw[2]);
}

static mica_status fill_grid(const mica_dataset *data, size_t column, const int64_t *chw, uint8_t *picture,
                             uint8_t *grid) {
  const size_t bytes = (size_t)(chw[0] * chw[1] * chw[2]);
  for (int i = 0; i < SIDE * SIDE && (uint64_t)i < mica_dataset_count(data); i++) {
    MICA_TRY(mica_dataset_read(data, column, (uint64_t)i, picture, bytes));
    copy_planes(picture, chw, i, grid);
  }
  return MICA_OK;
}

static mica_status add_grid(const mica_run *run, const mica_dataset *data, size_t column, const int64_t *chw) {
  const mica_shape shape = MICA_SHAPE(chw[0], chw[1] * SIDE, chw[2] * SIDE);
  const size_t bytes = (size_t)(chw[0] * chw[1] * chw[2]);
  uint8_t *picture = malloc(bytes), *grid = calloc(SIDE * SIDE, bytes), *png = NULL;
  size_t size = 0;
  mica_status status = picture && grid ? fill_grid(data, column, chw, picture, grid) : mica__fail_nomem("pictures");
  if (status == MICA_OK) status = mica_png_encode(grid, shape, &png, &size);
  if (status == MICA_OK) {
    const mica_events_picture shown = {.data = png,
                                       .bytes = size,
                                       .height = (int32_t)shape.dim[1],
                                       .width = (int32_t)shape.dim[2],
                                       .channels = (int32_t)chw[0]};
    status = mica_events_image(run->record->events, "training pictures", 0, &shown);
  }
  mica_free(png);
  free(picture);
  free(grid);
  return status;
}
#endif

/* Writes the first training pictures as one grid. Does nothing unless the samples are pictures of one size, with 1 or 3
 * channels and sides of at most MOST_PIXELS, or without MICA_WITH_PNG. */
static mica_status add_pictures(const mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
#if MICA_WITH_PNG
  const mica_column *column;
  for (size_t k = 0; data && (column = mica_dataset_column(data, k)); k++) {
    const int64_t *chw = column->shape.dim;
    if (column->kind != MICA_COLUMN_KIND_IMAGE || column->dtype != MICA_U8 || column->shape.rank != 3) continue;
    if ((chw[0] != 1 && chw[0] != 3) || chw[1] < 1 || chw[1] > MOST_PIXELS || chw[2] < 1 || chw[2] > MOST_PIXELS)
      continue;
    return add_grid(run, data, k, chw);
  }
#endif
  (void)data;
  return MICA_OK;
}

mica_status mica__board_begin(const mica_run *run) {
  const mica_nn *tested = mica_trainer_test_network(run->trainer);
  if (tested) MICA_TRY(mica_events_graph(run->record->events, mica_nn_graph(tested)));
  MICA_TRY(add_settings(run));
  return add_pictures(run);
}

/* --- weights --- */

static mica_status add_weight(const mica_run *run, const char *name, const mica_tensor *tensor, int64_t step) {
  const size_t bytes = mica_tensor_bytes(tensor), count = bytes / sizeof(float);
  float *values = malloc(bytes + 1);
  if (!values) return mica__fail_nomem("weights");
  mica_status status = mica_tensor_download(mica_engine_queue(run->engine), tensor, values, bytes);
  if (status == MICA_OK) status = mica_events_histogram(run->record->events, name, step, values, count);
  free(values);
  return status;
}

mica_status mica__board_weights(const mica_run *run, int64_t step) {
  const mica_nn *nn = mica_trainer_network(run->trainer);
  if (!nn || mica_nn_element_count(nn, false) > MICA__BOARD_WEIGHTS) return MICA_OK;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    const mica_tensor *tensor = info->role == MICA_NN_ROLE_WEIGHT
                                    ? mica_session_parameter(mica_trainer_session(run->trainer), info->name)
                                    : NULL;
    if (!tensor || mica_tensor_dtype(tensor) != MICA_F32) continue;
    mica__text tag = {0};
    mica__text_addf(&tag, "weights/%s", info->own_name);
    mica_status status = mica__text_status(&tag);
    if (status == MICA_OK) status = add_weight(run, tag.data, tensor, step);
    mica__text_free(&tag);
    MICA_TRY(status);
  }
  return MICA_OK;
}
