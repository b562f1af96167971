/* tests/support/golden.h: files that tests compare with. */
#ifndef MICA_TESTS_SUPPORT_GOLDEN_H
#define MICA_TESTS_SUPPORT_GOLDEN_H

/* "tests/golden/folder/name" of the source. Both functions' results last until their fourth call after. */
const char *golden_path(const char *folder, const char *name);

/* "name" below the folder that the environment variable MICA_TEST_DATA names: data and models that are too large for
 * the source, or have licences of their own. NULL if it is not there. */
const char *test_data(const char *name);

#endif
