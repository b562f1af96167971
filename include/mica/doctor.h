/* mica/doctor.h: check that a device computes correctly.
 *
 * Threads: any thread, but one examination per engine at a time. It uses the engine's own queue. */
#ifndef MICA_DOCTOR_H
#define MICA_DOCTOR_H

#include <mica/device.h>

MICA_BEGIN_DECLS

/* Result of one kernel variant on one group of cases. Texts are valid during the callback. */
typedef struct mica_doctor_line {
  const char *op;
  const char *kernel;
  const char *variant; /* parameter set: "cpu", "gpu.nvidia" */
  const char *cases;   /* cases: "f16, 12 cases" */
  /* MICA_OK. MICA_E_NUMERIC: wrong results. MICA_E_BUILD: the kernel does not build. MICA_E_UNSUPPORTED: the device
   * cannot run the variant, or it was not run; message gives the reason. Any other status ends the examination. */
  mica_status status;
  const char *message; /* message of a status other than MICA_OK, else "" */
  double worst;        /* largest error divided by its bound; above 1 is wrong */
} mica_doctor_line;

typedef struct mica_doctor_summary {
  size_t passed, failed, skipped;
} mica_doctor_summary;

typedef void mica_doctor_fn(void *user, const mica_doctor_line *line);

/* Checks all variants of all kernels of an op against a reference in double precision on the host. `op` names an op or
 * one of its kernels; NULL: all ops. fn (may be NULL) is called for each line. Blocks, usually for seconds, the first
 * time for about a minute.
 *
 * A variant that is wrong or does not build is quarantined: ops on this device and driver stop using it, in this
 * process and, through the cache directory, in later ones. A variant that passes leaves quarantine. The returned status
 * says whether the examination was possible (it may fail for lack of memory, for example); if it was, the results are
 * in *summary. MICA_E_NOT_FOUND: no op of this name has kernels to check. MICA_E_UNSUPPORTED: the null device. */
MICA_API MICA_CHECKED mica_status mica_doctor_run(mica_engine *engine, const char *op, mica_doctor_fn *fn, void *user,
                                                  mica_doctor_summary *summary);

/* Runs the checks of mica_doctor_run in reverse order of ops and records no results. A second process uses it to fill
 * the common cache directory with programs that the main examination needs last. mica_doctor_run starts such a process
 * itself if it checks all ops, the engine has a builder (mica_engine_config) and a cache directory and does not tune,
 * and the host has several cores. fn (may be NULL) is called for each line. */
MICA_API MICA_CHECKED mica_status mica_doctor_ahead(mica_engine *engine, mica_doctor_fn *fn, void *user);

MICA_END_DECLS

#endif
