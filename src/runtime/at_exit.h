/* runtime/at_exit.h: work that is still queued when the process ends.
 *
 * Drivers abort or crash if a kernel is still being compiled while their compiler's static objects are destroyed, and
 * the program's exit status is lost. So a process that ends with engines left first waits for their queues, for at most
 * MICA__EXIT_SECONDS. It frees nothing, because other handlers may still use everything.
 *
 * Compilers create static objects when they need them, also in threads of their own, and exit destroys first what was
 * created last. Only destructors of the main thread's variables run before all of that. So the first engine that the
 * main thread makes registers such a destructor (if the C library has __cxa_thread_atexit_impl). For an exit in another
 * thread, or another C library, there are atexit handlers: one from the first engine, and one from every build of a
 * program. */
#ifndef MICA_RUNTIME_AT_EXIT_H
#define MICA_RUNTIME_AT_EXIT_H

#include "runtime/objects.h"

/* The longest wait at exit. Compiling a kernel that is not cached takes up to a second on a CPU, and a session may
 * have queued dozens. */
#define MICA__EXIT_SECONDS 30.0

/* mica__at_exit_add makes the end of the process wait for the engine, which must have its queue already.
 * mica__at_exit_forget ends that. */
void mica__at_exit_add(mica_engine *engine);
void mica__at_exit_forget(mica_engine *engine);
/* Call this after a driver's compiler has run: registers another handler. */
void mica__at_exit_renew(void);

/* Waits until all queues' work is done; false if it is not done after this many seconds. Does not wait in a process
 * that was forked after the driver had started. */
bool mica__at_exit_wait(double seconds);

#endif
