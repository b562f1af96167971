/* labels: device slow
 *
 * A step of two ranks is that of one process on the joined batch, where the losses of the ranks' shares are means of
 * different numbers of tokens, pixels or boxes, and of none. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/members.h"
#include "support/number.h"

#include <math.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SETTINGS 24

/* --- data --- */

static FILE *begin_file(const char *name) {
  files_write_text(name, ""); /* makes the folder */
  FILE *file = fopen(files_path(name), "wb");
  ck_assert_ptr_nonnull(file);
  return file;
}

/* Lines of 1 to 9 words. */
static void write_words(FILE *file, int line, int language) {
  static const char *const words[2][5] = {{"dog", "cat", "a", "runs", "red"}, {"Hund", "Katze", "ein", "rennt", "rot"}};
  for (int k = 0; k <= line * 5 % 9; k++) fprintf(file, "%s%s", k ? " " : "", words[language][(line * 3 + k * k) % 5]);
}

static void write_pairs(void) {
  for (int language = 0; language < 2; language++) {
    FILE *file = begin_file(language ? "data/train.de" : "data/train.en");
    for (int i = 0; i < 48; i++) {
      write_words(file, i, language);
      fputc('\n', file);
    }
    fclose(file);
  }
}

/* Three of four texts are of the first class. */
static void write_texts(void) {
  FILE *file = begin_file("data.csv");
  fputs("label\ttext\n", file);
  for (int i = 0; i < 48; i++) {
    fputs(i % 4 ? "ham\t" : "spam\t", file);
    write_words(file, i, i % 4 == 0);
    fputc('\n', file);
  }
  fclose(file);
}

/* A week in three has no numbers: windows whose answers are all unknown are among them. */
static void write_weeks(void) {
  FILE *file = begin_file("data.csv");
  fputs("week,a,b\n", file);
  for (int i = 0; i < 80; i++)
    if (i / 4 % 3 == 1)
      fprintf(file, "%d,,\n", i);
    else
      test_print(file, "%d,%g,%d\n", i, sin(i / 2.0), i % 7);
  fclose(file);
}

/* Histories of 3 to 13 items. */
static void write_histories(void) {
  FILE *file = begin_file("data.csv");
  fputs("user,item,timestamp\n", file);
  for (int user = 0; user < 24; user++)
    for (int k = 0; k < 3 + user * 7 % 11; k++) fprintf(file, "u%d,i%d,%d\n", user, (user + k * (k + 3)) % 31, k);
  fclose(file);
}

static void write_picture(const char *name, int number, const uint8_t *pixels, int64_t side) {
  char path[64];
  uint8_t *png = NULL;
  size_t bytes = 0;
  snprintf(path, sizeof path, "data/%s/%02d.png", name, number);
  ck_ok(mica_png_encode(pixels, MICA_SHAPE(1, side, side), &png, &bytes));
  files_write(path, png, bytes);
  mica_free(png);
}

/* One picture in three is of no class, and one has some pixels that are of none. */
static void write_scenes(void) {
  enum { SIDE = 16 };
  for (int i = 0; i < 24; i++) {
    uint8_t picture[SIDE * SIDE], mask[SIDE * SIDE];
    for (int at = 0; at < SIDE * SIDE; at++) {
      const int x = at % SIDE, y = at / SIDE, class = x > 2 + i % 9 ? 1 : 0;
      picture[at] = (uint8_t)(60 + 100 * class + (at * 7 + i * 13) % 40);
      mask[at] = (uint8_t)(i % 3 == 1 || (i % 3 == 2 && y < 5) ? 255 : class);
    }
    write_picture("images", i, picture, SIDE);
    write_picture("masks", i, mask, SIDE);
  }
}

/* Pictures with 0, 1 or 2 boxes of different sizes. */
static void write_boxes(void) {
  enum { SIDE = 64 };
  for (int i = 0; i < 12; i++) {
    uint8_t picture[SIDE * SIDE];
    char name[64];
    for (int at = 0; at < SIDE * SIDE; at++) picture[at] = (uint8_t)(30 + (at * 7 + i * 5) % 20);
    snprintf(name, sizeof name, "data/Annotations/%02d.xml", i);
    FILE *file = begin_file(name);
    fputs("<annotation><size><width>64</width><height>64</height><depth>1</depth></size>\n", file);
    for (int k = 0; k < i % 3; k++) {
      const int x = 4 + 28 * k, y = 6 + 2 * i, side = 14 + 4 * k;
      for (int at = 0; at < side * side; at++) picture[(y + at / side) * SIDE + x + at % side] = 200;
      fprintf(file,
              "<object><name>%s</name><difficult>0</difficult><bndbox><xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax>"
              "<ymax>%d</ymax></bndbox></object>\n",
              k ? "large" : "small", x + 1, y + 1, x + side, y + side);
    }
    fputs("</annotation>\n", file);
    fclose(file);
    write_picture("JPEGImages", i, picture, SIDE);
  }
}

/* --- runs --- */

/* Batches are of two samples, one a rank, where a share is to count nothing. */
typedef struct task_case {
  const char *task, *data;
  void (*write)(void);
  mica_setting settings[MOST_SETTINGS - 7];
} task_case;

static const task_case cases[] = {
    {"translate",
     "data",
     write_pairs,
     {{"batch", "8"},
      {"width", "16"},
      {"heads", "2"},
      {"layers", "1"},
      {"length", "24"},
      {"vocabulary", "280"},
      {"dropout", "0"},
      {"clip-norm", "1"}}},
    {"text",
     "data.csv",
     write_texts,
     {{"batch", "4"},
      {"width", "16"},
      {"length", "24"},
      {"vocabulary", "280"},
      {"dropout", "0"},
      {"class-weights", "balanced"},
      {"label-smoothing", "0.1"}}},
    {"forecast",
     "data.csv",
     write_weeks,
     {{"batch", "2"}, {"horizon", "2"}, {"window", "6"}, {"width", "8"}, {"dropout", "0"}, {"test", "0"}}},
    {"recommend",
     "data.csv",
     write_histories,
     {{"objective", "ranking"},
      {"model", "sasrec"},
      {"batch", "4"},
      {"width", "8"},
      {"context", "8"},
      {"dropout", "0"},
      {"negatives", "6"},
      {"whole-tables", "true"}}},
    {"segment",
     "data",
     write_scenes,
     {{"batch", "2"},
      {"width", "4"},
      {"depth", "1"},
      {"window", "16"},
      {"tile", "16"},
      {"norm", "group"},
      {"loss", "cross_entropy"}}},
    {"detect", "data", write_boxes, {{"batch", "2"}, {"size", "64"}, {"width", "8"}, {"sync-norm", "true"}}},
};

static const task_case *which;
static char data[512];

/* What a run learned: all weights one behind the other, before it and behind it. */
typedef struct learned {
  float *before, *after;
  size_t count;
} learned;

static learned outcomes[2];

static float *take_weights(mica_run *run, size_t *count) {
  mica_trainer *trainer = mica_run_trainer(run);
  const mica_nn *nn = mica_trainer_network(trainer);
  float *all = NULL;
  *count = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(mica_trainer_session(trainer), info->name);
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    const size_t bytes = mica_tensor_bytes(tensor);
    all = realloc(all, *count * sizeof *all + bytes);
    member_check(all != NULL, "memory");
    member_ok(mica_tensor_download(mica_engine_queue(mica_run_engine(run)), tensor, all + *count, bytes));
    *count += bytes / sizeof *all;
  }
  return all;
}

static void learn(mica_communicator *c, mica_engine *engine, learned *out) {
  static const mica_setting common[] = {
      {"epochs", "1"},     {"optimizer", "sgd"},  {"lr", "0.02"}, {"schedule", "constant"},
      {"validation", "0"}, {"weight-decay", "0"}, {"seed", "5"}};
  enum { COMMON = sizeof common / sizeof *common };
  mica_setting settings[MOST_SETTINGS];
  size_t count = COMMON;
  memcpy(settings, common, sizeof common);
  for (size_t i = 0; which->settings[i].name; i++) settings[count++] = which->settings[i];
  const mica_run_config config = {
      .task = which->task, .data = data, .settings = settings, .setting_count = count, .communicator = c};
  mica_run *run = NULL;
  member_ok(mica_run_create(engine, &config, &run));
  out->before = take_weights(run, &out->count);
  member_ok(mica_run_fit(run));
  out->after = take_weights(run, &out->count);
  mica_run_destroy(run);
}

static void learn_as_member(mica_communicator *c) {
  learned *own = &outcomes[c->rank];
  learn(c, NULL, own);
}

static double distance(const float *a, const float *b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
  return sqrt(sum);
}

static void forget(learned *l) {
  free(l->before);
  free(l->after);
}

/* Sums in another order make a difference of about 1e-5 of what was learned; a share that weighs too much, percents. */
START_TEST(shares_are_weighed) {
  learned whole;
  which = &cases[_i];
  files_remove();
  which->write();
  snprintf(data, sizeof data, "%s", files_path(which->data));
  learn(NULL, test_engine(), &whole);
  test_members(2, NULL, learn_as_member);
  const double step = distance(whole.after, whole.before, whole.count);
  ck_assert_msg(step > 1e-3, "%s: nothing was learned: %g", which->task, step);
  for (int rank = 0; rank < 2; rank++) {
    ck_assert_uint_eq(outcomes[rank].count, whole.count);
    const double apart = distance(outcomes[rank].after, whole.after, whole.count);
    ck_assert_msg(apart < 1e-3 * step, "%s: rank %d is %g from one process, which went %g", which->task, rank, apart,
                  step);
    forget(&outcomes[rank]);
  }
  forget(&whole);
}
END_TEST

static const char *name_of(int i) { return cases[i].task; }

TESTS(DEVICE, NULL, NULL, BY_NAME(shares_are_weighed, name_of, sizeof cases / sizeof *cases))
