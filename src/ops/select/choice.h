/* ops/select/choice.h: an implementation together with the values of its kernel's parameters: what a tuner tries, what
 * it found best, and what an op launches.
 *
 * As text, in the tuner's file and in reports: the implementation, the shipped variant it starts from, and the values
 * that differ from that one's: "gemm_gpu nvidia.128x64 MICRO_M=4". */
#ifndef MICA_OPS_SELECT_CHOICE_H
#define MICA_OPS_SELECT_CHOICE_H

#include "ops/select/impl.h"
#include "runtime/tuning.h"

#include <stddef.h>

typedef struct mica__choice {
  const mica__impl *impl;
  const mica__variant *base; /* NULL: the implementation decides by itself for each problem */
  mica__variant variant;     /* base with other values */
  bool planned;              /* for the problem that it was chosen for, which is launched next */
  mica__task task;
} mica__choice;

/* "gemm_gpu nvidia.128x64 MICRO_M=4". */
const char *mica__choice_format(const mica__choice *choice, char text[MICA__TUNING_TEXT]);

/* false when the text names no implementation of the list, no variant of its kernel, no parameter of it, or a value
 * that is not among the parameter's choices: what an older version found best may be gone. */
bool mica__choice_parse(const mica__impl *const *list, const char *text, mica__choice *choice);

/* True if the choice may be launched for the problem on the engine's device: it does not decline, and is not in
 * quarantine. */
bool mica__choice_is_open(mica_engine *engine, const mica__choice *choice, const void *problem);

/* What to launch for a problem: what the tuner found best for `key`, else the first implementation of the list that
 * takes it. Reasons of those that decline go to the log, level debug. */
mica__choice mica__choose(mica_engine *engine, const mica__impl *const *list, const void *problem, const char *key);

/* The first implementation of the list that takes the problem on such a device, whatever was tuned or failed there. */
const mica__impl *mica__route(const mica__impl *const *list, const void *problem, const mica_device_info *device);

/* For tests and benches: an implementation of this name is not chosen in this process until NULL takes all names back.
 * Up to 8 names, which stay the caller's; of any further ones it returns false. References cannot be left out. Call it
 * while no other thread uses the library. */
bool mica__choice_leave_out(const char *name);

/* Not to be chosen again by this engine: it could not be compiled or started here. */
mica_status mica__choice_avoid(mica_engine *engine, const mica__choice *choice);

/* Chooses and queues; what cannot be compiled or started here is avoided from now on, down to the reference. */
mica_status mica__choose_and_launch(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                    const char *key);

/* For checks: queues the first implementation that takes the problem, whatever is in quarantine, and the next one if it
 * cannot be compiled or started. variant: the implementation that has a variant of this name is queued with it, asking
 * nothing. MICA_E_UNSUPPORTED if no implementation has one. */
mica_status mica__choose_for_check(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                   const char *variant);

/* Queues it. */
mica_status mica__choice_launch(mica_queue *queue, const mica__choice *choice, const void *problem);

/* Every choice for a problem: each implementation that takes it, alone and with each of its variants that fits the
 * device. *choices is the caller's to free. */
mica_status mica__choices_of(mica_engine *engine, const mica__impl *const *list, const void *problem,
                             mica__choice **choices, size_t *count);

/* The neighbours of a choice: one parameter that is a number changed to each of its other values. */
mica_status mica__choice_neighbours(const mica__choice *choice, mica__choice **choices, size_t *count);

#endif
