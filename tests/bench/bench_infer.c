/* Networks at batch 1, against onnxruntime and PyTorch on the same file and the same input. Outputs are compared with
 * onnxruntime's before anything is measured. Files of other people lie in the folder that MICA_BENCH_MODELS names, the
 * others are made by PyTorch; those of integers by onnxruntime from one of f32, which then takes part. In 16 bits
 * (--dtype) f32 takes part likewise, and OpenVINO in the same type; outputs are compared with those of f32. With
 * --cpu-time all sides give the processor time of a run, which other programs change less; run it on one processor
 * (taskset -c 0), so that no side's threads spin. */
#include "bench/bench.h"
#include "bench/peer_train.h"
#include "runtime/host_cpu.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds that a round of each side takes at least, and until a peer's threads have stopped spinning. */
#define ROUND_SECONDS 0.15
#define REST 0.02
#define MOST_INPUTS 8
/* The share of their deviation by which outputs in 16 bits may be off: 50 layers of a ResNet in bf16 give 0.11. */
#define MOST_OFF 0.25

typedef struct network {
  const char *name;
  const char *file;   /* below MICA_BENCH_MODELS; NULL: PyTorch makes it */
  const char *shapes; /* of inputs whose dimensions are open */
  double off;         /* a network of integers: what its outputs may differ from onnxruntime's; 0: real numbers */
} network;

static const network networks[] = {
    {"squeezenet1_1", NULL, "", 0},
    {"squeezenet_fp16", "models/squeezenet11_fp16/model.onnx", "", 0},
    {"mobilenet_v2", NULL, "", 0},
    {"resnet18", NULL, "", 0},
    /* Four quanta of the output: rounding that falls otherwise in a layer is carried through all that follow. */
    {"resnet18_int8", NULL, "", 0.047},
    {"mobilenet_v2_int8", NULL, "", 0.03},
    {"resnet50", NULL, "", 0},
    {"densenet121", NULL, "", 0},
    {"ultraface", "models/ultraface_version-RFB-320/model.onnx", "", 0},
    {"super_resolution", "models/super_resolution_10/model.onnx", "", 0},
    {"silero_vad", "models/silero_vad_16k_op15/model.onnx", "input=1,576;state=2,1,128", 0},
    {"encoder", NULL, "", 0},
};

/* A network ready to run. */
typedef struct own {
  mica_onnx *model;
  mica_onnx_runner *runner;
  mica_onnx_feed feeds[MOST_INPUTS];
  mica_tensor *tensors[MOST_INPUTS];
  void *data[MOST_INPUTS];
  size_t count;
} own;

/* Opens FOLDER/model.onnx and FOLDER/data. Values of the host stay there where the model binds them: rates, lengths. */
static mica_status open_own(mica_engine *engine, const char *folder, mica_dtype dtype, own *o) {
  const mica_onnx_runner_config how = {.dtype = dtype == MICA_F32 ? (mica_dtype)0 : dtype};
  char path[512];
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  MICA_TRY(mica_onnx_open(path, &o->model));
  MICA_TRY(mica_onnx_runner_create(engine, o->model, &how, &o->runner));
  for (size_t i = 0; i < mica_onnx_input_count(o->model) && i < MOST_INPUTS; i++) {
    mica_onnx_feed *feed = &o->feeds[o->count++];
    feed->name = mica_onnx_input(o->model, i).name;
    snprintf(path, sizeof path, "%s/data/input_%zu.pb", folder, i);
    MICA_TRY(mica_onnx_tensor_read(path, &feed->dtype, &feed->shape, &o->data[i]));
    feed->data = o->data[i];
    if (feed->dtype != MICA_F32 && feed->dtype != MICA_F16) continue;
    MICA_TRY(mica_tensor_create_from(engine, feed->dtype, feed->shape, feed->data, &o->tensors[i]));
    feed->tensor = o->tensors[i];
  }
  return MICA_OK;
}

static void close_own(own *o) {
  for (size_t i = 0; i < MOST_INPUTS; i++) {
    mica_tensor_destroy(o->tensors[i]);
    mica_free(o->data[i]);
  }
  mica_onnx_runner_destroy(o->runner);
  mica_onnx_close(o->model);
  *o = (own){0};
}

static double runs_of(const bench *b, const own *o, int times) {
  double (*now)(void) = b->cpu_time ? bench_cpu_now : bench_now;
  double begin = now();
  for (int i = 0; i < times; i++) {
    bench_ok(mica_onnx_run(o->runner, b->queue, o->feeds, o->count));
    bench_ok(mica_queue_finish(b->queue));
  }
  return now() - begin;
}

static int times_for(double seconds) { return seconds >= ROUND_SECONDS ? 1 : (int)(ROUND_SECONDS / seconds) + 1; }

/* The share of all time that each kernel takes, to stderr. */
static void print_profile(const bench *b, const own *o) {
  mica_profile_row rows[32];
  size_t count = 0;
  const int times = 20;
  bench_ok(mica_profile_start(b->engine));
  runs_of(b, o, times);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, sizeof rows / sizeof *rows, &count));
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, "%9.1f us %5.1f launches %6.1f GFLOP/s %6.1f GB/s  %s\n", rows[i].seconds * 1e6 / times,
            (double)rows[i].count / times, rows[i].flops / rows[i].seconds * 1e-9,
            rows[i].bytes / rows[i].seconds * 1e-9, rows[i].kernel);
}

/* In a process with empty caches: seconds from an engine's creation to the first output. */
static int first_answer(const char *folder) {
  char builder[512] = "";
  ssize_t length = readlink("/proc/self/exe", builder, sizeof builder - 8);
  mica_engine *engine = NULL;
  own o = {0};
  if (length > 0) {
    char *slash = strrchr(builder, '/');
    if (slash) snprintf(slash, sizeof builder - (size_t)(slash - builder), "/mica");
  }
  double begin = bench_now();
  bench_ok(mica_engine_create(&(mica_engine_config){.builder = *builder && !access(builder, X_OK) ? builder : NULL},
                              &engine));
  bench_ok(open_own(engine, folder, MICA_F32, &o));
  bench_ok(mica_onnx_run(o.runner, mica_engine_queue(engine), o.feeds, o.count));
  bench_ok(mica_queue_finish(mica_engine_queue(engine)));
  printf("%.4f\n", bench_now() - begin);
  fflush(stdout);
  close_own(&o);
  mica_engine_destroy(engine);
  return 0;
}

/* The program again, with caches of its own in FOLDER/cache; negative where it failed. */
static double ask_first_answer(const char *folder) {
  char command[1200], line[64] = "";
  snprintf(command, sizeof command,
           "mkdir -p '%s/cache' && exec env MICA_CACHE_DIR='%s/cache' POCL_CACHE_DIR='%s/cache' '/proc/%ld/exe' infer "
           "--cold --model '%s'",
           folder, folder, folder, (long)getpid(), folder);
  FILE *child = popen(command, "r");
  if (!child) return -1;
  bool spoke = fgets(line, sizeof line, child) != NULL;
  return pclose(child) == 0 && spoke ? atof(line) : -1;
}

enum { ONNXRUNTIME, PYTORCH, OPENVINO, PEERS, MINE = PEERS, REAL, SIDES };
static const char *const names[PEERS] = {"onnxruntime", "pytorch", "openvino"};

typedef struct result {
  double seconds[SIDES]; /* REAL: of the same network in f32; 0: not measured */
  double off;            /* from f32, as a share of the outputs' deviation */
  double first, filled;  /* answers with caches empty and filled */
} result;

static void report(const bench *b, const network *n, const result *r, const peer_train peers[PEERS]) {
  const double mine = r->seconds[MINE], real = r->seconds[REAL], *theirs = r->seconds;
  if (b->json) {
    printf("{\"bench\":\"infer\",\"name\":\"%s\",\"batch\":1,\"mica\":%.6f,\"unit\":\"%sseconds\"", n->name, mine,
           b->cpu_time ? "processor " : "");
    if (b->dtype) printf(",\"dtype\":\"%s\"", b->dtype);
    for (int k = 0; k < PEERS; k++)
      if (theirs[k] > 0) printf(",\"%s\":%.6f", names[k], theirs[k]);
    printf(",\"ratio\":{");
    for (int k = 0, some = 0; k < PEERS; k++)
      if (theirs[k] > 0) printf("%s\"%s\":%.3f", some++ ? "," : "", names[k], theirs[k] / mine);
    printf("},\"versions\":{");
    for (int k = 0, some = 0; k < PEERS; k++)
      if (theirs[k] > 0) printf("%s\"%s\":\"%s\"", some++ ? "," : "", names[k], peers[k].version);
    printf("}");
    if (real > 0) printf(",\"f32\":%.6f,\"times_f32\":%.3f", real, real / mine);
    if (r->off > 0) printf(",\"off\":%.4f", r->off);
    if (r->first > 0) printf(",\"first_answer\":{\"empty\":%.3f,\"filled\":%.3f}", r->first, r->filled);
    printf("}\n");
  } else {
    printf("%-18s %9.3f ms", n->name, mine * 1e3);
    for (int k = 0; k < PEERS; k++)
      if (theirs[k] > 0) printf("; %s %9.3f ms, ratio %.2f", names[k], theirs[k] * 1e3, theirs[k] / mine);
    if (real > 0) printf("; f32 %9.3f ms, %.2f x f32", real * 1e3, real / mine);
    if (r->off > 0) printf("; %s off by %.3f of the deviation", b->dtype, r->off);
    if (r->first > 0) printf("; first answer %.2f s, caches filled %.2f s", r->first, r->filled);
    printf("\n");
  }
  fflush(stdout);
}

/* Rounds of all that are there, alternately: the peers, and sides[1] where it has a runner. */
static void measure(const bench *b, const own sides[2], peer_train peers[PEERS], const bool there[PEERS], result *r) {
  double *samples[SIDES];
  int times[SIDES] = {0};
  for (int k = 0; k < SIDES; k++) samples[k] = calloc((size_t)b->rounds, sizeof **samples);
  for (int k = 0; k < PEERS; k++)
    if (there[k]) times[k] = times_for(peer_train_steps(&peers[k], 3) / 3);
  for (int k = 0; k < 2; k++) {
    if (!sides[k].runner) continue;
    runs_of(b, &sides[k], 3);
    times[MINE + k] = times_for(runs_of(b, &sides[k], 3) / 3);
  }
  for (int i = 0; i < b->rounds; i++) {
    for (int k = 0; k < PEERS; k++) {
      if (there[k]) samples[k][i] = peer_train_steps(&peers[k], times[k]) / times[k];
      bench_rest(REST);
    }
    for (int k = 0; k < 2; k++)
      if (sides[k].runner) samples[MINE + k][i] = runs_of(b, &sides[k], times[MINE + k]) / times[MINE + k];
  }
  for (int k = 0; k < SIDES; k++) {
    r->seconds[k] = times[k] ? bench_median(samples[k], (size_t)b->rounds) : 0;
    free(samples[k]);
  }
}

/* The model's files and values in the folder; false where they cannot be made. */
static bool make(const network *n, const char *folder) {
  const char *root = getenv("MICA_BENCH_MODELS");
  char path[600];
  peer_train maker;
  snprintf(path, sizeof path, "%s/%s", root && *root ? root : ".", n->file ? n->file : "");
  if (n->file && access(path, R_OK) != 0) {
    fprintf(stderr, "mica-bench: %s: there is no %s (MICA_BENCH_MODELS)\n", n->name, path);
    return false;
  }
  const char *const arguments[] = {"make", n->file ? path : n->name, folder, n->shapes, NULL};
  if (!peer_train_start_script(&maker, "infer.py", arguments)) return false;
  peer_train_end(&maker);
  return true;
}

/* Opens a folder's network, whose outputs are then right. */
static void open_checked(const bench *b, const char *folder, double off, own *o) {
  char data[512];
  bench_ok(open_own(b->engine, folder, MICA_F32, o));
  snprintf(data, sizeof data, "%s/data", folder);
  bench_ok(mica_onnx_check(o->runner, b->queue, data, 1e-3, off > 0 ? off : 1e-3));
}

/* Output 0 of one run; f32. */
static float *output_of(const bench *b, const own *o, size_t *count) {
  runs_of(b, o, 1);
  const mica_tensor *output = mica_onnx_output(o->runner, 0);
  float *values = malloc(mica_tensor_bytes(output) + 1);
  *count = mica_tensor_bytes(output) / sizeof *values;
  if (values) bench_ok(mica_tensor_download(b->queue, output, values, mica_tensor_bytes(output)));
  return values;
}

/* The root of the mean square by which the narrow output 0 differs from the wide one, by the deviation of that. */
static double off_by(const bench *b, const own *narrow, const own *wide) {
  size_t count = 0, other = 0;
  double sum = 0, square = 0, apart = 0;
  float *x = output_of(b, narrow, &count), *y = output_of(b, wide, &other);
  for (size_t i = 0; x && y && count == other && i < count; i++) {
    const double is = (double)x[i], want = (double)y[i];
    sum += want, square += want * want, apart += (is - want) * (is - want);
  }
  free(x);
  free(y);
  return count && count == other ? sqrt(apart / (square - sum * sum / (double)count)) : NAN;
}

/* In 16 bits: the network in them, that in f32 beside it. False where it is far from f32. */
static bool open_narrow(const bench *b, const network *n, const char *folder, own sides[2], result *r) {
  open_checked(b, folder, 0, &sides[1]);
  bench_ok(open_own(b->engine, folder, bench_dtype(b, NULL), &sides[0]));
  r->off = off_by(b, &sides[0], &sides[1]);
  if (r->off <= MOST_OFF) return true;
  fprintf(stderr, "mica-bench: %s in %s is off by %.3f of its deviation\n", n->name, b->dtype, r->off);
  return false;
}

static void run_network(const bench *b, const network *n, const char *folder) {
  peer_train peers[PEERS] = {0};
  char real[512];
  own sides[2] = {{0}};
  result r = {0};
  bool right = true;
  if (!make(n, folder)) return;
  if (b->dtype)
    right = open_narrow(b, n, folder, sides, &r);
  else
    open_checked(b, folder, n->off, &sides[0]);
  snprintf(real, sizeof real, "%s/f32", folder);
  if (n->off > 0) open_checked(b, real, 0, &sides[1]);
  const bool there[PEERS] = {
      peer_train_start_script(&peers[ONNXRUNTIME], "infer.py", (const char *const[]){names[0], folder, NULL}),
      !n->file && n->off == 0 && !b->dtype &&
          peer_train_start_script(&peers[PYTORCH], "infer.py", (const char *const[]){names[1], n->name, folder, NULL}),
      b->dtype && peer_train_start_script(&peers[OPENVINO], "infer.py",
                                          (const char *const[]){names[2], folder, b->dtype, NULL})};
  measure(b, sides, peers, there, &r);
  for (int k = 0; k < PEERS; k++)
    if (there[k]) peer_train_end(&peers[k]);
  if (b->profile) print_profile(b, &sides[0]);
  for (int k = 0; k < 2; k++) close_own(&sides[k]);
  if (b->cold) {
    r.first = ask_first_answer(folder);
    r.filled = ask_first_answer(folder);
  }
  if (right) report(b, n, &r, peers);
}

/* Networks of integers, and files in f16, are what they are. */
static bool takes_part(const bench *b, const network *n) {
  return (!b->cases || strstr(n->name, b->cases)) && (!b->dtype || (n->off == 0 && !strstr(n->name, "fp16")));
}

int bench_infer(const bench *b) {
  if (b->cold && b->model) return first_answer(b->model);
  if (b->dtype && bench_dtype(b, NULL) == MICA_BF16 && !mica__host_has_tiles(mica_engine_device(b->engine))) {
    fprintf(stderr, "mica-bench: SKIP: bf16 on the matrix unit (AMX): there is none that this process may use\n");
    return 0;
  }
  if (b->cpu_time) setenv("MICA_BENCH_CPU_TIME", "1", 1); /* infer.py measures the same */
  signal(SIGPIPE, SIG_IGN);                               /* a peer that dies is noticed by what it does not answer */
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    char folder[] = "/tmp/mica-infer-XXXXXX", command[64];
    if (!takes_part(b, &networks[i])) continue;
    if (!mkdtemp(folder)) return 1;
    run_network(b, &networks[i], folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) fprintf(stderr, "mica-bench: %s is left over\n", folder);
  }
  return 0;
}
