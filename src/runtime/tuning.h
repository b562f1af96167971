/* runtime/tuning.h: what is known about this device: which choice is fastest for a problem, and which choices are
 * wrong.
 *
 * The cache directory has a text file for each device, driver and set of kernels, tuning/KEY.txt, with one fact per
 * line, and tabs between fields:
 *
 *   best  PROBLEM  CHOICE  SECONDS      best  gemm f32 m1024 n1024 k1024 nn b1  gemm_tile MR=8 NV=2 KC=256  0.0061
 *   bad   CHOICE  REASON                bad   gemm_gpu.nvidia  element 3 is 0, should be 1.5 within 1e-5
 *
 * A choice is an implementation, or a kernel and its variant ("gemm_gpu.nvidia"), optionally with parameter values.
 * Lines that do not parse are skipped. The file is replaced as a whole (written aside, then renamed), after merging
 * what another process has written meanwhile. Without a cache directory facts last as long as the engine. */
#ifndef MICA_RUNTIME_TUNING_H
#define MICA_RUNTIME_TUNING_H

#include "base/error.h"
#include "base/text.h"

#include <mica/device.h>
#include <pthread.h>

#define MICA__TUNING_TEXT 160

typedef struct mica__tuning_fact {
  bool bad;
  char subject[MICA__TUNING_TEXT]; /* best: the problem; bad: the choice */
  char text[MICA__TUNING_TEXT];    /* best: the choice; bad: the reason */
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

/* Adds the facts of a file's text; later ones replace earlier ones on the same subject. */
mica_status mica__tuning_parse(mica__tuning *tuning, const char *text, size_t bytes);

/* Appends what is known about the engine's device, in the file's format. */
void mica__tuning_text(const mica_engine *engine, mica__text *out);

/* True if a choice is known for the problem, the fastest one; choice receives it. */
bool mica__tuning_best(mica_engine *engine, const char *problem, char choice[MICA__TUNING_TEXT]);
/* True if the choice was found wrong on this device. */
bool mica__tuning_is_bad(mica_engine *engine, const char *choice);

/* Adds a fact. Tabs and newlines in texts become blanks, and texts that are too long are cut. */
mica_status mica__tuning_keep(mica_engine *engine, const char *problem, const char *choice, double seconds);
mica_status mica__tuning_quarantine(mica_engine *engine, const char *choice, const char *reason);
/* Quarantines the choice only as long as the engine lives. */
mica_status mica__tuning_avoid(mica_engine *engine, const char *choice, const char *reason);
/* Removes a quarantine: the choice was right this time. */
mica_status mica__tuning_unquarantine(mica_engine *engine, const char *choice);

/* The value of mica_engine_config.tune. */
bool mica__engine_tunes(const mica_engine *engine);

#endif
