/* labels: null single
 *
 * The kernel sources inside the library are the files under cl/, byte for byte and sorted by path. */
#include "runtime/kernel_source.h"
#include "support/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(sorted_by_path) {
  ck_assert_uint_gt(mica__kernel_source_count, 0);
  for (size_t i = 1; i < mica__kernel_source_count; i++)
    ck_assert_str_lt(mica__kernel_sources[i - 1].path, mica__kernel_sources[i].path);
}
END_TEST

START_TEST(same_bytes_as_the_file) {
  const mica__kernel_source *source = &mica__kernel_sources[_i];
  char path[4096];
  snprintf(path, sizeof path, "%s/cl/%s", getenv("MICA_SOURCE_DIR"), source->path);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  for (size_t i = 0; i < source->line_count; i++) {
    for (const char *c = source->lines[i]; *c; c++) ck_assert_msg(fgetc(file) == *c, "%s:%zu differs", path, i + 1);
    ck_assert_msg(fgetc(file) == '\n', "%s:%zu is longer", path, i + 1);
  }
  ck_assert_msg(fgetc(file) == EOF, "%s is longer than what is embedded", path);
  fclose(file);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, sorted_by_path, LOOP(same_bytes_as_the_file, 0, (int)mica__kernel_source_count))
