/* loss/ctc_lattice.cl: alpha, beta and the loss of each sequence for CTC (loss/ctc.clh; Graves et al. 2006):
 *
 *   alpha[t, i] = log p(t, i) + log(e^alpha[t - 1, i] + e^alpha[t - 1, i - 1] + e^alpha[t - 1, i - 2])
 *   beta[t, i]  = log p(t, i) + log(e^beta[t + 1, i] + e^beta[t + 1, i + 1] + e^beta[t + 1, i + 2])
 *
 * The last term is included only if both states are labels and the labels differ. Every EVERY frames the largest number
 * of the frame before is subtracted from all numbers, so that they stay small. The loss includes the sum of what was
 * subtracted, which is computed with compensation of rounding errors (Kahan 1965). The loss is infinite if no alignment
 * gives the target.
 *
 * `lattice` holds alpha of all sequences and, with 2 n work-groups, after it beta. A work-group that computes beta
 * proceeds from the last frame to the first. It also writes links[n, k] for each label k: the position p of the next
 * equal label, with p = -1 if there is none. If there is an equal label before k, it writes -3 - p instead.
 *
 * One dimension of n work-groups for alpha, or 2 n for alpha and beta. */
#include "loss/ctc.clh"

/* The number of frames from one subtraction to the next. In these frames the numbers change by about 10, so their
 * rounding error is about 1e-6. */
#define EVERY 4

CTC_KERNEL ctc_lattice(__global const STORAGE(X_T) * logits, const long logits_at, __global const int *targets,
                       const long targets_at, __global const int *logit_lengths, const long logit_lengths_at,
                       __global const int *target_lengths, const long target_lengths_at,
                       __global const STORAGE(X_T) * rows, const long rows_at, __global STORAGE(X_T) * lattice,
                       const long lattice_at, __global STORAGE(X_T) * loss, const long loss_at, __global int *links,
                       const long links_at, const int frames, const int sequences, const int classes, const int labels,
                       const int blank) {
#if GROUP > 1
  __local real room[GROUP];
#endif
  const bool back = (int)get_group_id(0) >= sequences;
  const int n = (int)get_group_id(0) - (back ? sequences : 0), me = get_local_id(0), most = 2 * labels + 1;
  const int count = length_of(logit_lengths + logit_lengths_at, n, frames);
  const int states = 2 * length_of(target_lengths + target_lengths_at, n, labels) + 1;
  logits += logits_at + (long)n * classes;
  targets += targets_at + (long)n * labels;
  rows += rows_at + (long)n * frames;
  lattice += lattice_at + (long)get_group_id(0) * frames * most;
  links += links_at + (long)n * labels;
  for (int k = me; back && k < states / 2; k += GROUP) {
    int next = -1, before = 0;
    for (int j = 0; j < k; j++) before |= targets[j] == targets[k];
    for (int j = states / 2 - 1; j > k; j--) next = targets[j] == targets[k] ? j : next;
    links[k] = before ? -3 - next : next;
  }
  const int ahead = back ? -1 : 1;
  real taken = 0, lost = 0;
  for (int step = 0; step < count; step++) {
    const int t = back ? count - 1 - step : step;
    __global const STORAGE(X_T) *x = logits + (long)t * sequences * classes;
    __global STORAGE(X_T) *to = lattice + (long)t * most;
    __global const STORAGE(X_T) *from = to + (back ? most : -most);
    real top = 0;
    if (step > 0 && step % EVERY == 0) {
      top = -INFINITY;
      for (int i = me; i < states; i += GROUP) top = mica_max(top, from[i]);
      GROUP_JOIN(mica_max, top, room);
      if (top == -INFINITY) top = 0;
      const real more = top - lost, sum = taken + more;
      lost = (sum - taken) - more;
      taken = sum;
    }
    for (int i = me; i < states; i += GROUP) {
      const int at = back ? states - 1 - i : i;
      const int own = class_of(targets, at, blank, classes);
      real sum = -INFINITY;
      if (own < 0) {
        /* The label is not a class, so no path leads to this state. */
      } else if (step == 0) {
        sum = i < 2 ? 0 : -INFINITY;
      } else {
        const real b = i > 0 ? from[at - ahead] : -INFINITY;
        const bool skips = (i & 1) && i > 1 && own != class_of(targets, at - 2 * ahead, blank, classes);
        const real c = skips ? from[at - 2 * ahead] : -INFINITY;
        sum = log_sum(from[at], b, c) - top;
      }
      to[at] = own < 0 ? sum : sum + (x[own] - rows[t]);
    }
    MEET();
  }
  if (!back && me == 0) {
    __global const STORAGE(X_T) *last = lattice + (long)(count - 1) * most;
    real log_p = states == 1 ? 0 : -INFINITY;
    if (count > 0) log_p = log_sum(last[states - 1], states > 1 ? last[states - 2] : -INFINITY, -INFINITY);
    loss[loss_at + n] = -((log_p - lost) + taken);
  }
}
