/* labels: null single
 *
 * Heads whose answers are several steps, and their inputs, on the host without a network: losses and metrics of known
 * answers beside sums in double, what a section says, and what a network sees. */
#include "run/facts.h"
#include "run/run.h"
#include "run/settings.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"
#include "task/input/contexts.h"
#include "task/input/series.h"
#include "task/input/strings.h"
#include "train/train.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_run *run;

static void make_run(void) {
  run = mica__run_new();
  ck_assert_ptr_nonnull(run);
}

static void drop_run(void) { mica_run_destroy(run); }

static void take_task(const char *name) {
  run->task = mica__task_find(name);
  ck_assert_ptr_nonnull(run->task);
  mica__run_take_rows(run);
}

/* --- the step --- */

typedef struct column {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const double *values;
} column;

#define COLUMNS 4
#define MOST 64

typedef struct results {
  double loss, weight;
  const char *names[MICA_OBJECTIVE_METRICS];
  double metrics[MICA_OBJECTIVE_METRICS][2]; /* sum and weight */
  double squares[2];                         /* of the last metric */
  double outputs[2][MOST];
} results;

/* What the head's step of a network of tests, or of training, makes of answers and a batch. */
static results run_step(mica_shape shape, const double *z, const column *given, size_t count, bool training) {
  results r = {.loss = NAN, .weight = NAN};
  mica_objective out = {0};
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica__batch_input columns[COLUMNS];
  char inputs[COLUMNS][64];
  static double *feeds[4096];
  memset(feeds, 0, sizeof feeds);
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = training}, &nn));
  for (size_t i = 0; i < count; i++) {
    snprintf(inputs[i], sizeof inputs[i], "batch.%s", given[i].name);
    columns[i] = (mica__batch_input){
        .name = (char *)(uintptr_t)given[i].name, .input = inputs[i], .dtype = given[i].dtype, .shape = given[i].shape};
  }
  mica_batch_values batch = {.graph = graph, .columns = columns, .count = count};
  mica_value answers = mica_input(graph, "z", MICA_F32, shape);
  run->task->head->step(nn, run, answers, &batch, &out);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  feeds[answers.id - 1] = (double *)(uintptr_t)z;
  for (size_t i = 0; i < count; i++)
    if (columns[i].value.graph) feeds[columns[i].value.id - 1] = (double *)(uintptr_t)given[i].values;
  test_values values = test_interpret(graph, feeds);
  if (out.loss.graph) r.loss = values.value[out.loss.id - 1][0];
  if (out.weight.graph) r.weight = values.value[out.weight.id - 1][0];
  for (size_t i = 0; i < MICA_OBJECTIVE_METRICS && out.metrics[i].name; i++) {
    r.names[i] = out.metrics[i].name;
    r.metrics[i][0] = values.value[out.metrics[i].sum.id - 1][0];
    if (out.metrics[i].weight.graph) r.metrics[i][1] = values.value[out.metrics[i].weight.id - 1][0];
    if (test_count(mica_value_shape(out.metrics[i].sum)) == 2)
      memcpy(r.squares, values.value[out.metrics[i].sum.id - 1], sizeof r.squares);
  }
  for (size_t k = 0; k < 2 && out.outputs[k].graph; k++)
    for (int64_t i = 0; i < test_count(mica_value_shape(out.outputs[k])) && i < MOST; i++)
      r.outputs[k][i] = values.value[out.outputs[k].id - 1][i];
  test_values_free(&values);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return r;
}

static double metric_of(const results *r, const char *name) {
  for (size_t i = 0; i < MICA_OBJECTIVE_METRICS && r->names[i]; i++)
    if (!strcmp(r->names[i], name)) return r->metrics[i][0] / r->metrics[i][1];
  ck_abort_msg("there is no metric %s", name);
  return 0;
}

/* --- horizon: two windows, three steps, two of three series --- */

static const double scale[] = {2, 5, 1}, change[] = {4, 0.5, 1}, level[] = {10, -1, 0}, deviation[] = {3, 2, 1};

static void take_forecast(void) {
  static const char *const series[] = {"north", "south", "note"};
  const double targets = 2, horizon = 3, window = 4, season = 2;
  take_task("forecast");
  ck_ok(mica__run_set(run, "horizon", "3"));
  ck_ok(mica__run_note(run, "series", series, 3));
  ck_ok(mica__run_note_numbers(run, "targets", &targets, 1));
  ck_ok(mica__run_note_numbers(run, "horizon", &horizon, 1));
  ck_ok(mica__run_note_numbers(run, "window", &window, 1));
  ck_ok(mica__run_note_numbers(run, "season", &season, 1));
  ck_ok(mica__run_note_numbers(run, "scale", scale, 3));
  ck_ok(mica__run_note_numbers(run, "mase_scale", change, 3));
  ck_ok(mica__run_note_numbers(run, "level_mean", level, 3));
  ck_ok(mica__run_note_numbers(run, "level_deviation", deviation, 3));
}

START_TEST(empty_cells_are_no_answers_of_a_horizon) {
  static const double z[] = {0.5, -1, 2, 0, 0.25, 1, -0.5, 3, 1, 1, 0, -2};
  static const double y[] = {1, 0, 1.5, 7, 0, 1, 0.5, 2, -1, 1, 4, 0};
  static const double known[] = {1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1};
  static const double season[] = {1, 1, 1, 1, 0, 0, 0, 2, 2, 2, -1, -1};
  const mica_shape shape = MICA_SHAPE(2, 3, 2);
  const column columns[] = {
      {"target", MICA_F32, shape, y}, {"known", MICA_F32, shape, known}, {"season", MICA_F32, shape, season}};
  double errors = 0, count = 0, squares = 0, sums[3][2] = {{0}};
  take_forecast();
  ck_assert_int_eq(run->task->head->outputs(run), 6);
  for (int i = 0; i < 12; i++) {
    const double unit = scale[i % 2], of[] = {z[i] - y[i], y[i], season[i] - y[i]};
    if (known[i] == 0) continue;
    errors += fabs(of[0]);
    squares += pow(of[0] * unit, 2);
    count++;
    for (int k = 0; k < 3; k++) {
      sums[k][0] += fabs(of[k]) * unit / change[i % 2];
      sums[k][1] += fabs(of[k]) * unit;
    }
  }
  for (int training = 0; training < 2; training++) {
    const results r = run_step(MICA_SHAPE(2, 6), z, columns, 3, training);
    ck_assert_double_eq_tol(r.loss, errors / count, 1e-6);
    ck_assert_double_eq_tol(r.weight, count, 1e-9);
    ck_assert_double_eq_tol(metric_of(&r, "mase"), sums[0][0] / count, 1e-6);
    ck_assert_double_eq_tol(metric_of(&r, "mae"), sums[0][1] / count, 1e-6);
    if (training) continue;
    ck_assert_double_eq_tol(metric_of(&r, "mase_last"), sums[1][0] / count, 1e-6);
    ck_assert_double_eq_tol(metric_of(&r, "mae_last"), sums[1][1] / count, 1e-6);
    ck_assert_double_eq_tol(metric_of(&r, "mase_season"), sums[2][0] / count, 1e-6);
    ck_assert_double_eq_tol(metric_of(&r, "mae_season"), sums[2][1] / count, 1e-6);
    ck_assert_double_eq_tol(r.squares[0], squares, 1e-5);
    ck_assert_double_eq_tol(r.squares[1], count, 1e-9);
    for (int i = 0; i < 12; i++) ck_assert_double_eq_tol(r.outputs[0][i], z[i], 1e-9);
  }
}
END_TEST

/* The second series has no value yet, so nothing is forecast of it. */
START_TEST(a_section_of_a_horizon) {
  static const char *const rows[] = {"May", "June", "July"};
  static const float outputs[] = {0.5f, 1, -1, 1, 2, 1};
  static const double last[] = {10, NAN}, truths[] = {12, NAN, 9, 3, NAN, 4}, season[6] = {0};
  const mica__ahead ahead = {.row = 4, .names = rows, .last = last, .season = season};
  static const double wanted[] = {11, 8, 14};
  take_forecast();
  for (int came = 0; came < 2; came++) {
    mica_report *report = NULL;
    const mica__sample sample = {.name = "a table", .truths = came ? truths : NULL, .ahead = &ahead};
    ck_ok(mica_report_create(&report));
    ck_ok(mica_report_begin(report, "a table"));
    ck_ok(run->task->head->shows.section(run, report, &sample, outputs, &(mica_run_input){0}));
    const mica_item *item = mica_report_find(report, 0, "forecast");
    const size_t columns = came ? 4 : 2;
    ck_assert(item->rows == 3 && item->columns == columns);
    ck_assert_str_eq(item->row_names[2], "July");
    ck_assert_str_eq(item->column_names[1], "south");
    for (size_t h = 0; h < 3; h++) {
      ck_assert_double_eq_tol(item->numbers[h * columns], wanted[h], 1e-6);
      ck_assert(isnan(item->numbers[h * columns + 1]));
    }
    if (came) {
      ck_assert_str_eq(item->column_names[3], "south actual");
      ck_assert(item->numbers[2] == 12 && isnan(item->numbers[3]) && item->numbers[7] == 3);
    }
    mica_report_destroy(report);
  }
}
END_TEST

/* A window holds changes from its last row in units of each series' scale; an empty cell lies on a line. */
START_TEST(windows_are_changes_from_their_last_row) {
  static const char table[] = "north,south,note\n1,2,0\n3,,0\n5,8,1\n7,11,0\n9,4,1\n11,6,2\n";
  char content[sizeof table];
  float window[4 * 3], high[3];
  mica__windows w;
  take_forecast();
  memcpy(content, table, sizeof table);
  ck_ok(mica__windows_read(run, "table.csv", content, sizeof table - 1, &w));
  ck_ok(mica__windows_scale(run, &w));
  ck_assert(w.window == 4 && w.season == 2 && w.horizon == 3 && w.series.count == 3);
  mica__windows_fill(&w, 5, window, high);
  static const double values[4][3] = {{3, 5, 0}, {5, 8, 1}, {7, 11, 0}, {9, 4, 1}};
  for (int t = 0; t < 4; t++)
    for (int k = 0; k < 3; k++)
      ck_assert_double_eq_tol((double)window[3 * t + k], (values[t][k] - values[3][k]) / scale[k], 1e-6);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol((double)high[k], (values[3][k] - level[k]) / deviation[k], 1e-6);
  ck_assert_double_eq(mica__windows_seasonal(&w, 5, 0, 0), 7); /* two rows before */
  ck_assert_double_eq(mica__windows_seasonal(&w, 5, 3, 1), 4);
  mica__windows_free(&w);
}
END_TEST

/* --- letters: two recordings of at most three steps, an alphabet of two --- */

static const char *const alphabet[] = {"a", "b"};

static void take_speech(void) {
  const double rate = 8000;
  take_task("speech");
  ck_ok(mica__run_note(run, "alphabet", alphabet, 2));
  ck_ok(mica__run_note_numbers(run, "rate", &rate, 1));
}

/* Minus the logarithm of the probability of labels: the sum over all paths of three classes that collapse to them. */
static double loss_of(const double *z, int steps, const int *labels, int count) {
  double sum = 0;
  for (int path = 0; path < (int)pow(3, steps); path++) {
    double share = 1;
    int found[8], n = 0, before = 0;
    for (int t = 0, rest = path; t < steps; t++, rest /= 3) {
      const double *at = z + 3 * t;
      const int k = rest % 3;
      share *= exp(at[k]) / (exp(at[0]) + exp(at[1]) + exp(at[2]));
      if (k && k != before) found[n++] = k;
      before = k;
    }
    bool same = n == count;
    for (int i = 0; same && i < n; i++) same = found[i] == labels[i];
    sum += same ? share : 0;
  }
  return -log(sum);
}

START_TEST(letters_have_the_loss_of_ctc) {
  static const double z[] = {1, 0.5, -1, 0, 2, 0.5, 0.25, 0, 1, -1, 0, 1, 0.5, 0.5, 2, 3, 3, 3};
  static const double tokens[] = {'a', 'b', 'b', 0}, counts[] = {2, 1}, sound[2] = {0};
  take_speech();
  const mica__strings_time time = mica__strings_time_of(run);
  const double lengths[] = {(double)(time.reach + 2 * time.stride), (double)(time.reach + 2 * time.stride - 1)};
  const column columns[] = {{"sound", MICA_F32, MICA_SHAPE(2, 1), sound},
                            {"sound.length", MICA_I32, MICA_SHAPE(2), lengths},
                            {"tokens", MICA_I32, MICA_SHAPE(2, 2), tokens},
                            {"tokens.length", MICA_I32, MICA_SHAPE(2), counts}};
  const double wanted = loss_of(z, 3, (int[]){1, 2}, 2) / 2 + loss_of(z + 9, 2, (int[]){2}, 1);
  ck_assert_int_eq(run->task->head->outputs(run), 3);
  for (int training = 0; training < 2; training++) {
    const results r = run_step(MICA_SHAPE(2, 3, 3), z, columns, 4, training);
    ck_assert_double_eq_tol(r.loss, wanted / 2, 1e-5);
    if (training) continue;
    for (int i = 0; i < 18; i++) {
      const double *at = z + i / 3 * 3;
      const double share = exp(z[i]) / (exp(at[0]) + exp(at[1]) + exp(at[2]));
      ck_assert_double_eq_tol(r.outputs[0][i], log(share), 1e-6);
    }
    ck_assert(r.outputs[1][0] == 3 && r.outputs[1][1] == 2);
  }
}
END_TEST

/* Steps as the host counts them and as the graph does: none of what is shorter than a step's reach. */
START_TEST(steps_of_a_recording) {
  take_speech();
  const mica__strings_time t = mica__strings_time_of(run);
  const int64_t apart[] = {-t.reach, -t.stride, -1, 0, 1, t.stride - 1, t.stride, 5 * t.stride + 3};
  for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
    const int64_t samples = t.reach + apart[i], steps = mica__strings_steps(&t, samples);
    const double z[3] = {0}, length = (double)samples, sound = 0;
    const column columns[] = {{"sound", MICA_F32, MICA_SHAPE(1, 1), &sound},
                              {"sound.length", MICA_I32, MICA_SHAPE(1), &length}};
    ck_assert_int_eq(steps, apart[i] < 0 ? 0 : 1 + apart[i] / t.stride);
    ck_assert_double_eq(run_step(MICA_SHAPE(1, 1, 3), z, columns, 2, false).outputs[1][0], (double)steps);
  }
  ck_ok(mica__run_set(run, "reduction", "2"));
  ck_assert_int_eq(2 * mica__strings_time_of(run).stride, t.stride);
}
END_TEST

/* The likeliest class of each step; a beam takes the likeliest text. Padding does not count. */
START_TEST(a_section_of_letters) {
  static const double shares[4][3] = {{0.6, 0.4, 0}, {0.6, 0.4, 0}, {0.1, 0.1, 0.8}, {0, 1, 0}};
  float scores[12];
  for (int i = 0; i < 12; i++) scores[i] = (float)log(shares[i / 3][i % 3]);
  const mica__steps steps = {.count = 3, .rate = 8000, .seconds = 1.5};
  const mica__sample sample = {.name = "a recording", .meaning = "ab", .steps = &steps};
  for (int beam = 0; beam < 2; beam++) {
    mica_report *report = NULL;
    take_speech();
    ck_ok(mica__run_set(run, "beam", beam ? "8" : "0"));
    ck_ok(mica_report_create(&report));
    ck_ok(mica_report_begin(report, "a recording"));
    ck_ok(run->task->head->shows.section(run, report, &sample, scores, &(mica_run_input){0}));
    ck_assert_str_eq(mica_report_find(report, 0, "truth")->text, "ab");
    ck_assert_str_eq(mica_report_find(report, 0, "text")->text, beam ? "ab" : "b");
    ck_assert_double_eq(mica_report_find(report, 0, "seconds")->number, 1.5);
    mica_report_destroy(report);
  }
}
END_TEST

/* --- next_token: two contexts of three bytes, a vocabulary of four --- */

static void take_language(void) {
  const double vocabulary = 4;
  take_task("language");
  ck_ok(mica__run_note_numbers(run, "vocabulary", &vocabulary, 1));
}

START_TEST(each_token_is_the_answer_of_the_one_before) {
  static const double z[] = {1, 0, -1, 2, 0.5, 0.25, 3, 0, 0, 0, 1, 0, 2, 2, 1, 0, -1, 0, 1, 0.5, 4, 3, 2, 1};
  static const double tokens[] = {0, 3, 2, 1, 1, 0, 2, 0};
  static const double likeliest[] = {3, 2, 2, 0, 2, 0};
  const column columns[] = {{"tokens", MICA_I32, MICA_SHAPE(2, 4), tokens}};
  double losses[6], mean = 0;
  take_language();
  ck_assert_int_eq(run->task->head->outputs(run), 4);
  for (int i = 0; i < 6; i++) {
    const double *at = z + 4 * i;
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += exp(at[k]);
    losses[i] = log(sum) - at[(int)tokens[i / 3 * 4 + i % 3 + 1]];
    mean += losses[i] / 6;
  }
  for (int training = 0; training < 2; training++) {
    const results r = run_step(MICA_SHAPE(2, 3, 4), z, columns, 1, training);
    ck_assert_double_eq_tol(r.loss, mean, 1e-6);
    for (int i = 0; i < 6 && !training; i++) {
      ck_assert_double_eq_tol(r.outputs[0][i], losses[i], 1e-6);
      ck_assert_double_eq(r.outputs[1][i], likeliest[i]);
    }
  }
}
END_TEST

/* Two of three bytes are predicted; the first one counts as one of mean length. */
START_TEST(a_section_of_next_tokens) {
  static const float losses[] = {0.5f, 1.5f};
  mica__ids ids = {0};
  mica_report *report = NULL;
  take_language();
  ck_ok(mica__contexts_encode(run, "a text", "a\xc3\xa4", 3, &ids));
  ck_assert(ids.count == 3 && ids.ids[0] == 'a' && ids.ids[1] == 0xc3 && ids.ids[2] == 0xa4);
  const mica__sample sample = {.name = "a text", .bytes = 3, .ids = ids.ids, .id_count = ids.count};
  ck_ok(mica_report_create(&report));
  ck_ok(mica_report_begin(report, "a text"));
  ck_ok(run->task->head->shows.section(run, report, &sample, losses, &(mica_run_input){0}));
  ck_assert_double_eq(mica_report_find(report, 0, "bytes")->number, 3);
  ck_assert_ptr_null(mica_report_find(report, 0, "tokens"));
  ck_assert_double_eq_tol(mica_report_find(report, 0, "perplexity")->number, exp(1), 1e-9);
  ck_assert_double_eq_tol(mica_report_find(report, 0, "bits_per_byte")->number, 1 / log(2), 1e-9);
  mica_report_destroy(report);
  mica__ids_free(&ids);
}
END_TEST

TESTS(ANYWHERE, make_run, drop_run, empty_cells_are_no_answers_of_a_horizon, a_section_of_a_horizon,
      windows_are_changes_from_their_last_row, letters_have_the_loss_of_ctc, steps_of_a_recording, a_section_of_letters,
      each_token_is_the_answer_of_the_one_before, a_section_of_next_tokens)
