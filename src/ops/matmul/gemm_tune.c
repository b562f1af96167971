/* Matrix products as a tuner's trials: "1024,1024,1024,nt,f16,x8". */
#include "base/element.h"
#include "base/error.h"
#include "ops/common/tolerance.h"
#include "ops/matmul/gemm.h"
#include "ops/select/tunable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of D that are compared; all of them where there are no more. */
#define SAMPLES 8192

typedef struct shape {
  int64_t m, n, k, batches;
  bool a_transposed, b_transposed;
  mica_dtype dtype;
} shape;

typedef struct operand {
  mica_tensor *whole, *view; /* view: transposed where the shape says so */
  unsigned char *data;
} operand;

typedef struct sample {
  int64_t batch, row, col;
  double want, bound;
} sample;

typedef struct gemm_trial {
  mica__trial trial; /* first: it is what the tuner holds */
  mica__gemm gemm;
  shape shape;
  operand a, b;
  mica_tensor *d;
  sample *samples;
  size_t sample_count;
  uint64_t random;
} gemm_trial;

static const char *layout_letter(int64_t outer, int64_t k, bool is_a) {
  int32_t layout = mica__gemm_layout(outer, k);
  if (layout == MICA__LAYOUT_ANY) return "s";
  return (layout == MICA__LAYOUT_K) == is_a ? "n" : "t";
}

void mica__gemm_key(const mica__gemm *g, char key[MICA__TUNING_TEXT]) {
  snprintf(key, MICA__TUNING_TEXT, "gemm %s*%s>%s m%" PRId64 " n%" PRId64 " k%" PRId64 " %s%s x%" PRId64,
           mica_dtype_name(mica_tensor_dtype(g->a.tensor)), mica_dtype_name(mica_tensor_dtype(g->b.tensor)),
           mica_dtype_name(mica_tensor_dtype(g->epilogue.d.tensor)), g->m, g->n, g->k,
           layout_letter(g->a.row, g->a.col, true), layout_letter(g->b.col, g->b.row, false), g->batches);
}

bool mica__gemm_tuner_problem(const mica__gemm *g, char problem[MICA__TUNING_TEXT]) {
  const char *a = layout_letter(g->a.row, g->a.col, true), *b = layout_letter(g->b.col, g->b.row, false);
  mica_dtype dtype = mica_tensor_dtype(g->a.tensor);
  if (*a == 's' || *b == 's' || mica_tensor_dtype(g->b.tensor) != dtype) return false;
  snprintf(problem, MICA__TUNING_TEXT, "gemm %" PRId64 ",%" PRId64 ",%" PRId64 ",%s%s,%s,x%" PRId64, g->m, g->n, g->k,
           a, b, mica_dtype_name(dtype), g->batches);
  return true;
}

/* What may follow M,N,K. */
static bool parse_word(const char *word, shape *s) {
  if (strlen(word) == 2 && strspn(word, "nt") == 2) {
    s->a_transposed = word[0] == 't';
    s->b_transposed = word[1] == 't';
    return true;
  }
  char *rest = NULL;
  if (word[0] == 'x') return s->batches = strtoll(word + 1, &rest, 10), rest != word + 1 && !*rest && s->batches > 0;
  for (int t = 0; t < MICA_DTYPE_COUNT; t++)
    if (!strcmp(word, mica_dtype_name((mica_dtype)t))) {
      s->dtype = (mica_dtype)t;
      return true;
    }
  return false;
}

static mica_status parse_shape(const char *text, shape *s) {
  *s = (shape){.batches = 1, .dtype = MICA_F32};
  int64_t *const sizes[] = {&s->m, &s->n, &s->k};
  const char *at = text;
  bool good = true;
  for (int i = 0; good && i < 3; i++) {
    char *rest = NULL;
    *sizes[i] = strtoll(at, &rest, 10);
    good = rest != at && *sizes[i] > 0 && *sizes[i] <= 1 << 24 && (i == 2 || *rest == ',');
    at = *rest == ',' ? rest + 1 : rest;
    if (i == 2) good = good && (*rest == ',' || !*rest);
  }
  while (good && *at) {
    char word[16];
    size_t n = strcspn(at, ",");
    good = n > 0 && n < sizeof word;
    if (!good) break;
    memcpy(word, at, n);
    word[n] = '\0';
    good = parse_word(word, s);
    at += n + (at[n] == ',');
  }
  if (good) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"%s\" is no matrix product; M,N,K[,nn|nt|tn|tt][,f16][,x8] is", text);
}

/* splitmix64, uniform in [-1, 1). */
static double next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (double)(int64_t)(z ^ z >> 31) * 0x1p-63;
}

/* batches of rows x cols, stored the other way round when transposed; a batch of 1 has no batch dimension. */
static mica_status make_operand(gemm_trial *t, int64_t rows, int64_t cols, bool transposed, operand *o) {
  mica_engine *engine = t->trial.engine;
  mica_dtype dtype = t->shape.dtype;
  int64_t r = transposed ? cols : rows, c = transposed ? rows : cols;
  mica_shape s = t->shape.batches == 1 ? MICA_SHAPE(r, c) : MICA_SHAPE(t->shape.batches, r, c);
  MICA_TRY(mica_tensor_create(engine, dtype, s, &o->whole));
  size_t bytes = mica_tensor_bytes(o->whole);
  double scale = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? 1 : 100;
  o->data = malloc(bytes);
  if (!o->data) return mica__fail_nomem("an operand to tune with");
  for (int64_t i = 0; i < mica_tensor_count(o->whole); i++)
    mica__element_set(dtype, o->data, i, scale * next_random(&t->random));
  MICA_TRY(mica_tensor_upload(mica_engine_queue(engine), o->whole, o->data, bytes));
  return transposed ? mica_tensor_transpose(o->whole, &o->view) : mica_tensor_view(o->whole, s, NULL, 0, &o->view);
}

static mica_dtype result_type(mica_dtype dtype) {
  return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? dtype : MICA_I32;
}

static double element(const operand *o, mica_dtype dtype, bool transposed, int64_t rows, int64_t cols, int64_t batch,
                      int64_t row, int64_t col) {
  int64_t at = transposed ? col * rows + row : row * cols + col;
  return mica__element_get(dtype, o->data, batch * rows * cols + at);
}

static void reference(const gemm_trial *t, sample *s) {
  const shape *h = &t->shape;
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < h->k; k++) {
    double product = element(&t->a, h->dtype, h->a_transposed, h->m, h->k, s->batch, s->row, k) *
                     element(&t->b, h->dtype, h->b_transposed, h->k, h->n, s->batch, k, s->col);
    sum += product;
    magnitude += fabs(product);
  }
  s->want = sum;
  s->bound = mica__tolerance_sum(t->gemm.epilogue.acc, result_type(h->dtype), (double)h->k, magnitude, sum);
}

/* Every element of a small D; of a large one the corners and a random choice. Made at the first comparison. */
static mica_status make_samples(gemm_trial *t) {
  int64_t m = t->shape.m, n = t->shape.n, total = m * n * t->shape.batches;
  bool all = total <= SAMPLES;
  t->sample_count = all ? (size_t)total : SAMPLES;
  t->samples = calloc(t->sample_count, sizeof *t->samples);
  if (!t->samples) return mica__fail_nomem("a reference to tune with");
  for (size_t i = 0; i < t->sample_count; i++) {
    const int64_t corners[] = {0, n - 1, total - n, total - 1};
    int64_t at = all ? (int64_t)i : i < 4 ? corners[i] : (int64_t)(fabs(next_random(&t->random)) * (double)total);
    if (at >= total) at = total - 1;
    t->samples[i] = (sample){.batch = at / (m * n), .row = at / n % m, .col = at % n};
    reference(t, &t->samples[i]);
  }
  return MICA_OK;
}

static void close_trial(mica__trial *trial) {
  gemm_trial *t = (gemm_trial *)trial;
  operand *const both[] = {&t->a, &t->b};
  for (int i = 0; i < 2; i++) {
    mica_tensor_destroy(both[i]->view);
    mica_tensor_destroy(both[i]->whole);
    free(both[i]->data);
  }
  mica_tensor_destroy(t->d);
  free(t->samples);
  free(t);
}

static mica_status fill_trial(gemm_trial *t) {
  const shape *s = &t->shape;
  mica_shape d = s->batches == 1 ? MICA_SHAPE(s->m, s->n) : MICA_SHAPE(s->batches, s->m, s->n);
  MICA_TRY(make_operand(t, s->m, s->k, s->a_transposed, &t->a));
  MICA_TRY(make_operand(t, s->k, s->n, s->b_transposed, &t->b));
  MICA_TRY(mica_tensor_create(t->trial.engine, result_type(s->dtype), d, &t->d));
  MICA_TRY(
      mica__gemm_problem(mica_engine_queue(t->trial.engine), NULL, t->a.view, t->b.view, NULL, NULL, t->d, &t->gemm));
  mica__gemm_key(&t->gemm, t->trial.key);
  t->trial.problem = &t->gemm;
  t->trial.flops = 2.0 * (double)s->m * (double)s->n * (double)s->k * (double)s->batches;
  return MICA_OK;
}

static mica_status open_trial(mica_engine *engine, const char *text, mica__trial **out) {
  gemm_trial *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem("a trial");
  t->trial.engine = engine;
  t->random = 1;
  mica_status status = parse_shape(text, &t->shape);
  if (status == MICA_OK) status = fill_trial(t);
  if (status == MICA_OK)
    *out = &t->trial;
  else
    close_trial(&t->trial);
  return status;
}

static mica_status poison(mica__trial *trial) {
  const gemm_trial *t = (const gemm_trial *)trial;
  bool floating = mica_dtype_kind_of(mica_tensor_dtype(t->d)) == MICA_DTYPE_KIND_FLOAT;
  return mica_op_fill(mica_engine_queue(trial->engine), floating ? (double)NAN : 123456789, t->d);
}

static mica_status verify(mica__trial *trial) {
  gemm_trial *t = (gemm_trial *)trial;
  mica_dtype dtype = mica_tensor_dtype(t->d);
  size_t bytes = mica_tensor_bytes(t->d);
  if (!t->samples) MICA_TRY(make_samples(t));
  unsigned char *data = malloc(bytes);
  if (!data) return mica__fail_nomem("a result");
  mica_status status = mica_tensor_download(mica_engine_queue(trial->engine), t->d, data, bytes);
  for (size_t i = 0; status == MICA_OK && i < t->sample_count; i++) {
    const sample *s = &t->samples[i];
    double got = mica__element_get(dtype, data, (s->batch * t->shape.m + s->row) * t->shape.n + s->col);
    if (!(fabs(got - s->want) <= s->bound))
      status = mica__fail(MICA_E_NUMERIC,
                          "element (%" PRId64 ", %" PRId64 ", %" PRId64 ") is %.9g, should be %.9g within %.3g",
                          s->batch, s->row, s->col, got, s->want, s->bound);
  }
  for (int64_t i = 0; status == MICA_OK && i < mica_tensor_count(t->d); i++)
    if (isnan(mica__element_get(dtype, data, i)))
      status = mica__fail(MICA_E_NUMERIC, "element %" PRId64 " was not written", i);
  free(data);
  return status;
}

const mica__tunable mica__gemm_tunable = {
    .impls = mica__gemm_impls, .open = open_trial, .close = close_trial, .poison = poison, .verify = verify};
