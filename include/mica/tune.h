/* mica/tune.h: finding the fastest implementation of an op for the shapes in use, on this device.
 *
 * A tuner holds one problem, its operands filled with random numbers and its reference. Candidates are measured one by
 * one; each is compared with the reference first, and a wrong one is never timed. The library neither forks nor kills:
 * a driver that hangs or crashes on a candidate takes the process down, so that a careful tuner measures in a child
 * process, as the command `mica tune` does.
 *
 * Threads: a tuner is used by one thread at a time, and its measurements want the device for themselves. */
#ifndef MICA_TUNE_H
#define MICA_TUNE_H

#include <mica/device.h>

MICA_BEGIN_DECLS

typedef struct mica_tuner mica_tuner;

/* An op that can be tuned: its name, what it is, how a problem of it is written, and common problems, which end in
 * NULL. The texts are static. */
typedef struct mica_tunable {
  const char *op, *summary, *syntax;
  const char *const *problems;
} mica_tunable;

/* The op of number `index`, from 0; false after the last one. */
MICA_API bool mica_tunable_get(size_t index, mica_tunable *tunable);

/* problem is the op and what describes a problem of it.
 *
 * "gemm 1024,1024,1024" (M,N,K), optionally followed by ,nn ,nt ,tn or ,tt (transposes of A and B), by a type of the
 * operands (,f16) and by a number of batches (,x8).
 *
 * "conv fwd,n16,c64,h56,k64,r3,p1": the pass (fwd, bwd_data, bwd_filter), images, channels, height and width, filters,
 * their height and width, padding; further s (stride), d (dilation), g (groups), o (output size, where zeros beyond the
 * padding make it larger) and a type (f16). h, r, s, p, d and o are one number for height and width, or HxW, or DxHxW;
 * what is left out is 1, the padding 0.
 *
 * MICA_E_FORMAT if the text is not a problem description. */
MICA_API MICA_CHECKED mica_status mica_tuner_create(mica_engine *engine, const char *problem, mica_tuner **tuner);
/* NULL is a no-op. */
MICA_API void mica_tuner_destroy(mica_tuner *tuner);

/* The problem as the results are filed under, and what one run of it computes. */
MICA_API const char *mica_tuner_key(const mica_tuner *tuner);
MICA_API double mica_tuner_flops(const mica_tuner *tuner);

/* Candidates: at first every implementation that takes the problem with each of its shipped parameter sets, the default
 * choice foremost. widen adds those that differ from candidate `index` in one parameter and are not listed yet. */
MICA_API size_t mica_tuner_count(const mica_tuner *tuner);
MICA_API const char *mica_tuner_candidate(const mica_tuner *tuner, size_t index);
/* Adds one by its text, unless it is listed, and gives its index. MICA_E_NOT_FOUND when the text is no candidate
 * for the problem on this device. */
MICA_API MICA_CHECKED mica_status mica_tuner_add(mica_tuner *tuner, const char *candidate, size_t *index);
MICA_API MICA_CHECKED mica_status mica_tuner_widen(mica_tuner *tuner, size_t index);

/* Compares the candidate with the reference and then times it: the median of runs that take at least `budget` seconds
 * together (0 for a twentieth of a second). Blocks. MICA_E_NUMERIC for a wrong result, and whatever a launch can fail
 * with; *seconds is for one run. */
MICA_API MICA_CHECKED mica_status mica_tuner_measure(mica_tuner *tuner, size_t index, double budget, double *seconds);

/* Files the candidate as the best for this problem: ops of this engine use it from now on, and those of other processes
 * through the cache directory. */
MICA_API MICA_CHECKED mica_status mica_tuner_keep(mica_tuner *tuner, size_t index, double seconds);
/* Files it as wrong on this device: no op uses it any more. */
MICA_API MICA_CHECKED mica_status mica_tuner_quarantine(mica_tuner *tuner, size_t index, const char *reason);

MICA_END_DECLS

#endif
