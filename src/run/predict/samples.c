/* Samples to predict from: pictures, folders of them, tables, and parts of datasets. */
#include "run/predict/samples.h"
#include "data/annotation/scene_files.h"
#include "data/damaged.h"
#include "data/picture/image.h"
#include "data/source.h"
#include "data/table/table.h"
#include "data/volume/nifti.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/columns/missing.h"
#include "run/common_facts.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/input.h"
#include "run/parts.h"
#include "run/predict/document.h"
#include "run/predict/truths.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/networks.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The most samples that can be predicted at once. */
#define MOST_SAMPLES 1000000

void mica__samples_free(mica__samples *s) {
  for (int64_t i = 0; s->pixels && i < s->count; i++) free(s->pixels[i]);
  for (int64_t i = 0; s->names && i < s->count; i++) free(s->names[i]);
  free(s->pixels);
  free(s->names);
  free(s->inputs);
  free(s->categories);
  free(s->truths);
  *s = (mica__samples){0};
}

static mica_shape input_of(const mica_run *run) {
  mica_shape shape = {.rank = 0};
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  for (size_t i = 0; input.list && i < input.count && i < MICA_MAX_RANK; i++)
    shape.dim[shape.rank++] = (int64_t)input.list[i];
  return shape;
}

static mica_status make(const mica_run *run, int64_t count, mica__samples *s) {
  const mica_shape input = input_of(run);
  if (count < 1 || count > MOST_SAMPLES)
    return mica__fail(MICA_E_INVALID, "mica predicts 1 to %d samples at once, not %lld", MOST_SAMPLES,
                      (long long)count);
  *s = (mica__samples){.count = count, .size = input.rank > 0};
  for (int32_t i = 0; i < input.rank; i++) s->size *= input.dim[i];
  s->pixels = calloc((size_t)count, sizeof *s->pixels);
  s->names = calloc((size_t)count, sizeof *s->names);
  s->inputs = calloc((size_t)count * (size_t)s->size + 1, sizeof *s->inputs);
  s->categories = calloc((size_t)count * mica__run_categories(run) + 1, sizeof *s->categories);
  s->truth_count = mica__truth_count(run);
  s->truths = calloc((size_t)count * s->truth_count + 1, sizeof *s->truths);
  for (size_t i = 0; s->truths && i < (size_t)count * s->truth_count; i++) s->truths[i] = NAN;
  return s->pixels && s->names && s->inputs && s->categories && s->truths ? MICA_OK : mica__fail_nomem("samples");
}

void mica__normalise(const mica_run *run, int64_t size, const float *numbers, const uint8_t *pixels, float *out) {
  const mica__fact_numbers mean = mica__common_facts_of(run).mean;
  const double *deviation = mica__common_facts_of(run).deviation.list;
  const int64_t plane = mean.count ? size / (int64_t)mean.count : size;
  for (int64_t k = 0; k < size; k++) {
    const float x = numbers ? numbers[k] : (float)pixels[k] / 255;
    out[k] = mean.list && deviation ? (x - (float)mean.list[k / plane]) / (float)deviation[k / plane] : x;
  }
}

static void normalise(const mica_run *run, mica__samples *s, int64_t i, const float *numbers) {
  mica__normalise(run, s->size, numbers, s->pixels[i], s->inputs + i * s->size);
}

static mica_status take_pixels(const mica_run *run, mica__samples *s, int64_t i, const uint8_t *pixels) {
  s->pixels[i] = malloc((size_t)s->size);
  if (!s->pixels[i]) return mica__fail_nomem("samples");
  memcpy(s->pixels[i], pixels, (size_t)s->size);
  normalise(run, s, i, NULL);
  return MICA_OK;
}

static mica_status name_sample(mica__samples *s, int64_t i, const char *text) {
  s->names[i] = mica__strdup(text);
  return s->names[i] ? MICA_OK : mica__fail_nomem("samples");
}

/* Names a row by its line in the table: "row 7". */
static char *row_name(unsigned long long line) {
  char text[48];
  snprintf(text, sizeof text, "row %llu", line);
  return mica__strdup(text);
}

char *mica__sample_name(const mica_dataset *data, uint64_t sample) {
  const char *file = mica_dataset_file(data, sample);
  const uint64_t line = mica_dataset_line(data, sample);
  char text[48];
  if (file) return mica__strdup(file);
  if (line) return row_name(line);
  snprintf(text, sizeof text, "sample %llu", (unsigned long long)sample);
  return mica__strdup(text);
}

/* --- pictures --- */

static mica_status add_path(mica__paths *p, const char *folder, const char *name, int32_t label) {
  char *path = NULL;
  if (p->count == p->capacity) {
    const size_t capacity = p->capacity ? 2 * p->capacity : 16;
    char **grown = realloc(p->list, capacity * sizeof *grown);
    if (grown) p->list = grown;
    int32_t *classes = grown ? realloc(p->classes, capacity * sizeof *classes) : NULL;
    if (!classes) return mica__fail_nomem("samples");
    p->classes = classes;
    p->capacity = capacity;
  }
  if (folder) MICA_TRY(mica__path_join(folder, name, &path));
  if (!folder && !(path = mica__strdup(name))) return mica__fail_nomem("samples");
  p->classes[p->count] = label;
  p->list[p->count++] = path;
  return MICA_OK;
}

typedef struct kind {
  const char *name, *list; /* for messages */
  const char *ends[4];
} kind;

static const kind pictures_kind = {"pictures", ".png, .jpg, .jpeg", {".png", ".jpg", ".jpeg"}};
static const kind sounds_kind = {"recordings", ".wav, .flac, .ogg", {".wav", ".flac", ".ogg"}};

static const kind volumes_kind = {"volumes", ".nii, .nii.gz", {".nii", ".nii.gz"}};

static const kind *kind_of(const mica_run *run) {
  if (run->task->input->traits.volumes) return &volumes_kind;
  return mica__run_hears(run) ? &sounds_kind : &pictures_kind;
}

static bool is_of(const kind *k, const char *name) {
  for (size_t i = 0; i < 4 && k->ends[i]; i++) {
    const size_t n = strlen(name), m = strlen(k->ends[i]);
    if (n > m && !strcasecmp(name + n - m, k->ends[i])) return true;
  }
  return false;
}

/* True for a file of the kind. Masks and predictions may be in the same folder as volumes, but are not predicted. */
static bool is_input(const kind *k, const mica__names *names, size_t i) {
  return is_of(k, names->names[i]) && !(k == &volumes_kind && mica__pairs_is_mask(mica__nifti_is_named, names->names[i],
                                                                                  names->names, names->count));
}

/* The class that has the folder's name, or -1. */
static int32_t class_of(const mica_run *run, const char *folder) {
  const mica__fact_texts classes = mica__common_facts_of(run).classes;
  char *name = classes.list ? mica__name_printable(folder) : NULL;
  int32_t found = -1;
  for (size_t i = 0; name && found < 0 && i < classes.count; i++)
    if (!strcmp(classes.list[i], name)) found = (int32_t)i;
  free(name);
  return found;
}

static mica_status pass_over(mica__paths *p, const char *folder, const char *name) {
  if (p->unused++) return MICA_OK;
  return mica__path_join(folder, name, &p->unused_name);
}

/* Sets *is to true if the folder holds masks or depth maps of the pictures beside it and is not named like one of the
 * classes. */
static mica_status is_answers(const mica_run *run, const kind *k, const char *folder, const char *name, bool *is) {
  *is = false;
  if (k != &pictures_kind || class_of(run, name) >= 0) return MICA_OK;
  MICA_TRY(mica__pairs_is_folder(folder, name, &mica__mask_pairing, is));
  return *is ? MICA_OK : mica__pairs_is_folder(folder, name, &mica__depth_pairing, is);
}

/* Finds the files of this kind in a folder and in its subfolders. The name of a folder is the class of its files.
 * Subfolders of a folder that was given are searched only if it has no such files itself. */
static mica_status add_folder(const mica_run *run, const kind *k, mica__paths *p, const char *folder,
                              const mica__folder_level *above, int32_t label) {
  mica__names names;
  mica__folder_level here;
  const size_t before = p->count;
  if (!mica__folder_enter(folder, above, &here)) return pass_over(p, folder, "");
  MICA_TRY(mica__names_read(folder, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++)
    if (is_input(k, &names, i)) status = add_path(p, folder, names.names[i], label);
  const bool alone = !above && p->count > before;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *path = NULL;
    bool answers = false;
    if (is_input(k, &names, i)) continue;
    status = mica__path_join(folder, names.names[i], &path);
    if (status == MICA_OK) status = is_answers(run, k, folder, names.names[i], &answers);
    if (status == MICA_OK && !alone && !answers && mica__is_folder(path))
      status = add_folder(run, k, p, path, &here, label < 0 ? class_of(run, names.names[i]) : label);
    else if (status == MICA_OK)
      status = pass_over(p, folder, names.names[i]);
    free(path);
  }
  mica__names_free(&names);
  return status;
}

static mica_status add_whole_folder(const mica_run *run, const kind *k, mica__paths *p, const char *folder) {
  const size_t before = p->count;
  MICA_TRY(add_folder(run, k, p, folder, NULL, -1));
  if (p->count > before) return MICA_OK;
  return mica__fail(MICA_E_NOT_FOUND, "neither the folder %s nor a folder in it holds %s (%s)", folder, k->name,
                    k->list);
}

/* Orders frames of a video by their names, in which digits are numbers: frame9.png comes before frame10.png. */
static int compare_frames(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  while (*x && *y) {
    const size_t of_x = strspn(x, "0123456789"), of_y = strspn(y, "0123456789");
    if (!of_x || !of_y) {
      if (*x != *y) return (unsigned char)*x - (unsigned char)*y;
      x++, y++;
      continue;
    }
    const size_t zeros_x = strspn(x, "0"), zeros_y = strspn(y, "0"), digits = of_x - zeros_x;
    if (digits != of_y - zeros_y) return digits < of_y - zeros_y ? -1 : 1;
    const int order = memcmp(x + zeros_x, y + zeros_y, digits);
    if (order) return order;
    x += of_x, y += of_y;
  }
  return *x || *y ? (unsigned char)*x - (unsigned char)*y : strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool mica__run_hears(const mica_run *run) {
  return mica__common_facts_of(run).rate > 0 && !run->task->input->traits.rows;
}

/* Reports what is unusual about the files, and what is skipped. */
static mica_status remark_paths(mica_run *run, const kind *k, const mica__paths *paths) {
  mica__text sentence = {0};
  mica_status status = MICA_OK;
  if (k == &pictures_kind && mica__pictures_with_alpha((const char *const *)paths->list, paths->count, &sentence))
    status = mica__text_status(&sentence);
  if (status == MICA_OK && sentence.length) status = mica__run_remark(run, "%s", sentence.data);
  mica__text_free(&sentence);
  if (status != MICA_OK || !paths->unused) return status;
  return mica__run_remark(run, "%zu file%s beside the %s (%s%s) %s not read: %s%s", paths->unused,
                          paths->unused == 1 ? " or folder" : "s or folders", k->name, k->list,
                          k == &volumes_kind ? ", without masks of other volumes" : "",
                          paths->unused == 1 ? "is" : "are", paths->unused_name, paths->unused > 1 ? ", ..." : "");
}

mica_status mica__paths_find(mica_run *run, const mica_run_input *input, mica__paths *paths) {
  const kind *k = kind_of(run);
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < input->file_count; i++)
    status = mica__is_folder(input->files[i]) ? add_whole_folder(run, k, paths, input->files[i])
                                              : add_path(paths, NULL, input->files[i], -1);
  /* Only the paths are sorted, not their classes: predictions of boxes do not read the classes of folders. */
  if (status == MICA_OK && input->tracker && input->file_count == 1)
    qsort(paths->list, paths->count, sizeof *paths->list, compare_frames);
  return status == MICA_OK ? remark_paths(run, k, paths) : status;
}

void mica__paths_free(mica__paths *paths) {
  for (size_t i = 0; i < paths->count; i++) free(paths->list[i]);
  free(paths->list);
  free(paths->classes);
  free(paths->unused_name);
  *paths = (mica__paths){0};
}

mica_status mica__run_pass_file(mica_run *run, const mica_run_input *input, const char *file, mica_status status) {
  const bool of_file = status == MICA_E_FORMAT || status == MICA_E_IO || status == MICA_E_NOT_FOUND ||
                       status == MICA_E_UNSUPPORTED || status == MICA_E_OVERFLOW;
  if (!of_file || !input->unread) return status;
  run->evaluation->unread++;
  input->unread(input->user, file, mica_error_message());
  return MICA_OK;
}

/* A file that cannot be read is skipped if the input allows it. */
static mica_status read_pictures(mica_run *run, const mica_run_input *input, const mica__paths *p, mica__samples *s) {
  const mica_shape size = input_of(run);
  int64_t count = 0;
  MICA_TRY(make(run, (int64_t)p->count, s));
  const bool classes = s->truth_count == 1;
  for (size_t i = 0; i < p->count; i++) {
    mica_shape shape;
    uint8_t *pixels = NULL;
    mica_status status = mica_image_read(p->list[i], size, &pixels, &shape);
    if (status != MICA_OK) {
      MICA_TRY(mica__run_pass_file(run, input, p->list[i], status));
      continue;
    }
    status = take_pixels(run, s, count, pixels);
    mica_free(pixels);
    MICA_TRY(status);
    MICA_TRY(name_sample(s, count, p->list[i]));
    if (classes && p->classes[i] >= 0) s->truths[count] = (double)p->classes[i];
    count++;
  }
  s->count = count;
  return MICA_OK;
}

/* --- tables --- */

static mica_status read_dataset(mica_run *run, const char *path, mica_part part, int64_t count, mica__samples *s) {
  mica_dataset *data = NULL;
  bool whole = false;
  mica_status status = mica__run_open_given(run, path, part, &whole, &data);
  MICA_TRY(status);
  status = run->task->fits(run, data);
  if (status == MICA_OK) status = mica__run_remark_data(run, data);
  const int64_t all = (int64_t)mica_dataset_count(data);
  if (status == MICA_OK) {
    status = mica__samples_of(run, data, 0, count > 0 && count < all ? count : all, s);
    status = mica__damaged_list(data->store, status);
  }
  mica_dataset_destroy(data);
  return status;
}

/* Opens a table with the columns of run->parts->outline (mica__run_outline). If the run has no names of columns, a
 * table with one more column than the run has inputs is read as a table with answers. */
static mica_status open_rows(const mica_run *run, const char *name, char *content, size_t size, mica_dataset **data) {
  mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  size_t columns = 0;
  MICA_TRY(mica__table_width(name, content, size, &columns));
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const size_t inputs = input.count ? (size_t)input.list[0] : 0;
  config.like = run->parts->outlined || columns != inputs + 1 ? run->parts->outline : NULL;
  config.keep_unlabelled = true;
  MICA_TRY(mica__table_read(name, content, size, &config, data));
  mica_status status = mica__run_fill(run, *data);
  if (status != MICA_OK) mica_dataset_destroy(*data);
  return status;
}

static mica_status read_named(mica_run *run, const char *name, char *content, mica__samples *s) {
  const size_t categories = mica__run_categories(run);
  mica__category_rows rows = {0};
  mica_status status = mica__category_rows_read(run, name, content, &rows);
  if (status == MICA_OK) status = make(run, rows.count, s);
  for (int64_t i = 0; status == MICA_OK && i < rows.count; i++) {
    normalise(run, s, i, rows.numbers + i * s->size);
    s->names[i] = row_name((unsigned long long)rows.lines[i]);
    if (!s->names[i]) status = mica__fail_nomem("samples");
  }
  if (status == MICA_OK)
    memcpy(s->categories, rows.categories, (size_t)rows.count * categories * sizeof *s->categories);
  if (status == MICA_OK) memcpy(s->truths, rows.truths, (size_t)rows.count * s->truth_count * sizeof *s->truths);
  mica__category_rows_free(&rows);
  return status;
}

/* For a table without names, remarks on which column is taken for the answers, because only its position decides
 * that. */
static mica_status remark_truths(mica_run *run, const mica_dataset *data) {
  const mica__schema *schema = data->store->schema;
  for (size_t i = 0; schema && !schema->header && i < schema->count; i++)
    if (schema->fields[i].label)
      return mica__run_remark(run, "%s has no line of column names: its column %zu is taken for the answers",
                              mica_dataset_name(data), schema->fields[i].at + 1);
  return MICA_OK;
}

/* Reads the rows of a table, which may lack answers. */
static mica_status read_rows(mica_run *run, const char *name, char *content, size_t size, mica__samples *s) {
  mica_dataset *data = NULL;
  if (mica__run_categories(run)) return read_named(run, name, content, s);
  MICA_TRY(open_rows(run, name, content, size, &data));
  const bool answers = mica__store_label(data->store) != NULL;
  mica_status status = answers ? run->task->fits(run, data) : mica__run_fits_input(run, data);
  if (status == MICA_OK) status = mica__run_remark_data(run, data);
  if (status == MICA_OK && answers) status = remark_truths(run, data);
  if (status == MICA_OK) status = mica__samples_of(run, data, 0, (int64_t)mica_dataset_count(data), s);
  mica_dataset_destroy(data);
  return status;
}

/* Reads the table in a file, or in the text if path is NULL. */
static mica_status read_table(mica_run *run, const mica_run_input *input, const char *path, mica__samples *s) {
  mica__document document;
  MICA_TRY(mica__document_read(input, path, &document));
  mica_status status = read_rows(run, document.name, document.content, document.size, s);
  free(document.content);
  return status;
}

/* --- arrays --- */

/* Reads the samples of an array or arrays, opened as in training but without answers. */
static mica_status read_array(mica_run *run, const char *path, mica__samples *s) {
  const mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  mica_dataset *data = NULL;
  if (mica__run_categories(run))
    return mica__fail(MICA_E_INVALID,
                      "%s: the network reads columns of classes, which an array cannot hold; give a table", path);
  MICA_TRY(mica__arrays_open_inputs(path, &config, &data));
  mica_status status = mica__run_fits_input(run, data);
  if (status == MICA_OK) status = mica__run_remark_data(run, data);
  if (status == MICA_OK) status = mica__samples_of(run, data, 0, (int64_t)mica_dataset_count(data), s);
  mica_dataset_destroy(data);
  return status;
}

/* --- tables of pictures --- */

/* Reads the pictures that a column of a table names, with their answers. Any answer may be missing. */
static mica_status read_picture_table(mica_run *run, const char *path, mica__samples *s) {
  mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  mica_dataset *data = NULL;
  config.keep_unlabelled = true;
  mica_status status = mica__run_open_part(run, path, &config, &data);
  if (status == MICA_E_FORMAT)
    return mica__fail(status, "%s; if there are no answers, give the pictures or their folder instead of a table",
                      mica_error_message());
  MICA_TRY(status);
  status = run->task->fits(run, data);
  if (status == MICA_OK) status = mica__run_remark_data(run, data);
  if (status == MICA_OK) status = mica__samples_of(run, data, 0, (int64_t)mica_dataset_count(data), s);
  if (status == MICA_OK) status = mica__damaged_list(data->store, status);
  mica_dataset_destroy(data);
  return status;
}

/* --- samples of every kind --- */

static mica_status take_categories(const mica_run *run, const mica_dataset *data, uint64_t from, mica__samples *s) {
  const size_t categories = mica__run_categories(run);
  for (size_t k = 0; k < categories; k++) {
    size_t column = 0;
    int32_t *map = NULL;
    mica_status status = mica__run_map_category(run, data, k, &column, &map);
    for (int64_t i = 0; status == MICA_OK && i < s->count; i++) {
      int32_t *to = &s->categories[(size_t)i * categories + k];
      status = mica_dataset_read(data, column, from + (uint64_t)i, to, sizeof *to);
      if (map && *to >= 0) *to = map[*to];
    }
    free(map);
    MICA_TRY(status);
  }
  return MICA_OK;
}

mica_status mica__samples_of(const mica_run *run, const mica_dataset *data, uint64_t from, int64_t count,
                             mica__samples *s) {
  mica__truths truths = {0};
  const bool pixels = mica_dataset_dtype(data) == MICA_U8;
  const size_t bytes = mica_dataset_input_bytes(data);
  MICA_TRY(make(run, count, s));
  int64_t *order = NULL;
  float *row = malloc(((size_t)s->size + 1) * sizeof *row);
  void *input = malloc(bytes + 1);
  mica_status status = input && row ? MICA_OK : mica__fail_nomem("samples");
  if (status == MICA_OK && mica__run_categories(run) && bytes) status = mica__run_find_order(run, data, &order);
  if (status == MICA_OK) status = mica__truths_open(run, data, &truths);
  if (status == MICA_OK) status = take_categories(run, data, from, s);
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    const uint64_t sample = from + (uint64_t)i;
    if (bytes) status = mica_dataset_input(data, sample, input, bytes);
    if (status == MICA_OK && pixels) status = take_pixels(run, s, i, input);
    for (int64_t k = 0; status == MICA_OK && order && k < s->size; k++) row[k] = ((const float *)input)[order[k]];
    if (status == MICA_OK && !pixels) normalise(run, s, i, order ? row : input);
    if (status == MICA_OK && !(s->names[i] = mica__sample_name(data, sample))) status = mica__fail_nomem("samples");
    if (status == MICA_OK) status = mica__truths_read(&truths, sample, s->truths + (size_t)i * s->truth_count);
  }
  free(order);
  free(row);
  mica__truths_close(&truths);
  free(input);
  return status;
}

mica_status mica__samples_read(mica_run *run, const mica_run_input *input, mica__samples *s) {
  const bool pictures = input_of(run).rank == 3;
  mica__paths list = {0};
  mica_status status = MICA_OK;
  if (input->data) return read_dataset(run, input->data, input->part, input->count, s);
  if (input->text) {
    if (pictures)
      return mica__fail(MICA_E_INVALID,
                        "the network was trained on pictures; give files of pictures (not a text or standard input)");
    return read_table(run, input, NULL, s);
  }
  if (!input->file_count) return mica__fail(MICA_E_INVALID, "give a file, data or a text to predict from");
  if (input->file_count == 1 && mica__name_ends(input->files[0], ".npy")) return read_array(run, input->files[0], s);
  if (!pictures) {
    if (mica__is_folder(input->files[0]))
      return mica__fail(MICA_E_INVALID,
                        "%s is a folder, but the network was trained on rows of a table; name a file with a table",
                        input->files[0]);
    if (is_of(&pictures_kind, input->files[0]))
      return mica__fail(MICA_E_INVALID, "%s is a picture, but the network was not trained on pictures",
                        input->files[0]);
    if (input->file_count > 1)
      return mica__fail(MICA_E_INVALID, "the network reads one table or array at a time; %zu files were given",
                        input->file_count);
    return read_table(run, input, input->files[0], s);
  }
  if (input->file_count == 1 && mica__table_is_named(input->files[0]))
    return read_picture_table(run, input->files[0], s);
  status = mica__paths_find(run, input, &list);
  if (status == MICA_OK) status = read_pictures(run, input, &list, s);
  mica__paths_free(&list);
  return status;
}

/* Uploads `count` samples, beginning with `from`: numbers or pixels as one feed, then one feed for each category. */
static mica_status upload(mica_run *run, const mica__samples *s, int64_t from, int64_t count, mica_feed *feeds,
                          size_t *feed_count) {
  const mica_shape input = input_of(run);
  const size_t categories = mica__run_categories(run);
  mica_shape shape = {.rank = input.rank + 1, .dim = {count}};
  mica_tensor *x = NULL;
  memcpy(shape.dim + 1, input.dim, (size_t)input.rank * sizeof *shape.dim);
  if (input.rank) {
    MICA_TRY(mica_tensor_create_from(run->engine, MICA_F32, shape, s->inputs + from * s->size, &x));
    feeds[(*feed_count)++] = (mica_feed){mica__common_facts_of(run).input_column, x};
  }
  int32_t *column = malloc((size_t)count * sizeof *column);
  mica_status status = column ? MICA_OK : mica__fail_nomem("samples");
  for (size_t k = 0; status == MICA_OK && k < categories; k++) {
    for (int64_t i = 0; i < count; i++) column[i] = s->categories[(size_t)(from + i) * categories + k];
    status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(count), column, &x);
    if (status == MICA_OK) feeds[(*feed_count)++] = (mica_feed){mica__run_category(run, k).name, x};
  }
  free(column);
  return status;
}

/* Runs the model on the feeds. Sets *result to the output of that name, or to NULL if there is none. */
static mica_status run_model(const mica_run *run, const mica_feed *feeds, size_t count, const char *output,
                             const mica_tensor **result) {
  mica_onnx_feed *given = calloc(count + 1, sizeof *given);
  *result = NULL;
  if (!given) return mica__fail_nomem("samples");
  for (size_t i = 0; i < count; i++) given[i] = (mica_onnx_feed){.name = feeds[i].name, .tensor = feeds[i].tensor};
  mica_status status = mica_onnx_run(run->networks->runner, mica_engine_queue(run->engine), given, count);
  free(given);
  for (size_t i = 0; status == MICA_OK && i < mica_onnx_output_count(run->networks->model); i++)
    if (!strcmp(mica_onnx_output_port(run->networks->model, i).name, output))
      *result = mica_onnx_output(run->networks->runner, i);
  return status;
}

static mica_status run_trainer(const mica_run *run, const mica_feed *feeds, size_t count, int64_t samples,
                               const char *output, const mica_tensor **result) {
  const mica_batch batch = {.count = samples, .tensors = feeds, .tensor_count = count};
  MICA_TRY(mica_trainer_predict(run->trainer, &batch));
  *result = mica_trainer_output(run->trainer, output);
  return MICA_OK;
}

mica_status mica__samples_infer(mica_run *run, const mica__samples *s, int64_t from, int64_t count, const char *output,
                                int64_t width, float *outputs) {
  mica_queue *queue = mica_engine_queue(run->engine);
  size_t feed_count = 0;
  mica_feed *feeds = calloc(mica__run_categories(run) + 1, sizeof *feeds);
  mica_status status = feeds ? upload(run, s, from, count, feeds, &feed_count) : mica__fail_nomem("samples");
  const mica_tensor *result = NULL;
  if (status == MICA_OK)
    status = run->networks->runner ? run_model(run, feeds, feed_count, output, &result)
                                   : run_trainer(run, feeds, feed_count, count, output, &result);
  if (status == MICA_OK && (!result || mica_tensor_bytes(result) != (size_t)(count * width) * sizeof *outputs))
    status = mica__fail(MICA_E_STATE, "the network has no output '%s' of %lld numbers", output, (long long)width);
  if (status == MICA_OK) status = mica_tensor_download(queue, result, outputs, mica_tensor_bytes(result));
  for (size_t i = 0; i < feed_count; i++) mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  free(feeds);
  return status;
}
