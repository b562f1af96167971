/* Tracks of boxes in the frames of a video. */
#include "cli/tracks.h"
#include "cli/json.h"
#include "cli/result.h"

#include <math.h>
#include <mica/api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of a box that is tracked: x0, y0, x1, y1, score, id. */
#define BOX_NUMBERS 6

static bool add_box(cli_tracks *t, const double *numbers) {
  if (t->count == t->capacity) {
    const size_t capacity = 2 * t->capacity + 64;
    mica_track_box *grown = realloc(t->list, capacity * sizeof *grown);
    if (!grown) return false;
    t->list = grown;
    t->capacity = capacity;
  }
  mica_track_box *to = &t->list[t->count++];
  *to = (mica_track_box){.frame = t->frames, .id = (int64_t)numbers[5], .score = numbers[4], .class_index = -1};
  memcpy(to->box, numbers, sizeof to->box);
  return true;
}

bool cli_tracks_add(cli_tracks *t, const mica_report *prediction) {
  bool good = true;
  for (size_t s = 0; good && s < mica_report_count(prediction); s++) {
    const mica_item *boxes = mica_report_find(prediction, s, "boxes");
    t->frames++;
    if (!boxes || boxes->columns != BOX_NUMBERS) continue;
    for (size_t i = 0; good && i < boxes->rows; i++)
      if (isfinite(boxes->numbers[BOX_NUMBERS * i + 5])) good = add_box(t, boxes->numbers + BOX_NUMBERS * i);
  }
  return good;
}

void cli_tracks_free(cli_tracks *t) {
  free(t->list);
  *t = (cli_tracks){0};
}

int cli_tracks_check(const cli_command *self, const mica_run *run) {
  if (mica_run_takes(run, MICA_RUN_OPTION_TRACK)) return CLI_OK;
  cli_fail(self, "--track needs a run of the task detect; --model has the task %s", mica_run_task(run));
  return CLI_USAGE;
}

/* --- scores --- */

typedef struct evaluating {
  const cli_command *self;
  cli_tracks tracks;
  bool said; /* a message about the failure has been printed */
} evaluating;

static mica_status take(void *user, const mica_report *sections) {
  evaluating *e = user;
  if (cli_tracks_add(&e->tracks, sections)) return MICA_OK;
  cli_fail(e->self, "there is not enough memory");
  e->said = true;
  return MICA_E_NOMEM;
}

/* Finds tracks in the pictures of a folder. */
static int find_tracks(mica_run *run, const char *folder, evaluating *e) {
  mica_tracker *tracker = NULL;
  mica_report *prediction = NULL;
  mica_status status = mica_tracker_create(NULL, &tracker);
  const mica_run_input input = {.files = &folder, .file_count = 1, .tracker = tracker, .take = take, .user = e};
  if (status == MICA_OK) status = mica_run_predict(run, &input, &prediction);
  mica_report_destroy(prediction);
  mica_tracker_destroy(tracker);
  return status == MICA_OK ? CLI_OK : e->said ? CLI_FAILED : cli_fail_library(e->self);
}

static int print_json(const cli_command *self, const mica_run *run, const mica_track_scores *s) {
  const struct {
    const char *name;
    int64_t count;
  } counts[] = {{"frames", s->frames},
                {"true_boxes", s->true_boxes},
                {"found_boxes", s->found_boxes},
                {"true_tracks", s->true_tracks},
                {"found_tracks", s->found_tracks},
                {"matches", s->matches},
                {"switches", s->switches},
                {"misses", s->misses},
                {"false_positives", s->false_positives},
                {"mostly_tracked", s->mostly_tracked},
                {"mostly_lost", s->mostly_lost}};
  const struct {
    const char *name;
    double value;
  } scores[] = {{"mota", s->mota}, {"motp", s->motp}, {"idf1", s->idf1}, {"idp", s->idp}, {"idr", s->idr}};
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", mica_run_task(run));
  cJSON *metrics = cli_json_object(&json, json.root, "metrics");
  for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
    cli_json_real(&json, metrics, scores[i].name, scores[i].value);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    cli_json_integer(&json, metrics, counts[i].name, (uint64_t)counts[i].count);
  return cli_json_print_line(&json, self);
}

static void print_scores(const mica_track_scores *s) {
  printf("MOTA %.2f %%, MOTP %.2f %%, IDF1 %.2f %% (precision %.2f %%, recall %.2f %%)\n", 100 * s->mota, 100 * s->motp,
         100 * s->idf1, 100 * s->idp, 100 * s->idr);
  printf("%lld id switches, %lld misses, %lld false positives; %lld true boxes in %lld frames\n",
         (long long)s->switches, (long long)s->misses, (long long)s->false_positives, (long long)s->true_boxes,
         (long long)s->frames);
  printf("%lld true tracks: %lld mostly tracked, %lld mostly lost; %lld found tracks\n", (long long)s->true_tracks,
         (long long)s->mostly_tracked, (long long)s->mostly_lost, (long long)s->found_tracks);
}

/* Refuses a file in which all boxes have the score 0 and so do not count, because the scores would divide by 0. Also
 * refuses boxes that count but have no id. */
static int check_truths(const cli_command *self, const char *path, const mica_track_box *truths, size_t count) {
  size_t counted = 0;
  for (size_t i = 0; i < count; i++) {
    counted += truths[i].score != 0;
    if (truths[i].score != 0 && truths[i].id < 0)
      return cli_fail(self, "%s: a box of frame %lld has no id; true boxes need ids of 0 or more", path,
                      (long long)truths[i].frame);
  }
  if (counted) return CLI_OK;
  return cli_fail(self,
                  count ? "%s has no true boxes to score against: the confidence of each is 0, so none counts"
                        : "%s has no true boxes to score against",
                  path);
}

static int check_frames(const cli_command *self, const char *path, const mica_track_box *truths, size_t count,
                        int64_t frames) {
  for (size_t i = 0; i < count; i++)
    if (truths[i].frame > frames)
      return cli_fail(self, "%s has boxes of frame %lld, but there are only %lld pictures", path,
                      (long long)truths[i].frame, (long long)frames);
  return CLI_OK;
}

static int score(const evaluating *e, const char *path, const mica_track_box *truths, size_t count,
                 mica_track_scores *scores) {
  const cli_tracks *t = &e->tracks;
  const int status = check_frames(e->self, path, truths, count, t->frames);
  if (status != CLI_OK) return status;
  if (mica_track_evaluate(truths, count, t->list, t->count, 0, scores) != MICA_OK) return cli_fail_library(e->self);
  return CLI_OK;
}

int cli_tracks_eval(const cli_command *self, mica_run *run, const char *folder, bool json) {
  char pictures[4096], path[4096];
  evaluating e = {.self = self};
  mica_track_box *truths = NULL;
  mica_track_scores scores;
  size_t count = 0;
  const int length = snprintf(path, sizeof path, "%s/gt/gt.txt", folder);
  snprintf(pictures, sizeof pictures, "%s/img1", folder);
  if (length < 0 || (size_t)length >= sizeof path) return cli_fail(self, "the path %s is too long", folder);
  if (mica_track_read(path, &truths, &count) != MICA_OK) return cli_fail_library(self);
  int status = check_truths(self, path, truths, count);
  if (status == CLI_OK) status = find_tracks(run, pictures, &e);
  if (status == CLI_OK) status = score(&e, path, truths, count, &scores);
  if (status == CLI_OK) cli_print_remarks(self, run);
  if (status == CLI_OK && json) status = print_json(self, run, &scores);
  if (status == CLI_OK && !json) print_scores(&scores);
  cli_tracks_free(&e.tracks);
  mica_free(truths);
  return status;
}
