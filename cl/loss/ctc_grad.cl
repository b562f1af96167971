/* loss/ctc_grad.cl: the gradient of the CTC loss of each sequence with respect to its logits (loss/ctc.clh). It is the
 * softmax minus the probability that frame t is in a state of class c:
 *
 *   gradient[t, n, c] = e^(logits[t, n, c] - rows[n, t]) - (sum over i of class c of e^(s_i)) / (sum over i of e^(s_i))
 *   s_i               = alpha[n, t, i] + beta[n, t, i] - log p(t, i)
 *
 * It is 0 after the sequence's frames, and if no alignment gives the target. One work-item computes the sum of a class.
 * All work-items together compute the sum of the blank, in a fixed order.
 *
 * One dimension of n * t groups. */
#include "loss/ctc.clh"

CTC_KERNEL ctc_grad(__global const STORAGE(X_T) * logits, const long logits_at, __global const int *targets,
                    const long targets_at, __global const int *logit_lengths, const long logit_lengths_at,
                    __global const int *target_lengths, const long target_lengths_at,
                    __global const STORAGE(X_T) * rows, const long rows_at, __global STORAGE(X_T) * alpha,
                    const long alpha_at, __global const int *links, const long links_at,
                    __global STORAGE(X_T) * gradient, const long gradient_at, const int frames, const int sequences,
                    const int classes, const int labels, const int blank) {
#if GROUP > 1
  __local real room[GROUP];
#endif
  const int n = (int)(get_group_id(0) / frames), t = (int)(get_group_id(0) % frames), me = get_local_id(0);
  const int count = length_of(logit_lengths + logit_lengths_at, n, frames), most = 2 * labels + 1;
  /* After the sequence's end there are no states. The kernel does not return early, because all work-items must reach
   * the barriers. */
  const int states = t < count ? 2 * length_of(target_lengths + target_lengths_at, n, labels) + 1 : 0;
  const long row = ((long)t * sequences + n) * classes, base = ((long)n * frames + t) * most;
  gradient += gradient_at + row;
  logits += logits_at + row;
  targets += targets_at + (long)n * labels;
  links += links_at + (long)n * labels;
  alpha += alpha_at + base;
  __global STORAGE(X_T) *beta = alpha + (long)sequences * frames * most;
  const real scale = t < count ? rows[rows_at + (long)n * frames + t] : 0;
  /* beta[i] becomes s_i: the log probability of state i, up to a constant of the frame. */
  real top = -INFINITY;
  for (int i = me; i < states; i += GROUP) {
    const int own = class_of(targets, i, blank, classes);
    const real share = own < 0 || alpha[i] == -INFINITY || beta[i] == -INFINITY
                           ? -INFINITY
                           : alpha[i] + beta[i] - (logits[own] - scale);
    beta[i] = share;
    top = mica_max(top, share);
  }
  GROUP_JOIN(mica_max, top, room);
  const bool possible = top != -INFINITY;
  real sum = 0, blanks = 0;
  for (int i = me; i < (possible ? states : 0); i += GROUP) {
    const real share = mica_exp(beta[i] - top);
    beta[i] = share;
    sum += share;
    blanks += i & 1 ? 0 : share;
  }
  GROUP_JOIN(PLUS, sum, room);
  GROUP_JOIN(PLUS, blanks, room);
  for (int k = me; k < classes; k += GROUP)
    gradient[k] = possible ? mica_exp(logits[k] - scale) - (k == blank ? blanks / sum : 0) : 0;
  MEET();
  for (int k = me; k < (possible ? states / 2 : 0); k += GROUP) {
    const int own = class_of(targets, 2 * k + 1, blank, classes);
    if (own < 0 || links[k] < -1) continue;
    real all = beta[2 * k + 1];
    for (int j = links[k]; j >= 0;) {
      all += beta[2 * j + 1];
      j = links[j] < -1 ? -3 - links[j] : links[j];
    }
    gradient[own] -= all / sum;
  }
}
