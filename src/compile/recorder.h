/* compile/recorder.h: a plan while its launches are recorded, and the parts of its prologue.
 *
 * The prologue is work that need not be repeated in each run, because it depends only on constants and on parameters
 * that no run assigns. It consists of invariant steps and of values that ops derive from such operands
 * (mica__exec.prologue), for example weights in the order that a kernel reads.
 *
 * While a step is recorded, the memory that it fills in the prologue is a placeholder. The recorded launches tell what
 * is computed from which buffers, and a hash of this is the key under which the memory is looked up
 * (runtime/derived.h). So another plan, or a session that shares the parameters, finds the memory instead of computing
 * it again. A part with host steps, or with an operand that cannot be identified, has a key of its own and is not
 * shared. */
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

/* Call these before and after a step is recorded. If the step added launches or host steps to the prologue, they become
 * one part of the prologue. */
void mica__prologue_begin(mica__recorder *r, const mica__step *step, mica__recorder_mark *from);
mica_status mica__prologue_end(mica__recorder *r, const mica__step *step, mica__recorder_mark from);
/* Gives memory to the placeholders. Called when everything is recorded and the recordings have ended. */
mica_status mica__prologue_give(mica__recorder *r);

#endif
