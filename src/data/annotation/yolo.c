/* The YOLO layout: pictures in a folder "images" and, for each, a file of the same name in a folder "labels" with one
 * line per box. A picture without such a file has no boxes. A part of the data, such as "train", is a folder within
 * each of the two (images/train) or a folder that contains them (train/images). A file such as data.yaml or classes.txt
 * may name the classes. */
#include "data/annotation/yolo.h"

#include "base/number.h"
#include "base/text.h"
#include "data/picture/image.h"
#include "data/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 24)

/* --- labels --- */

/* The class for a number in a file of boxes; if no file names the classes, the numbers are the names. */
static mica_status class_of(mica__yolo_names *n, mica__boxed *b, double number, const char *where, int32_t *out) {
  if (!(number >= 0) || number != floor(number))
    return mica__fail(MICA_E_FORMAT, "%s: the class is %.15g, but must be a whole number of 0 or above", where, number);
  if (n->file && number >= (double)n->count)
    return mica__fail(MICA_E_FORMAT, "%s: the class is %.0f, but %s has names only for the classes 0 to %zu", where,
                      number, n->file, n->count - 1);
  while (!n->file && (double)n->count <= number) {
    char name[32];
    snprintf(name, sizeof name, "%zu", n->count);
    if (number > 9999)
      return mica__fail(MICA_E_FORMAT, "%s: the class is %.0f, but must be at most 9999", where, number);
    MICA_TRY(mica__yolo_name(n, n->count, name, strlen(name), where));
    int32_t *grown = realloc(n->classes, n->count * sizeof *grown);
    if (!grown) return mica__fail_nomem("names of classes");
    n->classes = grown;
    MICA_TRY(mica__boxed_class(b, name, &n->classes[n->count - 1]));
  }
  *out = n->classes[(size_t)number];
  return MICA_OK;
}

/* The numbers of a line. first: the class, then x, y, width and height of a box; low, high: for an outline of points,
 * the smallest and largest x and y; count: how many numbers the line has. */
typedef struct line_numbers {
  double first[5], low[2], high[2];
  size_t count;
} line_numbers;

static mica_status take_numbers(const char *at, const char *where, line_numbers *out) {
  *out = (line_numbers){.low = {1, 1}};
  while (*(at += strspn(at, " \t\r"))) {
    char *end = NULL;
    const size_t length = strcspn(at, " \t\r"), k = out->count;
    const double value = mica__strtod(at, &end);
    if (end != at + length || !isfinite(value)) {
      char word[48], *shown;
      snprintf(word, sizeof word, "%.*s", (int)(length < 40 ? length : 40), at);
      shown = mica__name_printable(word);
      mica_status status = mica__fail(MICA_E_FORMAT, "%s: \"%s\" is not a finite number", where, shown ? shown : "");
      free(shown);
      return status;
    }
    if (k > 0 && !(value >= 0 && value <= 1))
      return mica__fail(MICA_E_FORMAT, "%s: %.15g must be 0 to 1: boxes are shares of the picture's width and height",
                        where, value);
    if (k < 5) out->first[k] = value;
    if (k > 0) {
      out->low[(k - 1) & 1] = fmin(out->low[(k - 1) & 1], value);
      out->high[(k - 1) & 1] = fmax(out->high[(k - 1) & 1], value);
    }
    out->count++;
    at = end;
  }
  return MICA_OK;
}

static mica_status take_line(const char *line, const double size[2], const char *where, mica__yolo_names *names,
                             mica__boxed *b) {
  line_numbers n;
  MICA_TRY(take_numbers(line, where, &n));
  if (n.count == 0) return MICA_OK;
  const bool outline = n.count >= 7 && n.count % 2;
  if (n.count != 5 && !outline)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: the line has %zu numbers, but must have 5 (class, x, y, width, height), or a class and 3 or more "
        "points",
        where, n.count);
  mica__boxed_box box = {.state = MICA__BOX_PLAIN, .area = NAN};
  MICA_TRY(class_of(names, b, n.first[0], where, &box.class_index));
  for (int k = 0; k < 2 && !outline; k++) {
    /* A box given by its centre may exceed the picture because of rounding. */
    n.low[k] = fmax(n.first[1 + k] - n.first[3 + k] / 2, 0);
    n.high[k] = fmin(n.first[1 + k] + n.first[3 + k] / 2, 1);
  }
  if (!(n.high[0] > n.low[0] && n.high[1] > n.low[1])) {
    mica__boxed_count_flat(b);
    return MICA_OK;
  }
  box.x0 = n.low[0] * size[0], box.x1 = n.high[0] * size[0];
  box.y0 = n.low[1] * size[1], box.y1 = n.high[1] * size[1];
  return mica__boxed_add(b, &box, where);
}

mica_status mica__yolo_parse(const char *path, char *content, const double size[2], mica__yolo_names *names,
                             mica__boxed *b) {
  long line = 0;
  for (char *at = content, *next; at; at = next) {
    char where[600];
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    snprintf(where, sizeof where, "%.500s, line %ld", path, ++line);
    MICA_TRY(take_line(at, size, where, names, b));
  }
  return MICA_OK;
}

/* --- folders --- */

static mica_status count_ending(const char *folder, bool (*is)(const char *), bool *found) {
  mica__names names;
  MICA_TRY(mica__names_look(folder, &names));
  *found = false;
  for (size_t i = 0; i < names.count; i++) *found = *found || is(names.names[i]);
  mica__names_free(&names);
  return MICA_OK;
}

static bool is_label(const char *name) { return mica__name_ends(name, ".txt") && strcmp(name, "classes.txt") != 0; }

/* A folder of pictures and the folder of their labels. */
typedef struct both {
  char *images, *labels;
} both;

static void free_both(both *f) {
  free(f->images);
  free(f->labels);
  *f = (both){0};
}

/* Takes FOLDER/A and FOLDER/B if A holds pictures and B holds labels. */
static mica_status try_both(const char *folder, const char *a, const char *b, both *out) {
  bool pictures = false, labels = false;
  mica_status status = mica__path_join(folder, a, &out->images);
  if (status == MICA_OK) status = mica__path_join(folder, b, &out->labels);
  if (status == MICA_OK) status = count_ending(out->images, mica__image_is_named, &pictures);
  if (status == MICA_OK && pictures) status = count_ending(out->labels, is_label, &labels);
  if (!labels) free_both(out);
  return status;
}

/* Finds FOLDER/images/train and FOLDER/labels/train, or FOLDER/train/images and FOLDER/train/labels. Any name that
 * begins with a word for the part is accepted in place of "train". */
static mica_status find_part(const char *folder, mica_part part, both *out) {
  char *inner = NULL;
  mica_status status = mica__path_join(folder, "images", &inner);
  for (int outside = 0; status == MICA_OK && !out->images && outside < 2; outside++) {
    mica__names names = {0};
    status = mica__names_look(outside ? folder : inner, &names);
    for (size_t i = 0; status == MICA_OK && !out->images && i < names.count; i++) {
      char a[512], b[512];
      const char *name = names.names[i];
      if (!mica__part_rest(part, name) || strlen(name) > 400) continue;
      snprintf(a, sizeof a, outside ? "%s/images" : "images/%s", name);
      snprintf(b, sizeof b, outside ? "%s/labels" : "labels/%s", name);
      status = try_both(folder, a, b, out);
    }
    mica__names_free(&names);
  }
  free(inner);
  return status;
}

static mica_status is_parted(const char *folder, bool *is) {
  *is = false;
  for (int part = 0; part < 3 && !*is; part++) {
    both found = {0};
    MICA_TRY(find_part(folder, (mica_part)part, &found));
    *is = found.images != NULL;
    free_both(&found);
  }
  return MICA_OK;
}

static mica_status is_folder(const char *path, bool *is) {
  both found = {0};
  MICA_TRY(is_parted(path, is));
  if (*is) return MICA_OK;
  MICA_TRY(try_both(path, "images", "labels", &found));
  *is = found.images != NULL;
  free_both(&found);
  return MICA_OK;
}

/* --- names of classes --- */

/* Reads the names of classes, one per line. */
static mica_status take_lines(const char *path, char *content, mica__yolo_names *names) {
  size_t index = 0;
  for (char *at = content, *next; at; at = next) {
    char where[600];
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    size_t length = strcspn(at, "\r");
    while (length > 0 && at[length - 1] == ' ') length--;
    if (!length && !next) break;
    snprintf(where, sizeof where, "%.500s, line %zu", path, index + 1);
    MICA_TRY(mica__yolo_name(names, index++, at, length, where));
  }
  return MICA_OK;
}

/* Sets *found to the file that names the classes: data.yaml, or else the only *.yaml or *.yml in the folder, or else
 * classes.txt in the folder, or else classes.txt in `labels`, which need not exist. */
static mica_status find_names(const char *folder, const char *labels, char **found) {
  mica__names names;
  const char *only = NULL;
  size_t count = 0;
  bool text = false, data = false;
  MICA_TRY(mica__names_read(folder, &names));
  for (size_t i = 0; i < names.count; i++) {
    const char *name = names.names[i];
    text = text || !strcmp(name, "classes.txt");
    data = data || !strcmp(name, "data.yaml");
    if (mica__name_ends(name, ".yaml") || mica__name_ends(name, ".yml")) only = name, count++;
  }
  if (data) only = "data.yaml";
  if (!data && count != 1) only = text ? "classes.txt" : NULL;
  mica_status status = only ? mica__path_join(folder, only, found) : mica__path_join(labels, "classes.txt", found);
  mica__names_free(&names);
  return status;
}

/* Reads a small file and adds a NUL after it; zero bytes within it, which would end the text, are refused. */
static mica_status read_small(const char *path, char **content) {
  uint8_t byte[1], *data = NULL;
  uint64_t all = 0;
  size_t size = 0;
  MICA_TRY(mica__file_begin(path, byte, 1, &all));
  if (all > MOST_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %llu bytes, but files of boxes and names may have at most %llu", path,
                      (unsigned long long)all, (unsigned long long)MOST_BYTES);
  MICA_TRY(mica__content_read(path, &data, &size));
  *content = (char *)data;
  return strlen(*content) == size
             ? MICA_OK
             : mica__fail(MICA_E_FORMAT, "%s holds a zero byte; if the file is in UTF-16, save it as UTF-8", path);
}

static mica_status read_names(const char *folder, const char *labels, mica__yolo_names *names, mica__boxed *b) {
  char *path = NULL, *content = NULL;
  MICA_TRY(find_names(folder, labels, &path));
  if (!mica__is_file(path)) {
    free(path);
    return MICA_OK;
  }
  names->file = path;
  mica_status status = read_small(path, &content);
  if (status == MICA_OK)
    status =
        mica__name_ends(path, ".txt") ? take_lines(path, content, names) : mica__yolo_parse_yaml(path, content, names);
  free(content);
  MICA_TRY(status);
  if (!names->count) return mica__fail(MICA_E_FORMAT, "%s names no classes", path);
  names->classes = calloc(names->count, sizeof *names->classes);
  if (!names->classes) return mica__fail_nomem("names of classes");
  int32_t next = 0;
  for (size_t i = 0; i < names->count; i++) {
    MICA_TRY(mica__boxed_class(b, names->names[i], &names->classes[i]));
    if (names->classes[i] == next)
      next++;
    else
      mica__boxed_count_merged(b);
  }
  return MICA_OK;
}

/* --- pictures --- */

#define HEADER 65536

static mica_status picture_size(const char *path, double size[2]) {
  uint8_t *bytes = malloc(HEADER);
  uint64_t all = 0;
  size_t read = 0;
  int32_t height = 0, width = 0;
  if (!bytes) return mica__fail_nomem("a picture");
  mica_status status = mica__file_begin(path, bytes, HEADER, &all);
  bool known = status == MICA_OK && mica__image_size(bytes, all < HEADER ? (size_t)all : HEADER, &height, &width);
  free(bytes);
  bytes = NULL;
  /* The size may come later in the file, after metadata. */
  if (status == MICA_OK && !known && all > HEADER) {
    status = mica__content_read(path, &bytes, &read);
    known = status == MICA_OK && mica__image_size(bytes, read, &height, &width);
    free(bytes);
  }
  MICA_TRY(status);
  size[0] = width, size[1] = height;
  return known ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is neither PNG nor JPEG, or is damaged", path);
}

static mica_status read_one(const both *folders, const char *name, mica__yolo_names *names, mica__boxed *b) {
  mica__text labels = {0};
  char *picture = NULL, *content = NULL;
  double size[2];
  MICA_TRY(mica__path_join(folders->images, name, &picture));
  mica_status status = picture_size(picture, size);
  if (status != MICA_OK) {
    free(picture);
    return status;
  }
  MICA_TRY(mica__boxed_picture(b, picture, size[0], size[1]));
  mica__text_addf(&labels, "%s/", folders->labels);
  mica__text_add_bytes(&labels, name, (size_t)(strrchr(name, '.') - name));
  mica__text_add(&labels, ".txt");
  status = mica__text_status(&labels);
  if (status == MICA_OK && !mica__is_file(labels.data))
    mica__boxed_count_bare(b);
  else if (status == MICA_OK && (status = read_small(labels.data, &content)) == MICA_OK)
    status = mica__yolo_parse(labels.data, content, size, names, b);
  free(content);
  mica__text_free(&labels);
  return status;
}

static mica_status read_all(const char *folder, const both *folders, mica__boxed *b) {
  mica__names files;
  mica__yolo_names names = {0};
  MICA_TRY(mica__names_read(folders->images, &files));
  mica_status status = read_names(folder, folders->labels, &names, b);
  for (size_t i = 0; status == MICA_OK && i < files.count; i++)
    if (mica__image_is_named(files.names[i])) status = read_one(folders, files.names[i], &names, b);
  mica__names_free(&files);
  mica__yolo_names_free(&names);
  return status;
}

static mica_status open_folder(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  both found = {0};
  bool parted = false;
  mica__boxed *b = NULL;
  (void)count;
  MICA_TRY(find_part(paths[0], config->part, &found));
  if (!found.images) MICA_TRY(is_parted(paths[0], &parted));
  if (!found.images && !parted && config->part == MICA_PART_TRAIN)
    MICA_TRY(try_both(paths[0], "images", "labels", &found));
  if (!found.images)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part with pictures and labels", paths[0],
                      mica_part_name(config->part));
  mica_status status = mica__boxed_create(store, &b);
  if (status == MICA_OK) status = read_all(paths[0], &found, b);
  free_both(&found);
  return status == MICA_OK ? mica__boxed_finish(b, config, store) : status;
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name, (void)rest;
  return false;
}

const mica__source mica__source_yolo = {
    .is_part = is_part, .is_folder = is_folder, .parts_itself = true, .open = open_folder};
