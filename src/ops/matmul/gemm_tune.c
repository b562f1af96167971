/* Matrix products as problems that a tuner measures, given as text: "1024,1024,1024,nt,f16,x8". */
#include "base/element.h"
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "ops/select/tunable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNTAX "M,N,K[,nn|nt|tn|tt][,f16][,x8]"

typedef struct shape {
  int64_t m, n, k, batches;
  bool a_transposed, b_transposed;
  mica_dtype dtype;
} shape;

typedef struct gemm_trial {
  mica__trial trial; /* first: the tuner sees only this member */
  mica__gemm gemm;
  shape shape;
  mica_tensor *a, *b; /* views of the trial's operands, transposed if the shape says so */
} gemm_trial;

/* Parses a word after M,N,K. */
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
  return mica__fail(MICA_E_FORMAT,
                    "\"%s\" does not describe a matrix product; write " SYNTAX " with sizes from 1 to 2^24", text);
}

/* Makes the operand's matrices of rows x cols, stored transposed if asked, and *view, which is rows x cols in either
 * case. With one batch they have no batch dimension. */
static mica_status make_operand(gemm_trial *t, int64_t rows, int64_t cols, bool transposed,
                                mica__trial_operand *operand, mica_tensor **view) {
  int64_t r = transposed ? cols : rows, c = transposed ? rows : cols;
  mica_shape s = t->shape.batches == 1 ? MICA_SHAPE(r, c) : MICA_SHAPE(t->shape.batches, r, c);
  MICA_TRY(mica__trial_operand_create(&t->trial, t->shape.dtype, s, operand));
  return transposed ? mica_tensor_transpose(operand->tensor, view)
                    : mica_tensor_view(operand->tensor, s, NULL, 0, view);
}

static mica_dtype result_type(mica_dtype dtype) {
  return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? dtype : MICA_I32;
}

static double element(const unsigned char *data, mica_dtype dtype, bool transposed, int64_t rows, int64_t cols,
                      int64_t batch, int64_t row, int64_t col) {
  int64_t at = transposed ? col * rows + row : row * cols + col;
  return mica__element_get(dtype, data, batch * rows * cols + at);
}

static double reference(const mica__trial *trial, int64_t at, double *magnitude) {
  const shape *h = &((const gemm_trial *)trial)->shape;
  int64_t batch = at / h->n / h->m, row = at / h->n % h->m, col = at % h->n;
  double sum = 0;
  *magnitude = 0;
  for (int64_t k = 0; k < h->k; k++) {
    double product = element(trial->a.data, h->dtype, h->a_transposed, h->m, h->k, batch, row, k) *
                     element(trial->b.data, h->dtype, h->b_transposed, h->k, h->n, batch, k, col);
    sum += product;
    *magnitude += fabs(product);
  }
  return sum;
}

static void close_trial(mica__trial *trial) {
  gemm_trial *t = (gemm_trial *)trial;
  mica_tensor_destroy(t->a);
  mica_tensor_destroy(t->b);
  mica__trial_clear(trial);
  free(t);
}

static mica_status fill_trial(gemm_trial *t) {
  const shape *s = &t->shape;
  mica__trial *trial = &t->trial;
  mica_shape d = s->batches == 1 ? MICA_SHAPE(s->m, s->n) : MICA_SHAPE(s->batches, s->m, s->n);
  MICA_TRY(make_operand(t, s->m, s->k, s->a_transposed, &trial->a, &t->a));
  MICA_TRY(make_operand(t, s->k, s->n, s->b_transposed, &trial->b, &t->b));
  MICA_TRY(mica_tensor_create(trial->engine, result_type(s->dtype), d, &trial->result));
  MICA_TRY(mica__gemm_problem(mica_engine_queue(trial->engine), NULL, t->a, t->b, NULL, NULL, trial->result, &t->gemm));
  mica__gemm_key(&t->gemm, trial->key);
  trial->problem = &t->gemm;
  trial->flops = 2.0 * (double)s->m * (double)s->n * (double)s->k * (double)s->batches;
  trial->acc = t->gemm.epilogue.acc;
  trial->depth = (double)s->k;
  trial->reference = reference;
  return MICA_OK;
}

static mica_status open_trial(mica_engine *engine, const char *text, mica__trial **out) {
  gemm_trial *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem("a trial");
  t->trial.engine = engine;
  t->trial.random = 1;
  mica_status status = parse_shape(text, &t->shape);
  if (status == MICA_OK) status = fill_trial(t);
  if (status == MICA_OK)
    *out = &t->trial;
  else
    close_trial(&t->trial);
  return status;
}

static const mica__impl *const *impls(const mica__trial *trial) {
  (void)trial;
  return mica__gemm_impls;
}

/* The problems that the benchmark measures. */
static const char *const problems[] = {
    "64,64,64",    "128,128,128",  "256,256,256",  "512,512,512",  "1024,1024,1024", "64,128,784",  "64,10,128",
    "784,128,64",  "128,784,64",   "64,3136,576",  "128,784,1152", "512,49,4608",    "1,4096,4096", "4096,1,4096",
    "8,4096,4096", "4096,64,4096", "64,4096,4096", "197,768,768",  "197,3072,768",   NULL,
};

const mica__tunable mica__gemm_tunable = {.summary = "matrix products",
                                          .syntax = SYNTAX,
                                          .problems = problems,
                                          .open = open_trial,
                                          .close = close_trial,
                                          .impls = impls};
