#include "cli/number.h"
#include "cli/picture.h"
#include "cli/predict_published.h"
#include "cli/prediction_csv.h"
#include "cli/result.h"
#include "cli/sample_names.h"
#include "cli/search.h"
#include "cli/standard_input.h"
#include "cli/tally.h"
#include "cli/text.h"
#include "cli/tracks.h"

#include <mica/data.h>
#include <mica/foundation.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Maximum of --count, and of the samples of --data that --csv predicts without it. */
#define MOST_SAMPLES 100000

struct values {
  cli_words inputs;
  const char *model, *text, *data, *count, *top, *threshold, *length_penalty, *out, *csv, *precision, *device, *gallery;
  const char *of_class, *seed, *steps, *guidance, *mot;
  cli_search search;
  bool pictures, json, track;
};

static const cli_option options[] = {
    CLI_ROW("INPUT", struct values, inputs, .role = CLI_OPTIONAL_OPERAND,
            .help = "pictures, recordings, volumes, folders of them, a table, an array (.npy) or texts; - for standard "
                    "input"),
    CLI_ROW("model", struct values, model, .value = "RUN",
            .help = "folder of a run or of a published classifier, or a model written by mica export (required)"),
    CLI_ROW("text", struct values, text, .value = "TEXT", .help = "text to predict for, instead of INPUT",
            .blank = true),
    CLI_ROW("data", struct values, data, .value = "DATA", .help = "data whose test part to predict, instead of INPUT"),
    CLI_ROW("count", struct values, count, .value = "N",
            .help = "number of samples of --data, or of pictures to draw (default: 10, or all samples with --csv)"),
    CLI_ROW("class", struct values, of_class, .value = "NAME",
            .help = "diffuse: draw pictures of this class (default: the classes in turn)"),
    CLI_ROW("seed", struct values, seed, .value = "N", .help = "diffuse: seed of the noise (default 0)"),
    CLI_ROW("steps", struct values, steps, .value = "N",
            .help = "diffuse: steps to draw a picture (default: the run's --sample-steps)"),
    CLI_ROW("guidance", struct values, guidance, .value = "G",
            .help = "diffuse: how strongly pictures follow their class; 1: as trained (default: the run's --guidance)"),
    CLI_ROW("top", struct values, top, .value = "K",
            .help = "number of likeliest classes, or of nearest files, to show (default 3)"),
    CLI_ROW("threshold", struct values, threshold, .value = "P",
            .help = "show labels with a probability above P, or boxes that score P or more (default: 0.5 for labels, "
                    "the run's --least-score for boxes)"),
    CLI_ROW("gallery", struct values, gallery, .value = "DIR",
            .help = "verify: show the files in this folder that are nearest to each input"),
    CLI_ROW("track", struct values, track,
            .help = "detect: follow boxes from frame to frame; INPUT is a folder of the frames of a video"),
    CLI_ROW("mot", struct values, mot, .value = "FILE",
            .help = "with --track: write boxes with ids in the format of MOTChallenge: "
                    "frame,id,left,top,width,height,score,-1,-1,-1"),
    CLI_ROW("beam", struct values, search.beam, .value = "N",
            .help = "translate and speech: beam width (default: 1 for translate; for speech the run's, or 16 with "
                    "--text-model)"),
    CLI_ROW("length-penalty", struct values, length_penalty, .value = "A",
            .help = "translate: divide the log probability of a translation by tokens^A (default: the run's)"),
    CLI_SEARCH_ROWS(struct values),
    CLI_ROW("csv", struct values, csv, .value = "FILE",
            .help = "write a table with name or row, prediction and, for up to 100 classes, their probabilities; - for "
                    "standard output"),
    CLI_ROW("out", struct values, out, .value = "DIR",
            .help = "folder for predicted pictures and masks; or NAME.png for all of them in a grid; or NAME.nii or "
                    "NAME.nii.gz for the mask of one volume (default MODEL/predictions)"),
    CLI_ROW("pictures", struct values, pictures, .help = "show predicted pictures in the terminal"),
    CLI_ROW("precision", struct values, precision, .value = "TYPE", .help = CLI_PRECISION_HELP),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and predictions"),
    {0},
};

typedef int picture_fn(const cli_command *self, const char *path, const mica_item *item, bool quiet);

static int refuse_picture(const cli_command *self, const char *path, const mica_item *item, bool quiet) {
  (void)item, (void)quiet;
  return cli_refuse_file(self, path, "choose another folder with --out");
}

/* Without --out, pictures are written to RUN/predictions and replace files there. So that nothing outside that folder
 * is overwritten, this refuses a path that exists and is not of `type` (S_IFDIR or S_IFREG), such as a link. */
static int refuse_link(const cli_command *self, const char *path, mode_t type) {
  struct stat about;
  if (lstat(path, &about) != 0 || (about.st_mode & S_IFMT) == type) return CLI_OK;
  return cli_fail(self, "%s is a link or not a %s, and is not written to; choose another folder with --out", path,
                  type == S_IFDIR ? "folder" : "file");
}

static int refuse_linked_picture(const cli_command *self, const char *path, const mica_item *item, bool quiet) {
  (void)item, (void)quiet;
  return refuse_link(self, path, S_IFREG);
}

/* Writes a predicted picture or file to path. Prints the path unless `quiet`. */
static int write_picture(const cli_command *self, const char *path, const mica_item *item, bool quiet) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  const bool file = item->kind == MICA_ITEM_KIND_FILE;
  mica_status status = file ? MICA_OK : mica_png_encode(item->planes, item->shape, &png, &bytes);
  if (status == MICA_OK)
    status = mica_file_write(path, file ? item->planes : png, file ? (size_t)item->shape.dim[0] : bytes);
  mica_free(png);
  if (status != MICA_OK) return cli_fail_library(self);
  if (!quiet) printf("written   %s\n", cli_clean(path));
  return CLI_OK;
}

static int each_picture(const cli_command *self, const char *folder, char *const *names, const mica_report *p,
                        bool quiet, picture_fn *fn) {
  for (size_t s = 0; s < mica_report_count(p); s++)
    for (size_t i = 0; i < mica_report_item_count(p, s); i++) {
      const mica_item *item = mica_report_item(p, s, i);
      char path[CLI_PICTURE_PATH];
      if (!cli_picture_is_written(item)) continue;
      if (!cli_picture_path(path, folder, names[s], item)) return cli_fail(self, "a path in %s is too long", folder);
      const int status = fn(self, path, item, quiet);
      if (status != CLI_OK) return status;
    }
  return CLI_OK;
}

/* True if standard output is meant for a program (--json, --csv -), so that nothing else may be printed there. */
static bool is_quiet(const struct values *v) { return v->json || (v->csv && !strcmp(v->csv, "-")); }

static bool ends(const char *text, const char *ending) {
  const size_t n = text ? strlen(text) : 0, m = strlen(ending);
  return n > m && !strcasecmp(text + n - m, ending);
}

/* True for --out NAME.png: all pictures go into one file. */
static bool is_grid(const struct values *v) { return ends(v->out, ".png"); }

/* True for --out NAME.nii.gz or NAME.nii: the predicted volume goes into this file. */
static bool is_volume(const struct values *v) { return ends(v->out, ".nii.gz") || ends(v->out, ".nii"); }

/* Writes the predicted volume to --out. Fails unless exactly one sample was predicted and it has a volume. */
static int write_volume(const cli_command *self, const struct values *v, const mica_report *prediction) {
  const mica_item *found = NULL;
  int status = cli_refuse_file(self, v->out, "choose another file with --out");
  if (status == CLI_OK) status = cli_check_parent(self, v->out);
  for (size_t i = 0; i < mica_report_item_count(prediction, 0); i++) {
    const mica_item *item = mica_report_item(prediction, 0, i);
    if (item->kind == MICA_ITEM_KIND_FILE) found = item;
  }
  if (status != CLI_OK) return status;
  if (!found || mica_report_count(prediction) != 1)
    return cli_fail(self, "--out %s is for the mask of exactly one volume; otherwise choose a folder", v->out);
  if (!ends(v->out, found->text))
    return cli_fail(self, "--out %s: this build cannot compress masks; choose NAME%s", v->out, found->text);
  return write_picture(self, v->out, found, is_quiet(v));
}

static int write_grid(const cli_command *self, const struct values *v, const mica_report *prediction) {
  mica_item grid = {0};
  uint8_t *planes = NULL;
  int status = cli_refuse_file(self, v->out, "choose another file with --out");
  if (status == CLI_OK) status = cli_check_parent(self, v->out);
  if (status != CLI_OK) return status;
  const char *wrong = cli_picture_grid(prediction, &grid, &planes);
  if (wrong) return cli_fail(self, "--out %s: %s; choose a folder with --out", v->out, wrong);
  status = write_picture(self, v->out, &grid, is_quiet(v));
  free(planes);
  return status;
}

/* Prints the prediction as text (not with --json; with --csv only for --pictures), adds it to the table `csv`, and
 * writes its pictures to `folder`. csv and folder may be NULL. Before anything is written, fails if the path of a
 * picture exists (if `refuses`), or is a link or no file (if not). */
static int show_pictures(const cli_command *self, const struct values *v, const char *folder, bool refuses,
                         const mica_report *prediction, cli_sample_names *n, cli_csv *csv) {
  const size_t before = n->count;
  int status = folder ? cli_sample_names_add(self, prediction, v->data != NULL, n) : CLI_OK;
  char *const *names = n->list ? n->list + before : NULL;
  if (status == CLI_OK && folder && !refuses) status = refuse_link(self, folder, S_IFDIR);
  if (status == CLI_OK && folder)
    status = each_picture(self, folder, names, prediction, true, refuses ? refuse_picture : refuse_linked_picture);
  if (status == CLI_OK && !v->json && (!v->csv || v->pictures)) cli_print_prediction(prediction, v->pictures);
  if (status == CLI_OK && folder) status = each_picture(self, folder, names, prediction, is_quiet(v), write_picture);
  if (status == CLI_OK && csv) cli_csv_add(csv, prediction, folder, names);
  return status;
}

/* A prediction that is shown part by part. */
typedef struct showing {
  const cli_command *self;
  const struct values *v;
  const mica_run *run;
  cli_csv *csv; /* NULL: no table is written */
  cli_tally tally;
  cli_sample_names names;   /* of all samples whose pictures were written */
  cli_tracks tracks;        /* with --mot */
  bool begun, counted;      /* the JSON object was begun; the number of predictions was printed */
  size_t unread, predicted; /* files that cannot be read, and samples that were predicted */
  int status;               /* exit status of the first failure */
} showing;

/* Prints the sections of `prediction` as further elements of the list "predictions". The first call also prints the
 * beginning of the JSON object. */
static int show_json(showing *s, const mica_report *prediction) {
  static const char before[] = "{\"predictions\": [";
  char *text = NULL;
  if (mica_report_json(prediction, "predictions", "", &text) != MICA_OK) return cli_fail_library(s->self);
  if (s->begun)
    fputs(", ", stdout);
  else
    printf("{\"task\": \"%s\", \"predictions\": [", mica_run_task(s->run));
  s->begun = true;
  fwrite(text + sizeof before - 1, 1, strlen(text) - (sizeof before - 1) - strlen("]}"), stdout);
  mica_free(text);
  return CLI_OK;
}

static bool has_item(const mica_report *p, bool (*is)(const mica_item *item)) {
  for (size_t s = 0; s < mica_report_count(p); s++)
    for (size_t i = 0; i < mica_report_item_count(p, s); i++)
      if (is(mica_report_item(p, s, i))) return true;
  return false;
}

static bool is_picture(const mica_item *item) { return item->planes != NULL; }
static bool is_choice(const mica_item *item) {
  return item->kind == MICA_ITEM_KIND_CHOICES || !strcmp(item->name, "nearest");
}

static int check_shown(const showing *s, const mica_report *prediction) {
  const struct values *v = s->v;
  const char *task = mica_run_task(s->run);
  if (!mica_report_count(prediction)) return CLI_OK;
  if (ends(v->out, ".csv") && !has_item(prediction, cli_picture_is_written))
    cli_fail(s->self, "--out is for pictures that are predicted; --csv %s writes a table of predictions", v->out);
  else if (v->out && !has_item(prediction, cli_picture_is_written))
    cli_fail(s->self, "--out %s is for pictures that are predicted; the task %s of --model predicts none", v->out,
             task);
  else if (v->pictures && !has_item(prediction, is_picture))
    cli_fail(s->self, "--pictures shows pictures; the task %s of --model has none here", task);
  else if (v->top && !v->gallery && mica_run_takes(s->run, MICA_RUN_OPTION_GALLERY))
    cli_fail(s->self, "--top needs --gallery with the task %s of --model: it is the number of nearest files to show",
             task);
  else if (v->top && !has_item(prediction, is_choice))
    cli_fail(s->self, "--top needs classes; the task %s of --model predicts none here", task);
  else
    return CLI_OK;
  return CLI_USAGE;
}

static int show(showing *s, const mica_report *prediction) {
  const struct values *v = s->v;
  char folder[4096];
  const bool some = has_item(prediction, cli_picture_is_written);
  const int fits = check_shown(s, prediction);
  if (fits != CLI_OK) return fits;
  /* Pictures of --data are written only to --out, others to --out or, without it, to the folder predictions of the
   * run. */
  snprintf(folder, sizeof folder, v->out ? "%s" : "%s/predictions", v->out ? v->out : v->model);
  const bool written = some && (v->out || !v->data) && !is_grid(v) && !is_volume(v);
  int status = some && is_grid(v)     ? write_grid(s->self, v, prediction)
               : some && is_volume(v) ? write_volume(s->self, v, prediction)
                                      : CLI_OK;
  if (status != CLI_OK) return status;
  status = show_pictures(s->self, v, written ? folder : NULL, v->out != NULL, prediction, &s->names, s->csv);
  return status != CLI_OK || !v->json ? status : show_json(s, prediction);
}

static mica_status take(void *user, const mica_report *sections) {
  showing *s = user;
  s->status = show(s, sections);
  if (s->status == CLI_OK && s->v->mot && !cli_tracks_add(&s->tracks, sections))
    s->status = cli_fail(s->self, "there is not enough memory");
  s->predicted += mica_report_count(sections);
  if (s->status == CLI_OK) cli_tally_add(&s->tally, sections);
  return s->status == CLI_OK ? MICA_OK : MICA_E_STATE;
}

static void pass_over(void *user, const char *file, const char *reason) {
  showing *s = user;
  (void)file;
  cli_fail(s->self, "%s", reason);
  s->unread++;
}

/* True if an input is a folder. The number of predictions is then printed at the end, because a folder may have too
 * many files for a user to read a line about each. */
static bool has_folder(const struct values *v) {
  bool has = false;
  for (size_t i = 0; i < v->inputs.count; i++) has = has || cli_is_folder(v->inputs.words[i]);
  return has;
}

/* Prints how many files cannot be read, unless the only file was reported already. Returns CLI_FAILED. */
static int count_unread(const showing *s) {
  const char *plural = s->unread == 1 ? "" : "s";
  if (!s->predicted && s->unread > 1) cli_fail(s->self, "none of the %zu files can be read", s->unread);
  if (s->counted) cli_fail(s->self, "%zu file%s cannot be read", s->unread, plural);
  if (s->predicted && !s->counted)
    cli_fail(s->self, "%zu file%s cannot be read; %zu sample%s predicted", s->unread, plural, s->predicted,
             s->predicted == 1 ? " was" : "s were");
  return CLI_FAILED;
}

/* Prints the end of the JSON object; also the beginning if there were no predictions. */
static void end_json(const showing *s) {
  if (!s->begun) printf("{\"task\": \"%s\", \"predictions\": [", mica_run_task(s->run));
  puts("]}");
}

static int write_csv(const showing *s) {
  const int status = cli_csv_write(s->self, s->csv, s->v->csv);
  if (status == CLI_OK && !is_quiet(s->v)) printf("written   %s\n", cli_clean(s->v->csv));
  return status;
}

static int write_tracks(const showing *s) {
  if (mica_track_write(s->v->mot, s->tracks.list, s->tracks.count) != MICA_OK) return cli_fail_library(s->self);
  if (!is_quiet(s->v)) printf("written   %s\n", cli_clean(s->v->mot));
  return CLI_OK;
}

/* Sets how much to predict for --csv: without --top, the probabilities of all classes (if there are at most
 * CLI_CSV_CLASSES); without --count, up to MOST_SAMPLES samples of --data. */
static void set_extent(const struct values *v, const mica_run *run, mica_run_input *input) {
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  if (v->csv && !v->top && classes <= CLI_CSV_CLASSES && (int64_t)classes > input->top) input->top = (int64_t)classes;
  if (v->csv && v->data && !v->count) input->count = MOST_SAMPLES;
}

static int fail_inputs(const cli_command *self) {
  cli_fail(self, "give either inputs, --text or --data; mica predict --help shows the usage");
  return CLI_USAGE;
}

/* Parses the options that have numbers as values. Returns an exit status. */
static int read_numbers(const cli_command *self, const struct values *v, mica_run_input *input) {
  double penalty = 0;
  int status = cli_integer(self, "count", v->count, 1, MOST_SAMPLES, &input->count);
  if (status == CLI_OK) status = cli_integer(self, "top", v->top, 1, 1000, &input->top);
  if (status == CLI_OK) status = cli_integer(self, "beam", v->search.beam, 1, 64, &input->beams);
  int64_t seed = 0;
  if (status == CLI_OK) status = cli_integer(self, "seed", v->seed, 0, INT64_MAX, &seed);
  if (status == CLI_OK) status = cli_integer(self, "steps", v->steps, 1, 10000, &input->steps);
  if (status == CLI_OK) status = cli_number(self, "guidance", v->guidance, 0, 100, &input->guidance);
  if (v->guidance && input->guidance == 0) input->guidance = MICA_ZERO;
  input->seed = (uint64_t)seed;
  if (status == CLI_OK) status = cli_number(self, "threshold", v->threshold, 0, 1, &input->threshold);
  if (v->threshold && input->threshold == 0) input->threshold = MICA_ZERO;
  if (status == CLI_OK) status = cli_number(self, "length-penalty", v->length_penalty, 0, 10, &penalty);
  input->length_penalty = v->length_penalty && penalty == 0 ? MICA_ZERO : penalty;
  return status;
}

static int set_search(const cli_command *self, const struct values *v, mica_run *run, const mica_text_search *search) {
  const bool hears = mica_run_takes(run, MICA_RUN_OPTION_SEARCH) && v->search.beam;
  const bool translates = mica_run_takes(run, MICA_RUN_OPTION_BEAMS);
  if ((v->search.beam && !hears && !translates) || (v->length_penalty && !translates))
    return cli_fail(self, "--%s has no effect on the task %s of --model",
                    v->length_penalty && !translates ? "length-penalty" : "beam", mica_run_task(run));
  if (v->length_penalty && (!v->search.beam || !strcmp(v->search.beam, "1"))) {
    cli_fail(self, "--length-penalty needs several hypotheses: set --beam to 2 or more");
    return CLI_USAGE;
  }
  if (!hears && !search->text_model) return CLI_OK;
  return mica_run_search(run, search) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

/* Refuses --out with the ending of a picture format that Mica does not write. For a run that draws pictures, also
 * refuses inputs; for any other run, options for drawing and a command without inputs. */
static int check_drawing(const cli_command *self, const struct values *v, const mica_run *run) {
  const bool draws = mica_run_takes(run, MICA_RUN_OPTION_DRAW), given = v->data || v->text || v->inputs.count;
  const char *const named[] = {"class", "seed", "steps", "guidance"};
  const char *const values[] = {v->of_class, v->seed, v->steps, v->guidance};
  const int writes = cli_refuse_picture(self, v->out);
  if (writes != CLI_OK) return writes;
  if (draws && given) {
    cli_fail(self, "the task %s of --model draws pictures and takes no inputs, --text or --data", mica_run_task(run));
    return CLI_USAGE;
  }
  if (draws) return CLI_OK;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (values[i]) {
      cli_fail(self, "--%s is for runs that draw pictures; the task of --model is %s", named[i], mica_run_task(run));
      return CLI_USAGE;
    }
  return given ? CLI_OK : fail_inputs(self);
}

static int predict(const cli_command *self, const struct values *v, mica_run *run, const mica_run_input *numbers) {
  const bool piped = v->inputs.count == 1 && !strcmp(v->inputs.words[0], "-");
  mica_run_input input = *numbers;
  if (!v->data && !mica_run_takes(run, MICA_RUN_OPTION_DRAW)) input.count = 0;
  set_extent(v, run, &input);
  mica_report *prediction = NULL;
  char *text = NULL;
  if (v->data) {
    input.data = v->data;
    input.part = MICA_PART_TEST;
  } else if (v->text) {
    input.text = v->text;
  } else if (piped) {
    if (!(text = cli_read_standard_input(self))) return CLI_FAILED;
    input.text = text;
    input.name = "standard input";
  } else if (v->inputs.count) {
    input.files = (const char *const *)v->inputs.words;
    input.file_count = v->inputs.count;
  }
  showing shown = {.self = self, .v = v, .run = run};
  if (v->track && mica_tracker_create(NULL, &input.tracker) != MICA_OK) return cli_fail_library(self);
  if (v->csv && !(shown.csv = cli_csv_create(run))) {
    mica_tracker_destroy(input.tracker);
    free(text);
    return cli_fail(self, "there is not enough memory");
  }
  input.gallery = v->gallery;
  input.plain_masks = ends(v->out, ".nii");
  input.of_class = v->of_class;
  input.take = take;
  input.unread = v->track ? NULL : pass_over; /* skipping a frame would give later frames wrong numbers */
  input.user = &shown;
  int status = mica_run_predict(run, &input, &prediction) == MICA_OK                      ? CLI_OK
               : shown.status != CLI_OK                                                   ? shown.status
               : shown.unread && !shown.predicted && mica_error_status() == MICA_E_FORMAT ? count_unread(&shown)
                                                                                          : cli_fail_library(self);
  if (status == CLI_OK && shown.csv) status = write_csv(&shown);
  if (status == CLI_OK && v->mot) status = write_tracks(&shown);
  mica_tracker_destroy(input.tracker);
  cli_tracks_free(&shown.tracks);
  cli_sample_names_free(&shown.names);
  cli_csv_destroy(shown.csv);
  if (status == CLI_OK && v->json) end_json(&shown);
  if (status == CLI_OK) cli_print_remarks(self, run);
  shown.counted = status == CLI_OK && !v->json && has_folder(v) && cli_tally_print(self, &shown.tally);
  if (status == CLI_OK) cli_tally_say_infinite(self, &shown.tally);
  cli_tally_free(&shown.tally);
  if (status == CLI_OK && shown.unread) status = count_unread(&shown);
  mica_report_destroy(prediction);
  free(text);
  return status;
}

static int check_csv(const cli_command *self, const struct values *v) {
  if (!v->csv) return CLI_OK;
  if (!strcmp(v->csv, "-")) {
    if (!v->json && !v->pictures) return CLI_OK;
    cli_fail(self, "--csv - and --%s both write to standard output; choose one", v->json ? "json" : "pictures");
    return CLI_USAGE;
  }
  const int status = cli_refuse_file(self, v->csv, "choose another file with --csv");
  return status == CLI_OK ? cli_check_parent(self, v->csv) : status;
}

static int check_folders(const cli_command *self, const struct values *v) {
  const char *const named[] = {v->track && v->inputs.count == 1 ? v->inputs.words[0] : NULL, v->gallery};
  struct stat about;
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (named[i] && stat(named[i], &about) != 0) return cli_fail(self, "there is no folder %s", named[i]);
  return CLI_OK;
}

/* Checks the options of tracking: frames must be in one folder, and neither --mot nor --out may exist yet. */
static int check_track(const cli_command *self, const struct values *v) {
  const char *wrong = v->mot && !v->track ? "--mot needs --track"
                      : !v->track         ? NULL
                      : v->inputs.count != 1 || !cli_is_folder(v->inputs.words[0])
                          ? "--track takes one folder, of the frames of a video"
                      : is_grid(v) ? "--track draws many pictures; choose a folder with --out"
                                   : NULL;
  if (wrong) {
    cli_fail(self, "%s", wrong);
    return CLI_USAGE;
  }
  int status = v->mot ? cli_refuse_file(self, v->mot, "choose another file with --mot") : CLI_OK;
  if (status == CLI_OK && v->mot) status = cli_check_parent(self, v->mot);
  if (status == CLI_OK && v->track && v->out)
    status = cli_refuse_file(self, v->out, "choose another folder with --out");
  return status;
}

/* Predicts with a published model, which classifies only texts. */
static int predict_published(const cli_command *self, const struct values *v, int64_t top) {
  const bool piped = v->inputs.count == 1 && !strcmp(v->inputs.words[0], "-");
  char *lines = NULL;
  if (!v->text && !piped) {
    cli_fail(self, "%s is a published model: give --text, or - for texts in lines of standard input", v->model);
    return CLI_USAGE;
  }
  if (v->csv || v->out || v->pictures || v->threshold || v->track || v->mot || v->search.beam || v->gallery ||
      v->precision) {
    cli_fail(self, "%s is a published model, which takes only texts, --top, --json and --device", v->model);
    return CLI_USAGE;
  }
  if (piped && !(lines = cli_read_standard_input(self))) return CLI_FAILED;
  const cli_published job = {
      .model = v->model, .device = v->device, .text = v->text, .lines = lines, .top = top, .json = v->json};
  const int status = cli_predict_published(self, &job);
  free(lines);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_run_input numbers = {.count = 10, .top = 3};
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  mica_text_search search;
  int status = read_numbers(self, v, &numbers);
  if (status == CLI_OK) status = cli_take_search(self, &v->search, &search);
  if (status != CLI_OK) return status;
  if (!v->model) {
    cli_fail(self, "--model is missing: a folder that mica train wrote, a published model, or a file of mica export");
    return CLI_USAGE;
  }
  if (!!v->data + !!v->text + !!v->inputs.count > 1) return fail_inputs(self);
  if (v->pictures && v->json) {
    cli_fail(self, "--pictures shows pictures in the terminal, and --json replaces that output; choose one");
    return CLI_USAGE;
  }
  if (v->count && !v->data && (v->text || v->inputs.count)) {
    cli_fail(self, "--count is for --data; all inputs are predicted");
    return CLI_USAGE;
  }
  if (mica_foundation_is(v->model)) return predict_published(self, v, numbers.top);
  status = check_csv(self, v);
  if (status == CLI_OK) status = check_folders(self, v);
  if (status == CLI_OK) status = check_track(self, v);
  if (status != CLI_OK) return status;
  status =
      cli_open_run_as(self, v->model, &(mica_run_open_config){.precision = v->precision}, v->device, &engine, &trained);
  if (status == CLI_OK) status = check_drawing(self, v, trained);
  if (status == CLI_OK && v->threshold && !mica_run_takes(trained, MICA_RUN_OPTION_THRESHOLD))
    status = cli_fail(self,
                      "--threshold is for the task detect, and for classify, text_labels, sound_labels and fuse_labels "
                      "if samples have several labels; the task of --model is %s",
                      mica_run_task(trained));
  if (status == CLI_OK && v->track) status = cli_tracks_check(self, trained);
  if (status == CLI_OK) status = set_search(self, v, trained, &search);
  if (status == CLI_OK) status = predict(self, v, trained, &numbers);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_predict = {
    .name = "predict",
    .summary = "predict for pictures, rows, recordings or texts with a trained network",
    .details = "\nPictures are scaled and cropped to the size of training. For detect they are\n"
               "scaled to fit and padded. For segment and depth they keep their size and are\n"
               "predicted in tiles. If a folder has no pictures, those in its subfolders are\n"
               "predicted; if these are named after classes, the true class is shown. Files that\n"
               "cannot be read are named, the others are predicted, and the exit status is 1.\n"
               "For a folder, without --json, a line on standard error counts the samples and\n"
               "the predicted classes.\n"
               "\n"
               "A table needs the columns of the training table; the answers may be missing. If\n"
               "a column holds classes, the first line must name the columns. If a table has no\n"
               "names and one column more than the network reads, that column is taken as the\n"
               "answers, with a message.\n"
               "\n"
               "An array has numbers in the range of the training data. A run that was trained\n"
               "on u8, which is divided by 255, takes u8, or floats from 0 to 1; other runs take\n"
               "no u8. Large numbers that differ little, such as seconds since 1970, need f64 or\n"
               "integers.\n"
               "\n"
               "A forecast continues after the last row of a table. Empty cells are\n"
               "interpolated. Empty cells and gaps between times are reported.\n"
               "\n"
               "Text files are translated line by line, tables (.csv, .tsv) row by row, with the\n"
               "true translations if the table has them. A larger --beam finds better\n"
               "translations and takes more time.\n"
               "\n"
               "Predicted masks and pictures with boxes are written to NAME-mask.png and\n"
               "NAME-overlay.png, depths to NAME-depth.png, -depth.npy and -colours.png. In\n"
               "MODEL/predictions they replace older files; with --out no file is overwritten.\n"
               "\n"
               "With --track, boxes of the same object have the same id in all frames. An\n"
               "object gets its id in the fourth consecutive frame that shows it; in the first\n"
               "three frames of the video, every box has an id. Frames are sorted by name, with\n"
               "numbers by value: frame9 comes before frame10. Prediction stops at the first\n"
               "frame that cannot be read. --out must name a new folder.\n"
               "\n"
               "MODEL may be the folder of a published classifier of texts, such as one of\n"
               "BertForSequenceClassification, with config.json, model.safetensors and\n"
               "tokenizer.json. Its names of classes are shown:\n"
               "\n"
               "  mica predict --model sentiment --text \"A fine film.\"\n"
               "\n"
               "Another number of samples may use other kernels, so results may differ by\n"
               "rounding.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
