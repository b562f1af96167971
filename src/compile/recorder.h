/* compile/recorder.h: a plan while its launches are recorded, and the parts of its prologue.
 *
 * The prologue is the work that runs need not repeat, because it depends only on constants and on parameters that no
 * run assigns: invariant steps, and what ops derive from such operands (mica__exec.prologue), such as weights in the
 * order that a kernel reads. The memory that a step fills there is a placeholder until its launches are known. The
 * launches tell how it is made and from what, and by that the memory is looked up (runtime/derived.h). So another plan,
 * or a session that shares the parameters, finds it instead of making it again. */
#ifndef MICA_COMPILE_RECORDER_H
#define MICA_COMPILE_RECORDER_H

#include "compile/plan.h"

/* A placeholder, and what replaces it: memory `index` of part `part` of the prologue. */
typedef struct mica__given {
  mica_buffer *placeholder;
  size_t part, index;
} mica__given;

typedef struct mica__recorder {
  mica_session *session;
  mica__plan *v;
  mica_queue *queue;     /* of the uploads */
  mica_queue *recorder;  /* of the launches */
  mica_queue *prologue;  /* of the launches that come before the first run */
  mica_tensor **tensors; /* by id - 1: the node's memory, made when first needed */
  mica_buffer **derived; /* by id - 1: the placeholder of an invariant step's result, made when first needed */
  mica__given *given;
  size_t given_count;
} mica__recorder;

/* Called before and after a step is recorded: what it added to the prologue, if anything, becomes a part of it. */
void mica__prologue_begin(mica__recorder *r, const mica__step *step, mica__recorder_mark *from);
mica_status mica__prologue_end(mica__recorder *r, const mica__step *step, mica__recorder_mark from);
/* Called when all is recorded and the recordings have ended: gives the placeholders memory. */
mica_status mica__prologue_give(mica__recorder *r);

#endif
