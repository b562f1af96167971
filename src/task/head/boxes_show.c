/* The boxes of the task detect on the host: collected over a part to be scored, predicted, drawn and reported. */
#include "base/arith.h"
#include "data/annotation/boxed.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/parts.h"
#include "run/predict/samples.h"
#include "run/state/evaluation.h"
#include "task/head/boxes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST MICA__DETECT_MOST
/* Classes whose scores are metrics of their own. */
#define MOST_NAMED 20
/* Pictures that a report shows. */
#define SHOWN 12

static int64_t dimension(const mica_run *run, int k) { return (int64_t)mica_run_fact_numbers(run, "input", NULL)[k]; }

static size_t classes_of(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "classes", &count);
  return count;
}

/* --- what the network finds --- */

/* The boxes of a batch, in the network's pixels. */
typedef struct found {
  float *boxes, *scores;
  int32_t *classes, *counts;
} found;

static void free_found(found *f) {
  free(f->boxes);
  free(f->scores);
  free(f->classes);
  free(f->counts);
}

static mica_status download(mica_run *run, const char *name, int64_t count, size_t width, void **out) {
  const mica_tensor *tensor = mica_trainer_output(run->trainer, name);
  const size_t bytes = (size_t)count * width * 4;
  *out = malloc(bytes + 1);
  if (!*out) return mica__fail_nomem("boxes");
  if (!tensor || mica_tensor_bytes(tensor) != bytes)
    return mica__fail(MICA_E_STATE, "the network has no output '%s' of %zu bytes", name, bytes);
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *out, bytes);
}

/* Finds the boxes of a batch of pictures of these sizes; tensors that the network does not take are passed over. */
static mica_status find(mica_run *run, const mica_tensor *pictures, const int32_t *sizes, int64_t count, found *f) {
  mica_tensor *shapes = NULL;
  *f = (found){0};
  MICA_TRY(mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(count, 2), sizes, &shapes));
  const mica_feed feeds[] = {{mica__run_fact_text(run, "input_column"), (mica_tensor *)pictures}, {"size", shapes}};
  mica_status status =
      mica_trainer_predict(run->trainer, &(mica_batch){.count = count, .tensors = feeds, .tensor_count = 2});
  if (status == MICA_OK) status = download(run, "boxes", count, 4 * MOST, (void **)&f->boxes);
  if (status == MICA_OK) status = download(run, "scores", count, MOST, (void **)&f->scores);
  if (status == MICA_OK) status = download(run, "classes", count, MOST, (void **)&f->classes);
  if (status == MICA_OK) status = download(run, "count", count, 1, (void **)&f->counts);
  for (int64_t i = 0; status == MICA_OK && i < count; i++)
    if (f->counts[i] < 0 || f->counts[i] > MOST) f->counts[i] = 0;
  mica_tensor_destroy(shapes);
  return status;
}

/* --- scores of a part --- */

/* All boxes of a part. */
typedef struct collected {
  mica_true_box *truths;
  mica_found_box *found;
  size_t truth_count, truth_capacity, found_count, found_capacity;
  int64_t pictures;
} collected;

static bool grow(void *array, size_t wanted, size_t size, size_t *capacity) {
  void **at = array;
  if (wanted <= *capacity) return true;
  const size_t next = wanted > 2 * *capacity ? wanted : 2 * *capacity;
  void *grown = realloc(*at, next * size);
  if (grown) *at = grown, *capacity = next;
  return grown != NULL;
}

/* The columns of a batch that say what is true, downloaded; those that it lacks stay NULL, but for sizes. */
typedef struct truths {
  int64_t rows; /* of boxes of a picture, padded */
  float *boxes, *areas;
  int32_t *labels, *ignored, *sizes;
} truths;

static void free_truths(truths *t) {
  free(t->boxes);
  free(t->areas);
  free(t->labels);
  free(t->ignored);
  free(t->sizes);
}

static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  return NULL;
}

/* Takes a column of `width` elements a picture; one of another form is another column by chance of the name. */
static mica_status take_column(mica_run *run, const mica_batch *batch, const char *name, mica_dtype dtype,
                               int64_t width, void *out) {
  const mica_tensor *tensor = tensor_of(batch, name);
  void **to = out;
  if (!tensor || mica_tensor_dtype(tensor) != dtype || mica_tensor_count(tensor) != batch->count * width)
    return MICA_OK;
  *to = malloc(mica_tensor_bytes(tensor) + 1);
  if (!*to) return mica__fail_nomem("boxes");
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *to, mica_tensor_bytes(tensor));
}

static mica_status take_truths(mica_run *run, const mica_batch *batch, truths *t) {
  const char *boxes = mica__run_fact_text(run, "boxes_column"), *label = mica__run_fact_text(run, "label_column");
  const mica_tensor *tensor = tensor_of(batch, boxes);
  const mica_shape shape = tensor ? mica_tensor_shape(tensor) : MICA_SCALAR;
  if (shape.rank != 3 || shape.dim[2] != 4) return MICA_OK;
  t->rows = shape.dim[1];
  MICA_TRY(take_column(run, batch, boxes, MICA_F32, 4 * t->rows, &t->boxes));
  MICA_TRY(take_column(run, batch, label, MICA_I32, t->rows, &t->labels));
  MICA_TRY(take_column(run, batch, "ignored", MICA_I32, t->rows, &t->ignored));
  MICA_TRY(take_column(run, batch, "area", MICA_F32, t->rows, &t->areas));
  MICA_TRY(take_column(run, batch, "size", MICA_I32, 2, &t->sizes));
  if (t->sizes) return MICA_OK;
  /* Pictures that fill their frames. */
  t->sizes = malloc((size_t)batch->count * 2 * sizeof *t->sizes + 1);
  for (int64_t i = 0; t->sizes && i < batch->count; i++) {
    t->sizes[2 * i] = (int32_t)dimension(run, 2);
    t->sizes[2 * i + 1] = (int32_t)dimension(run, 1);
  }
  return t->sizes ? MICA_OK : mica__fail_nomem("boxes");
}

/* Adds one picture of a batch. Boxes are those of the file, so that sizes are as COCO means them. */
static mica_status add_picture(const mica_run *run, collected *c, const truths *t, const found *f, int64_t i) {
  const int32_t *size = t->sizes + 2 * i;
  const mica__placement p = mica__placement_of(size[0], size[1], dimension(run, 2), dimension(run, 1));
  if (!grow(&c->truths, c->truth_count + (size_t)t->rows, sizeof *c->truths, &c->truth_capacity) ||
      !grow(&c->found, c->found_count + MOST, sizeof *c->found, &c->found_capacity))
    return mica__fail_nomem("boxes");
  for (int64_t k = i * t->rows; k < (i + 1) * t->rows; k++) {
    const float *box = t->boxes + 4 * k;
    if (!(box[2] > box[0] && box[3] > box[1]) || t->labels[k] < 0) continue;
    mica_true_box *to = &c->truths[c->truth_count++];
    *to = (mica_true_box){.picture = c->pictures,
                          .class_index = t->labels[k],
                          .crowd = t->ignored && t->ignored[k] == MICA__BOX_CROWD,
                          .ignore = t->ignored && t->ignored[k] == MICA__BOX_DIFFICULT,
                          .area = !t->areas          ? 0
                                  : t->areas[k] == 0 ? MICA_ZERO
                                                     : (double)t->areas[k]};
    for (int s = 0; s < 4; s++) to->box[s] = ((double)box[s] - (s & 1 ? p.top : p.left)) / p.scale[s & 1];
  }
  for (int64_t k = i * MOST; k < i * MOST + f->counts[i]; k++) {
    mica_found_box *to = &c->found[c->found_count++];
    *to = (mica_found_box){.picture = c->pictures, .class_index = f->classes[k], .score = (double)f->scores[k]};
    for (int s = 0; s < 4; s++) to->box[s] = ((double)f->boxes[4 * k + s] - (s & 1 ? p.top : p.left)) / p.scale[s & 1];
  }
  c->pictures++;
  return MICA_OK;
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, collected *c) {
  const mica_tensor *pictures = tensor_of(batch, mica__run_fact_text(run, "input_column"));
  truths t = {0};
  found f = {0};
  if (!pictures) return mica__fail(MICA_E_STATE, "a batch has no pictures");
  mica_status status = take_truths(run, batch, &t);
  if (status == MICA_OK && (!t.boxes || !t.labels)) status = mica__fail(MICA_E_STATE, "a batch has no boxes");
  if (status == MICA_OK) status = find(run, pictures, t.sizes, batch->count, &f);
  for (int64_t i = 0; status == MICA_OK && i < batch->count; i++) status = add_picture(run, c, &t, &f, i);
  free_truths(&t);
  free_found(&f);
  return status;
}

static mica_status collect(mica_run *run, const mica_batch_source *source, collected *c) {
  MICA_TRY(source->seek(source->user, 0, 0));
  for (mica_batch batch = {0};;) {
    MICA_TRY(source->next(source->user, mica_engine_queue(run->engine), &batch));
    if (!batch.count) return MICA_OK;
    MICA_TRY(add_batch(run, &batch, c));
  }
}

static void free_collected(collected *c) {
  free(c->truths);
  free(c->found);
}

static mica_status score(mica_run *run, const mica_batch_source *source, mica_box_scores *scores,
                         mica_box_class_scores *by_class) {
  collected c = {0};
  mica_status status = collect(run, source, &c);
  if (status == MICA_OK)
    status =
        mica_box_precision(c.truths, c.truth_count, c.found, c.found_count, (int32_t)classes_of(run), scores, by_class);
  free_collected(&c);
  return status;
}

/* What nothing counts for, -1, is left out. */
static mica_status add_score(mica_metrics *m, const char *name, double value) {
  return value >= 0 ? mica_metrics_add(m, name, value) : MICA_OK;
}

mica_status mica__detect_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const size_t classes = classes_of(run);
  const char *const *names = mica_run_fact(run, "classes", NULL);
  mica_box_scores s;
  mica_box_class_scores *by_class = calloc(classes + 1, sizeof *by_class);
  mica_status status = by_class ? score(run, source, &s, by_class) : mica__fail_nomem("boxes");
  if (status == MICA_OK) {
    const struct {
      const char *name;
      double value;
    } rows[] = {{"map_50", s.ap_50},         {"map", s.ap},
                {"map_75", s.ap_75},         {"map_small", s.ap_small},
                {"map_medium", s.ap_medium}, {"map_large", s.ap_large},
                {"recall", s.ar_100}};
    for (size_t i = 0; status == MICA_OK && i < sizeof rows / sizeof *rows; i++)
      status = add_score(m, rows[i].name, rows[i].value);
  }
  for (size_t k = 0; status == MICA_OK && k < classes && classes <= MOST_NAMED; k++) {
    char name[MICA_METRIC_NAME];
    snprintf(name, sizeof name, "ap_50_%.25s", names[k]);
    status = add_score(m, name, by_class[k].ap_50);
  }
  free(by_class);
  return status;
}

/* --- pictures --- */

/* Colours of classes that are told apart by most eyes (Okabe and Ito 2008). */
static const uint8_t colours[][3] = {{230, 159, 0}, {86, 180, 233}, {0, 158, 115},  {240, 228, 66},
                                     {0, 114, 178}, {213, 94, 0},   {204, 121, 167}};

/* Draws a rectangle's outline, `thick` pixels inwards. planes (3, H, W). */
static void draw(uint8_t *planes, int64_t H, int64_t W, const double box[4], const uint8_t colour[3], int64_t thick) {
  int64_t at[4];
  for (int k = 0; k < 4; k++) {
    const double most = (double)(k & 1 ? H : W) - 1;
    at[k] = (int64_t)fmin(fmax(k < 2 ? box[k] : box[k] - 1, 0), most);
  }
  for (int64_t y = at[1]; y <= at[3]; y++)
    for (int64_t x = at[0]; x <= at[2]; x++) {
      const bool edge = y < at[1] + thick || y > at[3] - thick || x < at[0] + thick || x > at[2] - thick;
      for (int c = 0; edge && c < 3; c++) planes[(c * H + y) * W + x] = colour[c];
    }
}

/* A picture to predict from. */
typedef struct picture {
  char *name;
  uint8_t *planes; /* (3, height, width), to be drawn on */
  int64_t height, width;
  float *input; /* as the network takes it */
  mica__placement placed;
} picture;

static void free_picture(picture *p) {
  free(p->name);
  mica_free(p->planes);
  free(p->input);
}

static mica_status normalise(const mica_run *run, const uint8_t *planes, float **out) {
  const int64_t C = dimension(run, 0), plane = dimension(run, 1) * dimension(run, 2);
  const double *mean = mica_run_fact_numbers(run, "mean", NULL), *by = mica_run_fact_numbers(run, "deviation", NULL);
  *out = malloc((size_t)(C * plane) * sizeof **out);
  if (!*out) return mica__fail_nomem("a picture");
  for (int64_t i = 0; i < C * plane; i++) {
    const float x = (float)planes[i] / 255;
    (*out)[i] = mean && by ? (x - (float)mean[i / plane]) / (float)by[i / plane] : x;
  }
  return MICA_OK;
}

static mica_status read_file(const mica_run *run, const char *path, picture *p) {
  const int32_t C = (int32_t)dimension(run, 0), H = (int32_t)dimension(run, 1), W = (int32_t)dimension(run, 2);
  mica_shape shape = MICA_SCALAR;
  int32_t width = 0, height = 0;
  uint8_t *planes = malloc((size_t)C * (size_t)H * (size_t)W);
  mica_status status =
      planes ? mica__boxed_read(path, C, H, W, planes, &width, &height) : mica__fail_nomem("a picture");
  if (status == MICA_OK) status = normalise(run, planes, &p->input);
  free(planes);
  if (status == MICA_OK) status = mica_image_read(path, MICA_SHAPE(3, 0, 0), &p->planes, &shape);
  if (status == MICA_OK && !(p->name = mica__strdup(path))) status = mica__fail_nomem("a picture");
  p->height = height;
  p->width = width;
  p->placed = mica__placement_of(width > 0 ? width : 1, height > 0 ? height : 1, W, H);
  return status;
}

/* A picture of a dataset: its file, so that boxes are in its pixels, or what has none in the network's size. */
static mica_status read_sample(const mica_run *run, const mica_dataset *data, uint64_t sample, picture *p) {
  if (mica_dataset_file(data, sample)) return read_file(run, mica_dataset_file(data, sample), p);
  const int64_t C = dimension(run, 0), H = dimension(run, 1), W = dimension(run, 2), plane = H * W;
  const size_t bytes = mica_dataset_input_bytes(data);
  if (mica_dataset_dtype(data) != MICA_U8)
    return mica__fail(MICA_E_UNSUPPORTED, "%s holds pictures of floats, which are not drawn", mica_dataset_name(data));
  uint8_t *planes = malloc(bytes + 1);
  p->name = mica__sample_name(data, sample);
  p->planes = malloc((size_t)(3 * plane));
  p->height = H;
  p->width = W;
  p->placed = (mica__placement){.scale = {1, 1}};
  mica_status status =
      planes && p->name && p->planes ? mica_dataset_input(data, sample, planes, bytes) : mica__fail_nomem("a picture");
  if (status == MICA_OK) status = normalise(run, planes, &p->input);
  for (int64_t c = 0; status == MICA_OK && c < 3; c++)
    memcpy(p->planes + c * plane, planes + (C == 3 ? c : 0) * plane, (size_t)plane);
  free(planes);
  return status;
}

/* Boxes of a picture in its own pixels, with their names, that score `least` or more. */
typedef struct shown {
  double least;
  size_t count;
  double numbers[5 * MOST];
  const char *names[MOST];
  int32_t classes[MOST];
} shown;

static mica_status find_shown(mica_run *run, const picture *p, shown *s) {
  const char *const *names = mica_run_fact(run, "classes", NULL);
  const mica_shape shape = MICA_SHAPE(1, dimension(run, 0), dimension(run, 1), dimension(run, 2));
  const int32_t size[2] = {(int32_t)p->width, (int32_t)p->height};
  mica_tensor *x = NULL;
  found f = {0};
  MICA_TRY(mica_tensor_create_from(run->engine, MICA_F32, shape, p->input, &x));
  mica_status status = find(run, x, size, 1, &f);
  s->count = 0;
  for (int32_t k = 0; status == MICA_OK && k < f.counts[0]; k++) {
    if (!((double)f.scores[k] >= s->least) || f.classes[k] < 0 || (size_t)f.classes[k] >= classes_of(run)) continue;
    double *row = s->numbers + 5 * s->count;
    for (int i = 0; i < 4; i++) {
      const double at =
          ((double)f.boxes[4 * k + i] - (i & 1 ? p->placed.top : p->placed.left)) / p->placed.scale[i & 1];
      row[i] = fmin(fmax(at, 0), (double)(i & 1 ? p->height : p->width));
    }
    if (!(row[2] > row[0] && row[3] > row[1])) continue;
    row[4] = (double)f.scores[k];
    s->classes[s->count] = f.classes[k];
    s->names[s->count++] = names[f.classes[k]];
  }
  free_found(&f);
  mica_tensor_destroy(x);
  return status;
}

/* "19 RBC, 1 WBC" */
static mica_status describe(const mica_run *run, const shown *s, mica__text *text) {
  const char *const *names = mica_run_fact(run, "classes", NULL);
  for (size_t k = 0; k < classes_of(run); k++) {
    int count = 0;
    for (size_t i = 0; i < s->count; i++) count += s->classes[i] == (int32_t)k;
    if (count) mica__text_addf(text, "%s%d %s", text->data ? ", " : "", count, names[k]);
  }
  if (!s->count) mica__text_addf(text, "no box scores %.3g %% or more (--threshold)", 100 * s->least);
  return mica__text_status(text);
}

static mica_status add_boxes(mica_report *report, const picture *p, const shown *s, const char *text, bool under) {
  const mica_item boxes = {.kind = MICA_ITEM_KIND_BOXES,
                           .name = "boxes",
                           .text = text,
                           .rows = s->count,
                           .columns = 5,
                           .row_names = s->names,
                           .numbers = s->numbers,
                           .planes = under ? p->planes : NULL,
                           .shape = under ? MICA_SHAPE(3, p->height, p->width) : MICA_SCALAR};
  return mica_report_add(report, &boxes);
}

/* A section with boxes, and the picture with them drawn. */
static mica_status add_prediction(mica_run *run, picture *p, double threshold, mica_report *report) {
  const size_t kinds = sizeof colours / sizeof *colours;
  const int64_t side = p->width < p->height ? p->width : p->height, thick = side < 400 ? 1 : side / 200;
  shown *s = malloc(sizeof *s);
  mica__text text = {0};
  mica_status status = s ? MICA_OK : mica__fail_nomem("boxes");
  if (s) s->least = mica__or_default(threshold, mica_run_number(run, "least-score"));
  if (status == MICA_OK) status = find_shown(run, p, s);
  if (status == MICA_OK) status = describe(run, s, &text);
  if (status == MICA_OK) status = mica_report_begin(report, p->name);
  if (status == MICA_OK) status = add_boxes(report, p, s, text.data, false);
  for (size_t i = s && status == MICA_OK ? s->count : 0; i-- > 0;)
    draw(p->planes, p->height, p->width, s->numbers + 5 * i, colours[(size_t)s->classes[i] % kinds], thick);
  const mica_item drawn = {.kind = MICA_ITEM_KIND_PICTURE,
                           .name = "overlay",
                           .text = text.data,
                           .planes = p->planes,
                           .shape = MICA_SHAPE(3, p->height, p->width)};
  if (status == MICA_OK) status = mica_report_add(report, &drawn);
  mica__text_free(&text);
  free(s);
  return status;
}

static mica_status predict_data(mica_run *run, const mica_run_input *input, mica_report *report) {
  mica_dataset *data = NULL;
  bool all = false;
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &all, &data));
  uint64_t count = mica_dataset_count(data);
  mica_status status = run->task->fits(run, data);
  if (input->count > 0 && (uint64_t)input->count < count) count = (uint64_t)input->count;
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    picture p = {0};
    status = read_sample(run, data, i, &p);
    if (status == MICA_OK) status = add_prediction(run, &p, input->threshold, report);
    free_picture(&p);
  }
  mica_dataset_destroy(data);
  return status;
}

mica_status mica__detect_predict(mica_run *run, const mica_run_input *input, mica_report *report) {
  mica__paths paths = {0};
  if (input->text) return mica__fail(MICA_E_INVALID, "the network was trained on pictures, not on rows");
  if (input->data) return predict_data(run, input, report);
  mica_status status = mica__paths_find(run, input, &paths);
  for (size_t i = 0; status == MICA_OK && i < paths.count; i++) {
    picture p = {0};
    status = read_file(run, paths.list[i], &p);
    if (status == MICA_OK) status = add_prediction(run, &p, input->threshold, report);
    free_picture(&p);
  }
  mica__paths_free(&paths);
  return status;
}

/* --- the report --- */

static mica_status add_curves(const mica_run *run, mica_report *report, const mica_box_class_scores *by_class) {
  const size_t classes = classes_of(run), shown_classes = classes < 8 ? classes : 8, columns = shown_classes + 1;
  const char *const *names = mica_run_fact(run, "classes", NULL), *heads[9] = {"recall"};
  double *numbers = calloc(MICA_BOX_RECALLS * columns, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t k = 0; k < shown_classes; k++) heads[k + 1] = names[k];
  for (size_t r = 0; r < MICA_BOX_RECALLS; r++) {
    numbers[r * columns] = (double)r / (MICA_BOX_RECALLS - 1);
    for (size_t k = 0; k < shown_classes; k++)
      numbers[r * columns + k + 1] = by_class[k].ap_50 < 0 ? (double)NAN : by_class[k].curve[r];
  }
  const mica_item curve = {.kind = MICA_ITEM_KIND_CURVE,
                           .name = "precision at overlaps of 0.50",
                           .rows = MICA_BOX_RECALLS,
                           .columns = columns,
                           .column_names = heads,
                           .numbers = numbers};
  mica_status status = mica_report_add(report, &curve);
  free(numbers);
  return status;
}

static mica_status add_table(const mica_run *run, mica_report *report, const mica_box_class_scores *by_class) {
  static const char *const columns[] = {"ap_50", "ap_75", "ap", "recall"};
  const size_t classes = classes_of(run);
  double *numbers = calloc(4 * classes + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t k = 0; k < classes; k++) {
    const double row[4] = {by_class[k].ap_50, by_class[k].ap_75, by_class[k].ap, by_class[k].ar_100};
    for (int i = 0; i < 4; i++) numbers[4 * k + (size_t)i] = row[i] < 0 ? (double)NAN : row[i];
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "classes",
                           .rows = classes,
                           .columns = 4,
                           .row_names = mica_run_fact(run, "classes", NULL),
                           .column_names = columns,
                           .numbers = numbers};
  mica_status status = mica_report_add(report, &table);
  free(numbers);
  return status;
}

static mica_status add_pictures(mica_run *run, mica_report *report) {
  const uint64_t all = mica_dataset_count(run->evaluation->data);
  shown *s = malloc(sizeof *s);
  if (!s) return mica__fail_nomem("a report");
  s->least = mica_run_number(run, "least-score");
  mica_status status = mica_report_begin(report, "What is found");
  for (uint64_t i = 0; status == MICA_OK && i < all && i < SHOWN; i++) {
    picture p = {0};
    mica__text text = {0};
    status = read_sample(run, run->evaluation->data, i, &p);
    if (status == MICA_OK) status = find_shown(run, &p, s);
    if (status == MICA_OK) status = describe(run, s, &text);
    if (status == MICA_OK) status = add_boxes(report, &p, s, text.data, true);
    mica__text_free(&text);
    free_picture(&p);
  }
  free(s);
  return status;
}

mica_status mica__detect_report(mica_run *run, mica_report *report) {
  mica_box_scores scores;
  mica_loader_config config;
  mica_loader *loader = NULL;
  mica_box_class_scores *by_class = calloc(classes_of(run) + 1, sizeof *by_class);
  mica_status status = by_class ? mica__run_loading(run, MICA_PART_TEST, &config) : mica__fail_nomem("a report");
  if (status == MICA_OK) status = mica_loader_create(run->engine, run->evaluation->data, &config, &loader);
  if (status == MICA_OK) {
    const mica_batch_source source = mica_loader_source(loader);
    status = score(run, &source, &scores, by_class);
  }
  mica_loader_destroy(loader);
  if (status == MICA_OK) status = mica_report_begin(report, "Classes");
  if (status == MICA_OK) status = add_table(run, report, by_class);
  if (status == MICA_OK) status = add_curves(run, report, by_class);
  free(by_class);
  if (status != MICA_OK || mica_dataset_dtype(run->evaluation->data) != MICA_U8) return status;
  return add_pictures(run, report);
}
