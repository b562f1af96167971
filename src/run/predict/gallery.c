/* How similar files are, and the nearest ones in a gallery. */
#include "run/predict/gallery.h"
#include "run/composed.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "run/state/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_TOP 3

double mica__gallery_cosine(const float *a, const float *b, int64_t width) {
  double sum = 0;
  for (int64_t k = 0; k < width; k++) sum += (double)a[k] * (double)b[k];
  return fmin(1, fmax(-1, sum));
}

/* Samples with their names and embeddings. */
typedef struct list {
  char **names;
  float *embeddings;
  size_t count, room;
  int64_t width;
} list;

static void free_list(list *l) {
  for (size_t i = 0; i < l->count; i++) free(l->names[i]);
  free(l->names);
  free(l->embeddings);
}

static mica_status add(mica_run *run, const mica__sample *sample, const float *embedding, void *user) {
  list *l = user;
  (void)run;
  if (l->count == l->room) {
    const size_t room = l->room ? 2 * l->room : 16;
    char **names = realloc(l->names, room * sizeof *names);
    if (names) l->names = names;
    float *grown = names ? realloc(l->embeddings, room * (size_t)l->width * sizeof *grown) : NULL;
    if (!grown) return mica__fail_nomem("embeddings");
    l->embeddings = grown;
    l->room = room;
  }
  l->names[l->count] = mica__strdup(sample->name);
  if (!l->names[l->count]) return mica__fail_nomem("embeddings");
  memcpy(l->embeddings + l->count++ * (size_t)l->width, embedding, (size_t)l->width * sizeof *embedding);
  return MICA_OK;
}

/* Embeds files, also those in folders, or samples of data. */
static mica_status embed(mica_run *run, const mica_run_input *given, list *l) {
  mica__paths paths = {0};
  mica_run_input input = *given;
  l->width = run->task->head->outputs(run);
  /* The first input is compared with the others, so no input may be left out. */
  if (!given->gallery) input.unread = NULL;
  if (!given->file_count) return run->task->input->samples.visit(run, given, add, l);
  mica_status status = mica__paths_find(run, given, &paths);
  input.files = (const char *const *)paths.list;
  input.file_count = paths.count;
  /* While these files are read, they provide the classes, instead of the files that are being predicted. */
  const int32_t *classes = run->evaluation->file_classes;
  run->evaluation->file_classes = paths.classes;
  if (status == MICA_OK) status = run->task->input->samples.visit(run, &input, add, l);
  run->evaluation->file_classes = classes;
  mica__paths_free(&paths);
  return status;
}

static double cosine(const list *a, size_t i, const list *b, size_t j) {
  return mica__gallery_cosine(a->embeddings + i * (size_t)a->width, b->embeddings + j * (size_t)b->width, a->width);
}

/* Compares the first sample with each of the others. */
static mica_status compare(const list *l, mica_report *prediction) {
  if (l->count < 2)
    return mica__fail(MICA_E_INVALID, "%s has nothing to be compared with; give a second file or a gallery",
                      l->count ? l->names[0] : "the input");
  for (size_t i = 1; i < l->count; i++) {
    mica__text title = {0};
    mica__text_addf(&title, "%s, %s", l->names[0], l->names[i]);
    mica_status status = mica__text_status(&title);
    if (status == MICA_OK) status = mica_report_begin(prediction, title.data);
    mica__text_free(&title);
    if (status == MICA_OK) status = mica_report_add_number(prediction, "similarity", cosine(l, 0, l, i));
    MICA_TRY(status);
  }
  return MICA_OK;
}

typedef struct neighbour {
  const char *name;
  double similarity;
  size_t order;
} neighbour;

static int compare_neighbours(const void *a, const void *b) {
  const neighbour *x = a, *y = b;
  if (x->similarity != y->similarity) return x->similarity < y->similarity ? 1 : -1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static mica_status add_nearest(const neighbour *found, size_t count, mica_report *prediction) {
  static const char *const columns[] = {"similarity"};
  const char **names = calloc(count + 1, sizeof *names);
  double *numbers = calloc(count + 1, sizeof *numbers);
  mica_status status = names && numbers ? MICA_OK : mica__fail_nomem("neighbours");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    names[i] = found[i].name;
    numbers[i] = found[i].similarity;
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "nearest",
                           .rows = count,
                           .columns = 1,
                           .row_names = names,
                           .column_names = columns,
                           .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(prediction, &table);
  free(names);
  free(numbers);
  return status;
}

/* Returns the part of a path after a folder that contains it. Other paths are returned unchanged. */
static const char *below(const char *path, const char *folder) {
  const size_t n = strlen(folder);
  if (strncmp(path, folder, n) != 0) return path;
  const char *rest = path + n + strspn(path + n, "/");
  return *rest && (path[n] == '/' || (n && folder[n - 1] == '/')) ? rest : path;
}

/* For each sample, lists the nearest samples of the gallery. */
static mica_status look_up(const list *l, const list *gallery, const char *folder, size_t top,
                           mica_report *prediction) {
  neighbour *found = calloc(gallery->count + 1, sizeof *found);
  mica_status status = found ? MICA_OK : mica__fail_nomem("neighbours");
  for (size_t i = 0; status == MICA_OK && i < l->count; i++) {
    for (size_t k = 0; k < gallery->count; k++)
      found[k] = (neighbour){below(gallery->names[k], folder), cosine(l, i, gallery, k), k};
    qsort(found, gallery->count, sizeof *found, compare_neighbours);
    status = mica_report_begin(prediction, l->names[i]);
    if (status == MICA_OK) status = add_nearest(found, top < gallery->count ? top : gallery->count, prediction);
  }
  free(found);
  return status;
}

mica_status mica__gallery_compare(mica_run *run, const mica_run_input *given, mica_report *prediction) {
  const mica_run_input shelf = {.files = &given->gallery, .file_count = 1};
  const size_t top = given->top > 0 ? (size_t)given->top : USUAL_TOP;
  list l = {0}, gallery = {0};
  if (given->text)
    return mica__fail(MICA_E_INVALID, "the task %s compares files; give files (not a text or standard input)",
                      run->task->name);
  mica_status status = embed(run, given, &l);
  if (status == MICA_OK && given->gallery) status = embed(run, &shelf, &gallery);
  if (status == MICA_OK)
    status = given->gallery ? look_up(&l, &gallery, given->gallery, top, prediction) : compare(&l, prediction);
  free_list(&l);
  free_list(&gallery);
  return status;
}
