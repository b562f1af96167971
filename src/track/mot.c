/* MOTChallenge's text format: a box per line. */
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "track/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns that are read; further ones are ignored. */
enum { FRAME, ID, LEFT, TOP, WIDTH, HEIGHT, SCORE, CLASS, COLUMNS };
/* Integers up to this are exact in f64. */
#define MOST 9007199254740992.0
/* Numbers with this many bytes or more are refused. */
#define NUMBER_BYTES 64

/* Reads a number between commas or white space; returns its end, or NULL if the text is not a number. */
static const char *read_number(const char *at, const char *end, double *number) {
  char copy[NUMBER_BYTES], *stop;
  size_t bytes = 0;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  while (at + bytes < end && !strchr(", \t\r", at[bytes]) && at[bytes]) bytes++;
  if (!bytes || bytes >= sizeof copy) return NULL;
  memcpy(copy, at, bytes);
  copy[bytes] = '\0';
  *number = mica__strtod(copy, &stop);
  return *stop || !isfinite(*number) ? NULL : at + bytes;
}

static const char *pass_blanks(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
  return at;
}

/* Reads the numbers of a line; returns 0 if the line is malformed. Numbers are separated by a comma or by blanks. */
static size_t read_line(const char *at, const char *end, double numbers[COLUMNS]) {
  size_t count = 0;
  for (;;) {
    double ignored;
    at = read_number(at, end, count < COLUMNS ? &numbers[count] : &ignored);
    if (!at) return 0;
    count++;
    at = pass_blanks(at, end);
    if (at == end) return count;
    if (*at == ',') at++;
  }
}

static bool is_integer(double x, double least) { return x == floor(x) && x >= least && x <= MOST; }

/* Describes the fault in the numbers of a line; NULL: the line is right. */
static const char *complaint(const double n[COLUMNS], size_t count) {
  if (!count) return "expected numbers that are finite, with commas or blanks between them";
  if (count < SCORE) return "expected frame,id,left,top,width,height";
  if (!is_integer(n[FRAME], 1)) return "the frame is not an integer from 1 to 2^53";
  if (!is_integer(n[ID], -1)) return "the id is not an integer from -1 to 2^53";
  const double box[4] = {n[LEFT] - 1, n[TOP] - 1, n[LEFT] - 1 + n[WIDTH], n[TOP] - 1 + n[HEIGHT]};
  if (!mica__box_is_sound(box)) return "the box must have sides of at least 1e-9 and coordinates within 1e9";
  return NULL;
}

typedef struct list {
  mica_track_box *boxes;
  size_t *lines; /* line number of each box */
  size_t count, capacity;
} list;

static mica_status add(list *l, const double n[COLUMNS], size_t count, size_t line) {
  if (l->count == l->capacity) {
    const size_t capacity = l->capacity ? 2 * l->capacity : 64;
    mica_track_box *grown = realloc(l->boxes, capacity * sizeof *grown);
    if (grown) l->boxes = grown;
    size_t *lines = grown ? realloc(l->lines, capacity * sizeof *lines) : NULL;
    if (!lines) return mica__fail_nomem("tracks");
    l->lines = lines;
    l->capacity = capacity;
  }
  const double left = n[LEFT] - 1, top = n[TOP] - 1;
  /* In MOTChallenge's benchmark of 2015, this column and the next ones are coordinates in the world. */
  const bool has_class = count > CLASS && is_integer(n[CLASS], 0) && n[CLASS] <= INT32_MAX;
  l->lines[l->count] = line;
  l->boxes[l->count++] = (mica_track_box){.frame = (int64_t)n[FRAME],
                                          .id = (int64_t)n[ID],
                                          .box = {left, top, left + n[WIDTH], top + n[HEIGHT]},
                                          .score = count > SCORE ? n[SCORE] : 1,
                                          .class_index = has_class ? (int32_t)n[CLASS] : -1};
  return MICA_OK;
}

static mica_status read_lines(const char *name, const char *at, const char *end, list *l) {
  size_t line = 1;
  if (end - at >= 3 && !memcmp(at, "\xef\xbb\xbf", 3)) at += 3;
  for (; at < end; line++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    double numbers[COLUMNS] = {0};
    if (!stop) stop = end;
    if (pass_blanks(at, stop) < stop) {
      const size_t count = read_line(at, stop, numbers);
      const char *wrong = complaint(numbers, count);
      if (wrong) return mica__fail(MICA_E_FORMAT, "%s: line %zu: %s", name, line, wrong);
      MICA_TRY(add(l, numbers, count, line));
    }
    at = stop < end ? stop + 1 : end;
  }
  return MICA_OK;
}

/* A box with an id of 0 or more and a score other than 0, and its line. */
typedef struct named {
  int64_t frame, id;
  size_t line;
} named;

static int compare_named(const void *a, const void *b) {
  const named *x = a, *y = b;
  if (x->frame != y->frame) return x->frame < y->frame ? -1 : 1;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Refuses a frame in which two boxes have the same id. Boxes with the id -1 or with a score of 0 are not compared. */
static mica_status check_ids(const char *name, const list *l) {
  named *all = calloc(l->count + 1, sizeof *all);
  size_t count = 0;
  if (!all) return mica__fail_nomem("tracks");
  for (size_t i = 0; i < l->count; i++)
    if (l->boxes[i].id >= 0 && l->boxes[i].score != 0)
      all[count++] = (named){l->boxes[i].frame, l->boxes[i].id, l->lines[i]};
  qsort(all, count, sizeof *all, compare_named);
  mica_status status = MICA_OK;
  for (size_t i = 1; status == MICA_OK && i < count; i++)
    if (all[i].frame == all[i - 1].frame && all[i].id == all[i - 1].id)
      status = mica__fail(MICA_E_FORMAT, "%s: line %zu: frame %lld already has a box with the id %lld, in line %zu",
                          name, all[i].line, (long long)all[i].frame, (long long)all[i].id, all[i - 1].line);
  free(all);
  return status;
}

mica_status mica__track_parse(const char *name, const char *text, size_t size, mica_track_box **boxes, size_t *count) {
  list l = {.boxes = malloc(sizeof *l.boxes), .lines = malloc(sizeof *l.lines), .capacity = 1};
  mica_status status = l.boxes && l.lines ? read_lines(name, text, text + size, &l) : mica__fail_nomem("tracks");
  if (status == MICA_OK) status = check_ids(name, &l);
  free(l.lines);
  if (status != MICA_OK) {
    free(l.boxes);
    return status;
  }
  *boxes = l.boxes;
  *count = l.count;
  return MICA_OK;
}

mica_status mica_track_read(const char *path, mica_track_box **boxes, size_t *count) {
  unsigned char *text = NULL;
  size_t size = 0;
  if (!path || !boxes || !count) return mica__fail(MICA_E_INVALID, "mica_track_read: a pointer is NULL");
  MICA_TRY(mica__file_read(path, &text, &size));
  mica_status status = mica__track_parse(path, (const char *)text, size, boxes, count);
  free(text);
  return status;
}

mica_status mica_track_write(const char *path, const mica_track_box *boxes, size_t count) {
  mica__text text = {0};
  if (!path || (count && !boxes)) return mica__fail(MICA_E_INVALID, "mica_track_write: a pointer is NULL");
  mica__text_add(&text, "");
  for (const mica_track_box *b = boxes; b && b < boxes + count; b++)
    mica__text_addf(&text, "%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,-1,-1,-1\n", (long long)b->frame, (long long)b->id,
                    b->box[0] + 1, b->box[1] + 1, b->box[2] - b->box[0], b->box[3] - b->box[1], b->score);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__file_replace(path, &(mica__bytes){text.data ? text.data : "", text.length}, 1);
  mica__text_free(&text);
  return status;
}
