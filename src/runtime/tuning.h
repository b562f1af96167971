/* runtime/tuning.h: what is known about this device: which choice is fastest for a problem, and which choices are
 * wrong.
 *
 * The cache directory has a text file for each device, driver and set of kernels, tuning/KEY.txt. Each line is an
 * entry, with tabs between its fields:
 *
 *   best  PROBLEM  CHOICE  SECONDS      best  gemm f32 m1024 n1024 k1024 nn b1  gemm_tile MR=8 NV=2 KC=256  0.0061
 *   bad   CHOICE  REASON                bad   gemm_gpu.nvidia  element 3 is 0, should be 1.5 within 1e-5
 *
 * A choice that is listed as bad is in quarantine: it was found wrong, or could not be built, and is not used.
 *
 * A choice is an implementation, or a kernel and its variant ("gemm_gpu.nvidia"), optionally with parameter values.
 * Lines in another form, such as the comment at the top, are skipped. The engine's bundle may have entries too; those
 * of the file replace them. To add an entry, Mica reads the file, in case another process has changed it, writes a new
 * file with the entry added, and renames that to the old name. Without a cache directory, entries last as long as the
 * engine. */
#ifndef MICA_RUNTIME_TUNING_H
#define MICA_RUNTIME_TUNING_H

#include "base/error.h"
#include "base/text.h"

#include <mica/device.h>
#include <pthread.h>

#define MICA__TUNING_TEXT 160

typedef struct mica__tuning_fact {
  bool bad;
  char subject[MICA__TUNING_TEXT]; /* the problem, or the choice if it is bad */
  char text[MICA__TUNING_TEXT];    /* the best choice, or the reason why a choice is bad */
  double seconds;
} mica__tuning_fact;

typedef struct mica__tuning {
  pthread_mutex_t lock;
  bool loaded;
  mica__tuning_fact *facts;
  size_t count, capacity;
} mica__tuning;

mica_status mica__tuning_init(mica__tuning *tuning);
void mica__tuning_destroy(mica__tuning *tuning);

/* Adds the entries of a file's text; later ones replace earlier ones on the same subject. */
mica_status mica__tuning_parse(mica__tuning *tuning, const char *text, size_t bytes);

/* Appends the entries of the engine's bundle and of the file, in the file's format. Leaves out what only this engine
 * knows (mica__tuning_avoid). */
void mica__tuning_text(const mica_engine *engine, mica__text *out);

/* True if the fastest choice for the problem is known; `choice` then gets it. */
bool mica__tuning_best(mica_engine *engine, const char *problem, char choice[MICA__TUNING_TEXT]);
/* True if an entry says that the choice is bad. */
bool mica__tuning_is_bad(mica_engine *engine, const char *choice);

/* Add an entry to the engine and, if there is a cache directory, to the file: the fastest choice for a problem, or a
 * bad choice. The entry replaces an earlier one on the same subject. Tabs and newlines in texts become blanks, and
 * texts that are too long are cut. */
mica_status mica__tuning_keep(mica_engine *engine, const char *problem, const char *choice, double seconds);
mica_status mica__tuning_quarantine(mica_engine *engine, const char *choice, const char *reason);
/* Like mica__tuning_quarantine, but does not add the entry to the file. */
mica_status mica__tuning_avoid(mica_engine *engine, const char *choice, const char *reason);
/* Removes the entry that says that the choice is bad, if there is one. A check calls this when it finds the choice
 * right. An entry of the bundle is removed only from this engine. */
mica_status mica__tuning_unquarantine(mica_engine *engine, const char *choice);

/* The value of mica_engine_config.tune. */
bool mica__engine_tunes(const mica_engine *engine);

#endif
