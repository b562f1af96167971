/* Copies of a network's tables on the host, rankings by them, and their principal components. */
#include "networks/tables.h"
#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Downloads a parameter; *data stays NULL if the network has none of this name. */
static mica_status take(mica_queue *queue, mica_session *session, const char *table, const char *what, void **data,
                        mica_tensor **tensor) {
  mica__text name = {0};
  mica__text_addf(&name, "%s.%s", table, what);
  mica_status status = mica__text_status(&name);
  *tensor = status == MICA_OK ? mica_session_parameter(session, name.data) : NULL;
  mica__text_free(&name);
  if (!*tensor) return status;
  *data = malloc(mica_tensor_bytes(*tensor) + 1);
  if (!*data) return mica__fail_nomem("a table");
  return mica_tensor_download(queue, *tensor, *data, mica_tensor_bytes(*tensor));
}

/* Integer i of a table: a byte, or four bits, the lower ones first. */
static int integer_at(const uint8_t *q, size_t i, bool packed) {
  const int bits = packed ? q[i / 2] >> (i % 2 ? 4 : 0) & 15 : q[i], half = packed ? 8 : 128;
  return bits >= half ? bits - 2 * half : bits;
}

/* Multiplies each integer by its step. A row has one step, or several steps for equal pieces of the row. */
static mica_status dequantize(const mica_tensor *integers, const uint8_t *q, const mica_tensor *scale,
                              const float *steps, float **values, mica_shape *shape) {
  const mica_shape of = mica_tensor_shape(integers), by = mica_tensor_shape(scale);
  const bool packed = mica_tensor_dtype(integers) == MICA_U8;
  const size_t rows = (size_t)of.dim[0], width = (size_t)of.dim[1] * (packed ? 2 : 1);
  const size_t pieces = by.rank == 2 ? (size_t)by.dim[1] : 1;
  *values = malloc(rows * width * sizeof **values + 1);
  if (!*values) return mica__fail_nomem("a table");
  for (size_t i = 0; i < rows * width; i++) {
    const size_t piece = i % width / (width / pieces);
    (*values)[i] = (float)integer_at(q, i, packed) * steps[i / width * pieces + piece];
  }
  *shape = MICA_SHAPE((int64_t)rows, (int64_t)width);
  return MICA_OK;
}

mica_status mica__table_take(mica_queue *queue, mica_session *session, const char *table, float **values,
                             mica_shape *shape) {
  mica_tensor *weight = NULL, *integers = NULL, *scale = NULL;
  void *data = NULL, *q = NULL, *steps = NULL;
  *values = NULL;
  mica_status status = take(queue, session, table, "weight", &data, &weight);
  if (weight) {
    *values = data;
    *shape = mica_tensor_shape(weight);
    return status;
  }
  if (status == MICA_OK) status = take(queue, session, table, "weight_q", &q, &integers);
  if (status == MICA_OK) status = take(queue, session, table, "weight_scale", &steps, &scale);
  if (status == MICA_OK && (!integers || !scale))
    status = mica__fail(MICA_E_STATE, "the network has no table %s.weight", table);
  if (status == MICA_OK) status = dequantize(integers, q, scale, steps, values, shape);
  free(q);
  free(steps);
  return status;
}

/* --- rankings --- */

#define MOST_RANKED ((int64_t)(sizeof((mica__ranked *)0)->items / sizeof(int32_t)))

void mica__ranked_add(mica__ranked *out, int32_t item, float score) {
  int64_t at = out->count;
  if (at == MOST_RANKED && !(score > out->scores[at - 1])) return;
  if (at == MOST_RANKED) at--;
  for (; at > 0 && out->scores[at - 1] < score; at--)
    out->items[at] = out->items[at - 1], out->scores[at] = out->scores[at - 1];
  out->items[at] = item;
  out->scores[at] = score;
  if (out->count < MOST_RANKED) out->count++;
}

/* Solves A x = b for n numbers, A symmetric positive definite, in place by Cholesky factors; x replaces b. */
static void solve(double *a, double *b, size_t n) {
  for (size_t k = 0; k < n; k++) {
    for (size_t j = 0; j < k; j++) a[k * n + k] -= a[k * n + j] * a[k * n + j];
    a[k * n + k] = sqrt(a[k * n + k] > 1e-12 ? a[k * n + k] : 1e-12);
    for (size_t i = k + 1; i < n; i++) {
      for (size_t j = 0; j < k; j++) a[i * n + k] -= a[i * n + j] * a[k * n + j];
      a[i * n + k] /= a[k * n + k];
    }
    for (size_t j = 0; j < k; j++) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t i = k + 1; i < n; i++) b[k] -= a[i * n + k] * b[i];
    b[k] /= a[k * n + k];
  }
}

mica_status mica__tables_fit(const mica__tables *w, const mica__rated_items *a, double mean, double l2, double *user) {
  const size_t n = w->width + 1;
  double *matrix = calloc(n * n, sizeof *matrix), *row = calloc(n, sizeof *row);
  if (!matrix || !row) {
    free(matrix);
    free(row);
    return mica__fail_nomem("a user");
  }
  for (size_t i = 0; i < n; i++) user[i] = 0, matrix[i * n + i] = l2 * (double)(a->count > 0 ? a->count : 1);
  for (int64_t k = 0; k < a->count; k++) {
    const size_t item = (size_t)a->items[k];
    for (size_t i = 0; i < w->width; i++) row[i] = (double)w->rows[item * w->width + i];
    row[w->width] = 1;
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++) matrix[i * n + j] += row[i] * row[j];
      user[i] += row[i] * ((double)a->ratings[k] - mean - (double)w->bias[item]);
    }
  }
  solve(matrix, user, n);
  free(matrix);
  free(row);
  return MICA_OK;
}

void mica__tables_nearest(const mica__tables *w, int32_t item, mica__ranked *out) {
  const float *own = w->rows + (size_t)item * w->width;
  for (size_t i = 1; i < w->items; i++) {
    double product = 0, square = 0, other = 0;
    for (size_t d = 0; d < w->width; d++) {
      const double x = (double)own[d], y = (double)w->rows[i * w->width + d];
      product += x * y;
      square += x * x;
      other += y * y;
    }
    if ((int32_t)i != item) mica__ranked_add(out, (int32_t)i, (float)(product / fmax(sqrt(square * other), 1e-12)));
  }
}

/* --- components --- */

static void centre(mica__cloud *c) {
  for (size_t d = 0; d < c->width; d++) {
    double mean = 0;
    for (size_t i = 0; i < c->rows; i++) mean += c->x[i * c->width + d] / (double)c->rows;
    for (size_t i = 0; i < c->rows; i++) {
      double *x = &c->x[i * c->width + d];
      *x -= mean;
      c->variance += *x * *x;
    }
  }
}

/* Computes next = X^T (X v) and returns its length. If v is an eigenvector of X^T X with length 1, the result is its
 * eigenvalue. v and next have c->width numbers each. */
static double multiply(const mica__cloud *c, const double *v, double *next) {
  double square = 0;
  memset(next, 0, c->width * sizeof *next);
  for (size_t i = 0; i < c->rows; i++) {
    const double *x = c->x + i * c->width;
    double along = 0;
    for (size_t d = 0; d < c->width; d++) along += x[d] * v[d];
    for (size_t d = 0; d < c->width; d++) next[d] += along * x[d];
  }
  for (size_t d = 0; d < c->width; d++) square += next[d] * next[d];
  return sqrt(square);
}

/* Finds the component with the largest variance by power iteration. The iteration starts with the vector 1, 1/2, 1/3,
 * ... Stores the rows' coordinates along the component. Its sign is chosen so that its number with the largest absolute
 * value is positive. Then subtracts the component from the rows, so that the next call finds the next component. */
static void take_component(mica__cloud *c, int k, double *v, double *next) {
  double length = 0, change = 1;
  size_t largest = 0;
  for (size_t d = 0; d < c->width; d++) next[d] = 1 / (double)(d + 1), length += next[d] * next[d];
  length = sqrt(length);
  for (int step = 0; step < 300 && change > 1e-9 && length > 0; step++) {
    for (size_t d = 0; d < c->width; d++) v[d] = next[d] / length;
    length = multiply(c, v, next);
    change = 0;
    for (size_t d = 0; length > 0 && d < c->width; d++) change = fmax(change, fabs(next[d] / length - v[d]));
  }
  for (size_t d = 0; d < c->width; d++)
    if (fabs(v[d]) > fabs(v[largest])) largest = d;
  const double sign = v[largest] < 0 ? -1 : 1;
  for (size_t i = 0; i < c->rows; i++) {
    double *x = c->x + i * c->width, along = 0;
    for (size_t d = 0; d < c->width; d++) along += x[d] * v[d];
    for (size_t d = 0; d < c->width; d++) x[d] -= along * v[d];
    c->at[2 * i + (size_t)k] = sign * along;
    c->along[k] += along * along;
  }
}

mica_status mica__cloud_components(mica__cloud *c) {
  double *v = calloc(2 * c->width, sizeof *v);
  if (!v) return mica__fail_nomem("components");
  centre(c);
  for (int k = 0; k < 2; k++) take_component(c, k, v, v + c->width);
  free(v);
  return MICA_OK;
}
