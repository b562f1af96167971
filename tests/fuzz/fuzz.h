/* tests/fuzz/fuzz.h: a fuzz target is one fuzz_<format>.c with these two functions.
 *
 * It is built twice: as a test that replays its seeds and some thousand mutations of them in any build, and, in a build
 * with libFuzzer (tests/fuzz/run.sh), as a fuzzer that starts from the same seeds. */
#ifndef MICA_TESTS_FUZZ_FUZZ_H
#define MICA_TESTS_FUZZ_FUZZ_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads one input as the library would read it; any content must end in a status. Returns 0 (libFuzzer's contract). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends seed `index` to seed, an input that the reader accepts; false when there are no more. */
bool fuzz_seed(size_t index, mica__text *seed);

#endif
