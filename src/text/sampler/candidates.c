/* Sorts and filters candidates, and computes sums over them. */
#include "text/sampler/sampler.h"

#include <math.h>

static bool better(const mica_candidate *a, const mica_candidate *b) {
  return a->logprob > b->logprob || (a->logprob == b->logprob && a->token < b->token);
}

static void swap(mica_candidate *a, mica_candidate *b) {
  const mica_candidate t = *a;
  *a = *b;
  *b = t;
}

/* Moves element i down until the heap of n elements is in order again. The root is the worst candidate. */
static void sink(mica_candidate *heap, int64_t n, int64_t i) {
  for (int64_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && better(&heap[child], &heap[child + 1])) child++;
    if (!better(&heap[i], &heap[child])) return;
    swap(&heap[i], &heap[child]);
  }
}

void mica__candidates_sort(mica__candidates *c, int64_t n) {
  if (n > c->count) n = c->count;
  if (n <= c->sorted) return;
  mica_candidate *heap = c->at + c->sorted;
  const int64_t wanted = n - c->sorted, all = c->count - c->sorted;
  for (int64_t i = wanted / 2 - 1; i >= 0; i--) sink(heap, wanted, i);
  for (int64_t i = wanted; i < all; i++) {
    if (!better(&heap[i], &heap[0])) continue;
    swap(&heap[i], &heap[0]);
    sink(heap, wanted, 0);
  }
  for (int64_t i = wanted - 1; i > 0; i--) {
    swap(&heap[0], &heap[i]);
    sink(heap, i, 0);
  }
  c->sorted = n;
  c->by_id = false;
}

void mica__candidates_cut(mica__candidates *c, int64_t n) {
  if (n >= c->count) return;
  c->count = n;
  if (c->sorted > n) c->sorted = n;
}

void mica__candidates_filter(mica__candidates *c, double least) {
  int64_t kept = 0, sorted = 0;
  for (int64_t i = 0; i < c->count; i++) {
    if (!(c->at[i].logprob >= least)) continue;
    c->at[kept++] = c->at[i];
    sorted += i < c->sorted;
  }
  c->count = kept;
  c->sorted = sorted;
}

void mica__candidates_changed(mica__candidates *c) { c->sorted = 0; }

double mica__candidates_largest(const mica__candidates *c) {
  double largest = c->at[0].logprob;
  for (int64_t i = 1; c->sorted == 0 && i < c->count; i++)
    if (c->at[i].logprob > largest) largest = c->at[i].logprob;
  return largest;
}

double mica__candidates_sum(const mica__candidates *c, double *largest) {
  *largest = mica__candidates_largest(c);
  double sum = 0;
  for (int64_t i = 0; i < c->count; i++) sum += exp(c->at[i].logprob - *largest);
  return sum;
}

/* The entropy of the softmax: with q = exp(logit - largest), log sum q - sum q (logit - largest) / sum q. */
double mica__candidates_entropy(const mica__candidates *c) {
  const double largest = mica__candidates_largest(c);
  double sum = 0, weighted = 0;
  for (int64_t i = 0; i < c->count; i++) {
    const double above = c->at[i].logprob - largest, q = exp(above);
    sum += q;
    if (q > 0) weighted += q * above;
  }
  return log(sum) - weighted / sum;
}
