/* Support vector machines, as trained by libsvm (Chang and Lin 2011). */
#include "onnx/flow/host.h"
#include "onnx/ops/family.h"
#include "onnx/ops/ml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limit on the elements of the matrix (support vectors, pairs of classes). */
#define MOST_CELLS (1 << 26)

enum { LINEAR, POLY, RBF, SIGMOID };

/* --- kernels --- */

/* Squared distances (N, S) of rows x (N, F) and vectors (S, F). The vectors' mean is subtracted from both, so that
 * columns far from 0 do not lose precision. */
static mica_value distances(mica__lowering *l, mica_value x, const double *vectors, int64_t count, int64_t features) {
  double *own = mica__lower_room(l, (size_t)(count * features) + 1, sizeof *own);
  double *mean = mica__lower_room(l, (size_t)features + 1, sizeof *mean);
  double *norms = mica__lower_room(l, (size_t)count + 1, sizeof *norms);
  if (!own || !mean || !norms) return (mica_value){0};
  for (int64_t i = 0; i < count * features; i++) mean[i % features] += vectors[i] / (double)count;
  for (int64_t i = 0; i < count * features; i++) {
    own[i] = vectors[i] - mean[i % features];
    norms[i / features] += own[i] * own[i];
  }
  const mica_dtype dtype = mica_value_dtype(x);
  const mica_value from = mica_sub(x, mica__ml_constant(l, dtype, MICA_SHAPE(features), mean));
  const mica_value to = mica__ml_constant(l, dtype, MICA_SHAPE(count, features), own);
  const mica_value dot = mica_matmul(from, mica_transpose(to, MICA_AXES(1, 0)));
  const mica_value both =
      mica_add(mica_sum_square(from, MICA_AXES(1), true), mica__ml_constant(l, dtype, MICA_SHAPE(count), norms));
  return mica_clip(mica_sub(both, mica_affine(dot, 2, 0)), 0, INFINITY);
}

static mica_value kernel_of(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t count) {
  mica__reals vectors, p;
  const int32_t type = mica__lower_choice(l, node, "kernel_type", "LINEAR POLY RBF SIGMOID", LINEAR);
  if (!x.graph || !mica__ml_reals(l, node, "support_vectors", NULL, &vectors) ||
      !mica__ml_reals(l, node, "kernel_params", NULL, &p))
    return (mica_value){0};
  const int64_t features = mica_value_shape(x).dim[1];
  if (count < 1 || features < 1 || vectors.count / features != count || vectors.count % features) {
    mica__lower_fail(l, node, MICA_E_SHAPE,
                     "support_vectors has %lld numbers, but must have %lld vectors of %lld features (-1: not known), "
                     "at least 1 of each",
                     (long long)vectors.count, (long long)count, (long long)features);
    return (mica_value){0};
  }
  const double gamma = p.count > 0 ? p.values[0] : 0, shift = p.count > 1 ? p.values[1] : 0;
  const double degree = p.count > 2 ? p.values[2] : 0;
  if (type == RBF) return mica_exp(mica_affine(distances(l, x, vectors.values, count, features), -gamma, 0));
  const mica_value to = mica__ml_constant(l, mica_value_dtype(x), MICA_SHAPE(count, features), vectors.values);
  const mica_value dot = mica_matmul(x, mica_transpose(to, MICA_AXES(1, 0)));
  if (type == LINEAR) return dot;
  const mica_value scaled = mica_affine(dot, gamma, shift);
  return type == SIGMOID ? mica_tanh(scaled) : mica_pow(scaled, mica__lower_number(scaled, degree));
}

/* --- regression --- */

MICA__LOWER(ml_svm_regressor) {
  mica__reals weights, rho;
  const mica_value x = mica__ml_rows(l, node, 0);
  const int64_t count = mica__onnx_int(node, "n_supports", 0);
  if (!x.graph || !mica__ml_reals(l, node, "coefficients", NULL, &weights) ||
      !mica__ml_reals(l, node, "rho", NULL, &rho))
    return MICA_OK;
  const int64_t terms = count > 0 ? count : mica_value_shape(x).dim[1];
  if (weights.count != terms)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "coefficients has %lld numbers, but must have %lld, one per %s (-1: not known)",
                            (long long)weights.count, (long long)terms, count > 0 ? "support vector" : "feature");
  if (rho.count != 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "rho has %lld numbers, but must have 1", (long long)rho.count);
  const mica_value kernel = count > 0 ? kernel_of(l, node, x, count) : x;
  if (!kernel.graph) return MICA_OK;
  const mica_value w = mica__ml_constant(l, mica_value_dtype(x), MICA_SHAPE(terms, 1), weights.values);
  mica_value y = mica_affine(mica_matmul(kernel, w), 1, rho.values[0]);
  if (mica__onnx_int(node, "one_class", 0))
    return give(
        l, node,
        mica_where(mica_greater(y, mica__lower_number(y, 0)), mica__lower_number(y, 1), mica__lower_number(y, -1)));
  return give(l, node, mica__ml_transform(y, mica__ml_post_of(l, node)));
}

/* --- classes --- */

typedef struct machine {
  mica__lowering *l;
  const mica__onnx_node *node;
  mica__ml_classes classes;
  mica__integers per_class;
  mica__reals weights, rho;
  int64_t vectors, pairs;
} machine;

/* Checks the length of a list that has one number per `what`; false, with an error recorded, if it is wrong. */
static bool has_count(const machine *m, const char *name, int64_t count, int64_t want, const char *what) {
  if (count == want) return true;
  mica__lower_fail(m->l, m->node, MICA_E_SHAPE, "%s has %lld numbers, but must have %lld, one per %s", name,
                   (long long)count, (long long)want, what);
  return false;
}

/* Counts vectors and pairs of classes, and checks the lengths of lists. */
static bool count_vectors(machine *m) {
  const int64_t classes = m->classes.count;
  for (int64_t c = 0; c < m->per_class.count; c++)
    if (m->per_class.values[c] < 0 || m->per_class.values[c] > INT32_MAX ||
        (m->vectors += m->per_class.values[c]) > INT32_MAX) {
      mica__lower_fail(m->l, m->node, MICA_E_FORMAT,
                       "vectors_per_class contains %lld, but its numbers must be 0 or above, and their sum below 2^31",
                       (long long)m->per_class.values[c]);
      return false;
    }
  m->pairs = classes < 65536 ? classes * (classes - 1) / 2 : 0;
  if (classes < 2 || !m->pairs) {
    mica__lower_fail(m->l, m->node, MICA_E_SHAPE, "the number of classes is %lld, but must be 2 to 65535",
                     (long long)classes);
    return false;
  }
  return has_count(m, "vectors_per_class", m->per_class.count, classes, "class") &&
         has_count(m, "rho", m->rho.count, m->pairs, "pair of classes") &&
         has_count(m, "coefficients", m->weights.count, (classes - 1) * m->vectors,
                   "pair of a support vector and a class other than its own");
}

/* Returns decisions (N, pairs), one for each pair of classes (0, 1), (0, 2), ..., (1, 2), ... A decision above 0 means
 * the first class of the pair. */
static mica_value decisions(const machine *m, mica_value x) {
  int64_t cells = 0, pair = 0, first = 0;
  const int64_t classes = m->classes.count, *counts = m->per_class.values;
  const mica_value kernel = kernel_of(m->l, m->node, x, m->vectors);
  if (!kernel.graph || !mica__lower_product(m->l, m->node, m->vectors, m->pairs, MOST_CELLS, &cells))
    return (mica_value){0};
  double *matrix = mica__lower_room(m->l, (size_t)cells, sizeof *matrix);
  if (!matrix) return (mica_value){0};
  for (int64_t i = 0; i < classes; first += counts[i++]) {
    int64_t second = first + counts[i];
    for (int64_t j = i + 1; j < classes; second += counts[j++], pair++) {
      for (int64_t s = first; s < first + counts[i]; s++)
        matrix[s * m->pairs + pair] = m->weights.values[(j - 1) * m->vectors + s];
      for (int64_t s = second; s < second + counts[j]; s++)
        matrix[s * m->pairs + pair] = m->weights.values[i * m->vectors + s];
    }
  }
  const mica_dtype dtype = mica_value_dtype(x);
  return mica_add(mica_matmul(kernel, mica__ml_constant(m->l, dtype, MICA_SHAPE(m->vectors, m->pairs), matrix)),
                  mica__ml_constant(m->l, dtype, MICA_SHAPE(m->pairs), m->rho.values));
}

/* The class that wins the most pairs, (N); the first one in a tie. */
static mica_value winners(const machine *m, mica_value scores) {
  const int64_t classes = m->classes.count;
  double *ways = mica__lower_room(m->l, (size_t)(m->pairs * classes), sizeof *ways);
  double *lost = mica__lower_room(m->l, (size_t)classes, sizeof *lost);
  int64_t pair = 0;
  if (!ways || !lost) return (mica_value){0};
  for (int64_t i = 0; i < classes; i++)
    for (int64_t j = i + 1; j < classes; j++, pair++) {
      ways[pair * classes + i] = 1;
      ways[pair * classes + j] = -1;
      lost[j]++;
    }
  const mica_value won = mica_cast(mica_greater(scores, mica__lower_number(scores, 0)), MICA_F32);
  const mica_value votes = mica_matmul(won, mica__ml_constant(m->l, MICA_F32, MICA_SHAPE(m->pairs, classes), ways));
  return mica_argmax(mica_add(votes, mica__ml_constant(m->l, MICA_F32, MICA_SHAPE(classes), lost)), 1, false);
}

/* --- probabilities --- */

/* Computes the probabilities p of k classes for one row (Wu, Lin and Weng 2004, second method). r[i k + j] is the
 * probability of class i given that the class is i or j. Iterates until p changes little, at most 100 times. q (k, k)
 * and qp (k) are scratch. */
static void couple(int64_t k, const float *r, float *q, float *qp, float *p) {
  for (int64_t i = 0; i < k; i++) {
    p[i] = 1 / (float)k;
    q[i * k + i] = 0;
    for (int64_t j = 0; j < k; j++)
      if (j != i) {
        q[i * k + i] += r[j * k + i] * r[j * k + i];
        q[i * k + j] = -r[j * k + i] * r[i * k + j];
      }
  }
  for (int round = 0; round < 100; round++) {
    float all = 0, most = 0;
    for (int64_t i = 0; i < k; i++) {
      qp[i] = 0;
      for (int64_t j = 0; j < k; j++) qp[i] += q[i * k + j] * p[j];
      all += p[i] * qp[i];
    }
    for (int64_t i = 0; i < k; i++) most = fmaxf(most, fabsf(qp[i] - all));
    if (most < 0.005F / (float)k) return;
    for (int64_t i = 0; i < k; i++) {
      const float change = (all - qp[i]) / q[i * k + i], whole = 1 + change;
      p[i] += change;
      all = (all + change * (change * q[i * k + i] + 2 * qp[i])) / (whole * whole);
      for (int64_t j = 0; j < k; j++) {
        qp[j] = (qp[j] + change * q[i * k + j]) / whole;
        p[j] /= whole;
      }
    }
  }
}

/* Converts probabilities of pairs (N, pairs) to probabilities of classes (N, k). For a pair, the input holds the
 * probability of its first class, given that one of the two classes is right. *config is k. */
static mica_status couple_rows(const void *config, const mica__host_array *pairs, mica__host_array *y) {
  const int64_t k = *(const int64_t *)config, rows = pairs->shape.dim[0], count = pairs->shape.dim[1];
  double *given = mica__host_reals(pairs);
  float *r = calloc((size_t)(2 * k * k + k) + 1, sizeof *r), *p = calloc((size_t)(rows * k) + 1, sizeof *p);
  for (int64_t n = 0; given && r && p && n < rows; n++) {
    for (int64_t i = 0, pair = 0; i < k; i++)
      for (int64_t j = i + 1; j < k && pair < count; j++, pair++) {
        r[i * k + j] = fminf(fmaxf((float)given[n * count + pair], 1e-7F), 1 - 1e-7F);
        r[j * k + i] = 1 - r[i * k + j];
      }
    couple(k, r, r + k * k, r + 2 * k * k, p + n * k);
  }
  const bool whole = given && r && p;
  free(given);
  free(r);
  if (!whole) free(p);
  if (!whole) return mica__fail_nomem("SVMClassifier");
  *y = (mica__host_array){MICA_F32, MICA_SHAPE(rows, k), rows * k, p};
  return MICA_OK;
}

/* Converts decisions to probabilities: first of each pair by Platt's sigmoid (1999), then of the classes. Returns null
 * if an error was recorded, or if the lowering must restart to learn the operands' elements (l->demands). */
static mica_value probabilities(const machine *m, mica_value scores, const mica__reals *a, const mica__reals *b) {
  mica_value y = {0};
  if (a->count != m->pairs || b->count != m->pairs) {
    mica__lower_fail(m->l, m->node, MICA_E_SHAPE,
                     "prob_a has %lld numbers and prob_b %lld, but both must have %lld, one per pair of classes",
                     (long long)a->count, (long long)b->count, (long long)m->pairs);
    return y;
  }
  const mica_dtype dtype = mica_value_dtype(scores);
  const mica_value slope = mica__ml_constant(m->l, dtype, MICA_SHAPE(m->pairs), a->values);
  const mica_value shift = mica__ml_constant(m->l, dtype, MICA_SHAPE(m->pairs), b->values);
  const mica_value pairs = mica_sigmoid(mica_neg(mica_add(mica_mul(scores, slope), shift)));
  const mica_status status =
      mica__lower_host(m->l, m->node, "probabilities of pairs are coupled on the host", couple_rows, &m->classes.count,
                       sizeof m->classes.count, &pairs, 1, &y, 1);
  if (status != MICA_OK) mica__lower_fail(m->l, m->node, status, "%s", mica_error_message());
  return y;
}

/* Classifies without support vectors: one linear score per class. */
static mica_status linear(machine *m, mica_value x, mica__ml_post post) {
  const int64_t features = mica_value_shape(x).dim[1], classes = m->classes.count;
  if (features < 1)
    return mica__lower_fail(m->l, m->node, MICA_E_SHAPE,
                            "the number of features is %lld (-1: not known), but must be at least 1",
                            (long long)features);
  if (m->weights.count / features != classes || m->weights.count % features)
    return mica__lower_fail(
        m->l, m->node, MICA_E_SHAPE,
        "coefficients has %lld numbers, but must have %lld x %lld, the number of classes times the number of features",
        (long long)m->weights.count, (long long)classes, (long long)features);
  if (m->rho.count < 1)
    return mica__lower_fail(m->l, m->node, MICA_E_SHAPE, "rho has no numbers, but must have at least 1");
  const mica_value w = mica__ml_constant(m->l, mica_value_dtype(x), MICA_SHAPE(classes, features), m->weights.values);
  const mica_value y = mica_affine(mica_matmul(x, mica_transpose(w, MICA_AXES(1, 0))), 1, m->rho.values[0]);
  mica__ml_give_labels(m->l, m->node, &m->classes, mica_argmax(y, 1, false));
  mica__lower_result(m->l, m->node, 1, mica__ml_transform(y, post));
  return MICA_OK;
}

MICA__LOWER(ml_svm_classifier) {
  machine m = {.l = l, .node = node};
  mica__reals a, b;
  const mica__ml_post post = mica__ml_post_of(l, node);
  const mica_value x = mica__ml_rows(l, node, 0);
  mica__onnx_ints(node, "vectors_per_class", &m.per_class);
  if (!x.graph || !mica__ml_classes_of(l, node, "classlabels_ints", &m.classes) ||
      !mica__ml_reals(l, node, "coefficients", NULL, &m.weights) || !mica__ml_reals(l, node, "rho", NULL, &m.rho) ||
      !mica__ml_reals(l, node, "prob_a", NULL, &a) || !mica__ml_reals(l, node, "prob_b", NULL, &b))
    return MICA_OK;
  if (!m.per_class.count) return linear(&m, x, post);
  if (!count_vectors(&m)) return MICA_OK;
  mica_value scores = decisions(&m, x);
  if (!scores.graph) return MICA_OK;
  const mica_value best = winners(&m, scores);
  if (a.count) {
    mica__ml_give_labels(l, node, &m.classes, best);
    scores = probabilities(&m, scores, &a, &b);
    if (!scores.graph) return MICA_OK;
    mica__lower_result(l, node, 1, mica__ml_transform(scores, post));
    return MICA_OK;
  }
  mica__ml_give_labels(l, node, &m.classes, best);
  mica__lower_result(l, node, 1, m.pairs == 1 ? mica__ml_two(scores, post, false) : mica__ml_transform(scores, post));
  return MICA_OK;
}
