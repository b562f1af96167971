/* tests/support/engine.h: the device that tests run on. */
#ifndef MICA_TESTS_SUPPORT_ENGINE_H
#define MICA_TESTS_SUPPORT_ENGINE_H

#include <mica/device.h>

/* The program's engine, made at the first call on the device that MICA_DEVICE chooses, within what MICA_TEST_LIMITS
 * leaves of its abilities (support/limited_api.h); it belongs to main, which counts
 * its launches and destroys it. NULL when this machine has no device (TESTS(DEVICE, ...)).
 *
 * Any other failure ends the program with status 1. */
mica_engine *test_engine(void);

/* Its queue. */
mica_queue *test_queue(void);

/* Waits for the engine's work, destroys it and returns how many kernels it launched; 0 when there was none. */
uint64_t test_engine_close(void);

/* Fails the test with the library's sentence unless the call returns MICA_OK. */
#define ck_ok(call) ck_assert_msg((call) == MICA_OK, "%s: %s", #call, mica_error_message())

#endif
