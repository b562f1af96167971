/* loss/ctc_rows.cl: rows[n, t] = log(sum over c of e^logits[t, n, c]) for the frames t of sequence n (loss/ctc.clh).
 * Elements after its last frame are not written.
 *
 * One dimension of n * t groups. */
#include "loss/ctc.clh"

CTC_KERNEL ctc_rows(__global const STORAGE(X_T) * logits, const long logits_at, __global const int *logit_lengths,
                    const long logit_lengths_at, __global STORAGE(X_T) * rows, const long rows_at, const int frames,
                    const int sequences, const int classes) {
#if GROUP > 1
  __local real room[GROUP];
#endif
  const int n = (int)(get_group_id(0) / frames), t = (int)(get_group_id(0) % frames), me = get_local_id(0);
  const bool counts = t < length_of(logit_lengths + logit_lengths_at, n, frames);
  logits += logits_at + ((long)t * sequences + n) * classes;
  real top = -INFINITY;
  for (int k = me; k < (counts ? classes : 0); k += GROUP) top = mica_max(top, logits[k]);
  GROUP_JOIN(mica_max, top, room);
  real sum = 0;
  for (int k = me; k < (counts ? classes : 0); k += GROUP) sum += mica_exp(logits[k] - top);
  GROUP_JOIN(PLUS, sum, room);
  if (me == 0 && counts) rows[rows_at + (long)n * frames + t] = top == -INFINITY ? top : top + mica_log(sum);
}
