/* mica/doctor.h: does this device compute what it should?
 *
 * Threads: any, one examination an engine at a time; it uses the engine's own queue. */
#ifndef MICA_DOCTOR_H
#define MICA_DOCTOR_H

#include <mica/device.h>

MICA_BEGIN_DECLS

/* One kernel variant on one group of cases. Texts are valid during the callback. */
typedef struct mica_doctor_line {
  const char *op;
  const char *kernel;
  const char *variant; /* a shipped parameter set: "cpu", "gpu.nvidia" */
  const char *cases;   /* what was run: "f16, 12 cases" */
  /* MICA_OK; MICA_E_NUMERIC for wrong results; MICA_E_BUILD for a kernel that cannot be built; MICA_E_UNSUPPORTED where
   * the device cannot run the variant, and for an implementation that was not run: message says why. Any other is what
   * ends the examination. */
  mica_status status;
  const char *message; /* the sentence to a status that is not MICA_OK, else "" */
  double worst;        /* the largest error as a share of its bound; above 1 is wrong */
} mica_doctor_line;

typedef struct mica_doctor_summary {
  size_t passed, failed, skipped;
} mica_doctor_summary;

typedef void mica_doctor_fn(void *user, const mica_doctor_line *line);

/* Runs every variant of every kernel of an op (`op` names it, or one of its kernels), or of all ops where op is NULL,
 * against a naive reference in double precision on the host. MICA_E_NOT_FOUND when no op of that name has kernels to
 * examine. fn is called once a line and may be NULL. A variant that is wrong or cannot be built is put in quarantine:
 * ops on this device and driver choose another from then on, in this process and, through the cache directory, in later
 * ones; one that passes is released. Blocks, typically for some seconds, the first time for a minute. The status says
 * whether the examination could be made, which memory that is short prevents, for one; its result is in *summary. */
MICA_API MICA_CHECKED mica_status mica_doctor_run(mica_engine *engine, const char *op, mica_doctor_fn *fn, void *user,
                                                  mica_doctor_summary *summary);

/* For a process beside one that examines all ops: runs the same checks, the last op's first, and notes nothing, so that
 * the other one finds in their common cache directory the programs that it comes to last. mica_doctor_run starts such a
 * process by itself where the engine has a builder (mica_engine_config) and a cache directory, and the host more cores
 * than one. fn as above. */
MICA_API MICA_CHECKED mica_status mica_doctor_ahead(mica_engine *engine, mica_doctor_fn *fn, void *user);

MICA_END_DECLS

#endif
