/* runtime/at_exit.h: work that is still queued when the process ends.
 *
 * Drivers abort, or end in a segmentation fault, when a kernel is still being compiled while the statics of their
 * compiler are taken apart, and the program's exit status is lost. So a process that ends with engines left first waits
 * for their queues, for MICA__EXIT_SECONDS at most. It frees nothing: other handlers may still use what there is.
 *
 * Compilers make their statics when they need them, in threads of their own too, and exit takes apart last what was
 * made first. Only destructors of the main thread's variables come before all of that, so the first engine that the
 * main thread makes registers one (where the C library has __cxa_thread_atexit_impl). For an exit of another thread, or
 * another C library, there are handlers of atexit: one of the first engine, and one of every build of a program. */
#ifndef MICA_RUNTIME_AT_EXIT_H
#define MICA_RUNTIME_AT_EXIT_H

#include "runtime/objects.h"

/* A first kernel of a cold cache takes a CPU's compiler up to a second; a session may have queued dozens. */
#define MICA__EXIT_SECONDS 30.0

/* The engine, which has its queue, is waited for at exit, until it is forgotten. */
void mica__at_exit_add(mica_engine *engine);
void mica__at_exit_forget(mica_engine *engine);
/* A driver's compiler has run. */
void mica__at_exit_renew(void);

/* Waits until what all queues were given is done, or the seconds are over; false in the latter case. Waits for nothing
 * in a process that was forked after the driver's start. */
bool mica__at_exit_wait(double seconds);

#endif
