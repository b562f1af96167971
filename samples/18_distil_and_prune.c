/* labels: device slow
 *
 * Lesson 18: a smaller network in two ways. Points lie on three spiral arms, and of those to learn from three in ten
 * have a wrong answer. A teacher of 64 units learns from 2000 points, by which wrong answers even out. A student of 32
 * units sees 150 others: once with their own answers, and once with the teacher's answers to the same points instead,
 * for as many epochs and from the same first weights. And the teacher itself loses half of its FLOPs, units at a time,
 * with training between. All four are then compared on points with right answers that none has seen. No network is
 * chosen by a held-out part: fifteen points of which some are wrong would choose by chance.
 *
 *   build/bin/samples/18_distil_and_prune
 *
 * Exit status 0 when the taught student is better than the other one and the pruned network as good as the teacher, 1
 * when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "18_distil_and_prune"
#define MANY FOLDER "/many.csv"
#define FEW FOLDER "/few.csv"
#define NEW FOLDER "/new.csv"
#define WRONG 0.3
enum { TEACHER, ALONE, TAUGHT, PRUNED, RUNS };
static const char *const folders[RUNS] = {FOLDER "/teacher", FOLDER "/alone", FOLDER "/taught", FOLDER "/pruned"};

static double uniform(void) { return (double)rand() / (RAND_MAX + 1.0); }

/* sin x and cos x for x in [0, 2 pi) by their series, so that the sample needs no library. */
static double series(double x, int from) {
  double term = from ? x : 1, sum = term;
  for (int k = from + 2; k < 40; k += 2) sum += term *= -x * x / (k * (k - 1));
  return sum;
}

/* wrong: the share of points with the answer of another arm. */
static mica_status write_points(const char *path, int count, double wrong) {
  static char text[1 << 20];
  int at = snprintf(text, sizeof text, "x,y,arm\n");
  for (int i = 0; i < count; i++) {
    const double r = 0.2 + 2 * uniform(), phase = 2.0943951 * (i % 3) + 1.5 * r;
    const double angle = phase > 6.2831853 ? phase - 6.2831853 : phase;
    const int arm = i + (uniform() < wrong ? 1 + (int)(2 * uniform()) : 0);
    at += snprintf(text + at, sizeof text - (size_t)at, "%.4f,%.4f,%c\n", r * series(angle, 0) + 0.25 * uniform(),
                   r * series(angle, 1) + 0.25 * uniform(), 'a' + arm % 3);
  }
  return mica_file_write(path, text, (size_t)at);
}

static mica_status train(mica_engine *engine, const char *data, const char *folder, const char *width,
                         const char *epochs, const char *teacher) {
  const mica_setting settings[] = {{"model", "mlp"},     {"width", width},    {"epochs", epochs},
                                   {"lr", "0.02"},       {"batch", "32"},     {"alpha", "1"},
                                   {"temperature", "2"}, {"validation", "0"}, {"teacher", teacher}};
  const mica_run_config config = {
      .data = data, .folder = folder, .settings = settings, .setting_count = teacher ? 9 : 8};
  mica_run *run = NULL;
  mica_status status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  mica_run_destroy(run);
  return status;
}

static mica_status prune(mica_engine *engine) {
  static const mica_setting settings[] = {{"epochs", "5"}};
  const mica_prune_config config = {
      .run = folders[TEACHER], .folder = folders[PRUNED], .flops = 0.5, .settings = settings, .setting_count = 1};
  mica_run *run = NULL;
  mica_status status = mica_run_prune(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  mica_run_destroy(run);
  return status;
}

static mica_status compare(mica_engine *engine, mica_compared results[RUNS]) {
  mica_run *runs[RUNS] = {NULL};
  mica_status status = MICA_OK;
  for (int i = 0; !status && i < RUNS; i++) status = mica_run_open(engine, folders[i], &runs[i]);
  if (!status)
    status = mica_runs_compare(runs, RUNS, &(mica_compare_config){.data = NEW, .part = MICA_PART_TEST}, results);
  for (int i = 0; i < RUNS; i++) mica_run_destroy(runs[i]);
  return status;
}

/* Removes what was written, and the folders. */
static void clean(void) {
  static const char *const names[] = {"config.json",      "model.safetensors", "last.safetensors",
                                      "best.safetensors", "history.csv",       "pruned.safetensors"};
  char command[256];
  for (int i = 0; i < RUNS; i++) {
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      snprintf(command, sizeof command, "%s/%s", folders[i], names[k]);
      unlink(command);
    }
    snprintf(command, sizeof command, "rm -f %s/events.out.tfevents.*", folders[i]);
    if (system(command) != 0) continue;
    rmdir(folders[i]);
  }
  unlink(MANY), unlink(FEW), unlink(NEW);
  rmdir(FOLDER);
}

int main(void) {
  mica_engine *engine = NULL;
  static mica_compared results[RUNS];
  srand(1);
  mica_status status = mica_engine_create(NULL, &engine);
  clean();
  if (!status) status = write_points(MANY, 2000, WRONG);
  if (!status) status = write_points(FEW, 150, WRONG);
  if (!status) status = write_points(NEW, 2000, 0);
  if (!status) status = train(engine, MANY, folders[TEACHER], "64", "12", NULL);
  if (!status) status = train(engine, FEW, folders[ALONE], "32", "100", NULL);
  if (!status) status = train(engine, FEW, folders[TAUGHT], "32", "100", folders[TEACHER]);
  if (!status) status = prune(engine);
  if (!status) status = compare(engine, results);
  const double whole = mica_metrics_get(&results[TEACHER].metrics, "accuracy");
  const double alone = mica_metrics_get(&results[ALONE].metrics, "accuracy");
  const double taught = mica_metrics_get(&results[TAUGHT].metrics, "accuracy");
  const double pruned = mica_metrics_get(&results[PRUNED].metrics, "accuracy");
  for (int i = 0; !status && i < RUNS; i++)
    printf("%-32s accuracy %.3f, %lld weights, agrees in %.1f %%\n", folders[i],
           mica_metrics_get(&results[i].metrics, "accuracy"), (long long)results[i].parameters,
           100 * results[i].agreement);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  clean();
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(taught > alone && pruned > whole - 0.05);
}
