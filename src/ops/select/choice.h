/* ops/select/choice.h: a choice is an implementation with the values of its kernel's parameters. A tuner tries and
 * keeps choices, and an op launches one.
 *
 * A choice as text, in the tuner's file and in reports, is the implementation, the shipped variant from which it
 * starts, and the values that differ from that variant: "gemm_gpu nvidia.128x64 MICRO_M=4".
 *
 * A choice or variant is in quarantine if a check or a tuner found its results wrong on this device and driver, or if
 * it could not be built or started (the entries "bad" in runtime/tuning.h). Launches then use another. */
#ifndef MICA_OPS_SELECT_CHOICE_H
#define MICA_OPS_SELECT_CHOICE_H

#include "ops/select/impl.h"
#include "runtime/tuning.h"

#include <stddef.h>

struct mica__launch_notes; /* ops/select/launch_check.h */

typedef struct mica__choice {
  const mica__impl *impl;
  const mica__variant *base; /* if NULL, the implementation decides by itself for each problem */
  mica__variant variant;     /* base, perhaps with other values */
  bool planned;              /* if true, `task` is planned for the problem that mica__choose got */
  mica__task task;
} mica__choice;

/* Writes the choice as text, such as "gemm_gpu nvidia.128x64 MICRO_M=4", and returns `text`. */
const char *mica__choice_format(const mica__choice *choice, char text[MICA__TUNING_TEXT]);

/* Reads a choice from its text. False if the text is empty or too long, or names an implementation, a variant, a
 * parameter or a value that does not exist: another version may have written it. */
bool mica__choice_parse(const mica__impl *const *list, const char *text, mica__choice *choice);

/* True if the choice may be launched for the problem on the engine's device: its implementation can compute the problem
 * and does not decline it, its variant fits the device, and neither they nor the implementation's helper kernel are in
 * quarantine. False if the implementation is excluded (mica__choice_leave_out). */
bool mica__choice_is_open(mica_engine *engine, const mica__choice *choice, const void *problem);

/* Chooses what to launch for a problem: the tuner's best for `key`, if mica__choice_is_open is true for it. Otherwise
 * the first implementation of the list that takes the problem and is not in quarantine; if there is none, the last one,
 * the reference. For each implementation before the chosen one, logs at level debug why it was not chosen. */
mica__choice mica__choose(mica_engine *engine, const mica__impl *const *list, const void *problem, const char *key);

/* Returns the first implementation in the list that takes the problem on this device. If no implementation does, that
 * is the last one, the reference. Ignores tuning and quarantine. */
const mica__impl *mica__route(const mica__impl *const *list, const void *problem, const mica_device_info *device);

/* For tests and benches: excludes the implementation of this name from being chosen in this process, until a call with
 * NULL clears the list. It holds up to 8 names, which the caller keeps alive; false if it is full. mica__choose still
 * falls back on a reference that is excluded. Call it while no other thread uses the library. */
bool mica__choice_leave_out(const char *name);

/* Puts the choice into quarantine for as long as the engine lives, because it could not be compiled or started. The
 * reason that is stored is mica_error_message(). */
mica_status mica__choice_avoid(mica_engine *engine, const mica__choice *choice);

/* Chooses an implementation for the problem and queues its launch. If the choice cannot be compiled or started here
 * (MICA_E_BUILD, MICA_E_UNSUPPORTED), avoids it from now on and tries the next one, down to the reference. Any other
 * failure, and every failure of the reference, is returned. */
mica_status mica__choose_and_launch(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                    const char *key);

/* For checks: queues a launch of the first implementation that takes the problem, even if it is in quarantine. If that
 * launch fails with MICA_E_UNSUPPORTED, tries the next implementation; a kernel that does not build fails the check.
 * In `notes` (may be NULL) the kernels that such a launch asked for then count as declined.
 *
 * If `variant` is a name, launches the implementation that has a variant of this name, even if it would decline the
 * problem. MICA_E_UNSUPPORTED if no implementation has it. */
mica_status mica__choose_for_check(mica_queue *queue, const mica__impl *const *list, const void *problem,
                                   const char *variant, struct mica__launch_notes *notes);

/* Queues the choice for a problem that mica__choice_is_open allows. */
mica_status mica__choice_launch(mica_queue *queue, const mica__choice *choice, const void *problem);

/* Lists all choices for a problem that mica__choice_is_open allows: each implementation without a variant, followed by
 * the same implementation with each allowed variant of its kernel. If it is not allowed without a variant, its variants
 * are not listed either. The caller frees *choices unless the call fails. */
mica_status mica__choices_of(mica_engine *engine, const mica__impl *const *list, const void *problem,
                             mica__choice **choices, size_t *count);

/* Lists the neighbours of a choice: one numeric parameter changed to each of its other values, whether open or not;
 * an empty list if the choice has no variant. The caller frees *choices unless the call fails. */
mica_status mica__choice_neighbours(const mica__choice *choice, mica__choice **choices, size_t *count);

#endif
