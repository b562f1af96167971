/* mica/tune.h: find the fastest implementation of an op for given shapes on this device.
 *
 * A tuner holds one problem with random operands and a reference result. Candidates are measured one by one. A
 * candidate with a wrong result is not timed. The library neither forks nor kills: if a driver hangs or crashes, so
 * does the process. Measure in a child process to be safe, as the command `mica tune` does.
 *
 * Threads: use a tuner from one thread at a time. For valid measurements, nothing else should use the device. */
#ifndef MICA_TUNE_H
#define MICA_TUNE_H

#include <mica/device.h>

MICA_BEGIN_DECLS

typedef struct mica_tuner mica_tuner;

/* An op that can be tuned: name, summary, syntax of a problem, and common problems, ending in NULL. The texts are
 * static. */
typedef struct mica_tunable {
  const char *op, *summary, *syntax;
  const char *const *problems;
} mica_tunable;

/* Gets op number `index`, from 0. False after the last one. */
MICA_API bool mica_tunable_get(size_t index, mica_tunable *tunable);

/* Creates a tuner for a problem: the op and its description.
 *
 * "gemm 1024,1024,1024" is M,N,K. Optional: ,nn ,nt ,tn or ,tt (transposes of A and B), a type (,f16), and a number of
 * batches (,x8).
 *
 * "conv fwd,n16,c64,h56,k64,r3,p1" is the pass (fwd, bwd_data, bwd_filter), followed by
 *
 *   n  images           k  filters                         s  stride (optional; 1)
 *   c  channels         r  size of a filter (optional; 1)  d  dilation (optional; 1)
 *   h  height, width    p  padding (optional; 0)           g  groups (optional; 1)
 *   o  output size (optional; needed if zeros beyond the padding enlarge the output)
 *
 * and optionally a type (f16). h, r, s, p, d and o are one number for all axes, HxW, or DxHxW.
 *
 * MICA_E_FORMAT: the text is not a problem. */
MICA_API MICA_CHECKED mica_status mica_tuner_create(mica_engine *engine, const char *problem, mica_tuner **tuner);
/* NULL is a no-op. */
MICA_API void mica_tuner_destroy(mica_tuner *tuner);

/* Key under which results are stored, and the operations of one run. */
MICA_API const char *mica_tuner_key(const mica_tuner *tuner);
MICA_API double mica_tuner_flops(const mica_tuner *tuner);

/* Number of candidates, and the text of one (NULL if index is too large). At first, these are all implementations that
 * accept the problem, with each of their parameter sets, except those stored as wrong (mica_tuner_quarantine); the
 * default choice comes first. */
MICA_API size_t mica_tuner_count(const mica_tuner *tuner);
MICA_API const char *mica_tuner_candidate(const mica_tuner *tuner, size_t index);
/* mica_tuner_add adds a candidate by its text, unless the tuner has it already; *index receives its index.
 * MICA_E_NOT_FOUND: the text is not a candidate for this problem on this device. mica_tuner_widen adds all candidates
 * that differ from candidate `index` in one parameter. */
MICA_API MICA_CHECKED mica_status mica_tuner_add(mica_tuner *tuner, const char *candidate, size_t *index);
MICA_API MICA_CHECKED mica_status mica_tuner_widen(mica_tuner *tuner, size_t index);

/* Compares a candidate with the reference, then times it. *seconds is the time of one run: the median of 5 to 1,000
 * measurements, which take `budget` seconds in total if their number allows it (0: 0.05). Blocks. MICA_E_NUMERIC: the
 * result is wrong. Otherwise the errors of a launch. */
MICA_API MICA_CHECKED mica_status mica_tuner_measure(mica_tuner *tuner, size_t index, double budget, double *seconds);

/* Stores a candidate as the best one for this problem. Ops of this engine use it from now on; other processes get it
 * through the cache directory. */
MICA_API MICA_CHECKED mica_status mica_tuner_keep(mica_tuner *tuner, size_t index, double seconds);
/* Stores a candidate as wrong on this device; ops stop using it. */
MICA_API MICA_CHECKED mica_status mica_tuner_quarantine(mica_tuner *tuner, size_t index, const char *reason);

MICA_END_DECLS

#endif
