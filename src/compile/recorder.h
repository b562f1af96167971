/* compile/recorder.h: a plan while its launches are recorded, and the parts of its prologue.
 *
 * What a run need not do again, since it depends on constants and on parameters that no run assigns, is recorded as the
 * prologue: steps that are invariant, and what ops make of such operands (mica__exec.prologue), weights in the order of
 * their kernels. The memory that a step of the plan fills there is placeholders until its launches are
 * known. These say how it is made and of what, and with that the memory is looked up (runtime/derived.h), so that
 * another plan, or a session that shares the parameters, finds it instead of making it again. */
#ifndef MICA_COMPILE_RECORDER_H
#define MICA_COMPILE_RECORDER_H

#include "compile/plan.h"

/* A placeholder, and the memory that it stands for: of a part of the prologue. */
typedef struct mica__given {
  mica_buffer *placeholder;
  size_t part, index;
} mica__given;

typedef struct mica__recorder {
  mica_session *session;
  mica__plan *v;
  mica_queue *queue;     /* of the uploads */
  mica_queue *recorder;  /* of the launches */
  mica_queue *prologue;  /* of those that come before the first run */
  mica_tensor **tensors; /* by id - 1: the memory of a node, made when first named */
  mica_buffer **derived; /* by id - 1: the placeholder of a result of an invariant step, likewise */
  mica__given *given;
  size_t given_count;
} mica__recorder;

/* Before and after a step is recorded: what came to the prologue becomes a part of it. Nothing where nothing did. */
void mica__prologue_begin(mica__recorder *r, const mica__step *step, mica__recorder_mark *from);
mica_status mica__prologue_end(mica__recorder *r, const mica__step *step, mica__recorder_mark from);
/* When all is recorded and the recordings have ended: memory for the placeholders. */
mica_status mica__prologue_give(mica__recorder *r);

#endif
