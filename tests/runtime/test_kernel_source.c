/* labels: null single
 *
 * How kernel texts find their includes, in the library and in MICA_KERNEL_DIR. */
#include "runtime/kernel_source.h"
#include "support/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static mica__text out;

static void begin(void) {
  unsetenv("MICA_KERNEL_DIR");
  out = (mica__text){0};
}

static void end(void) {
  unsetenv("MICA_KERNEL_DIR");
  mica__text_free(&out);
}

static mica_status expand(const char *text) {
  return mica__kernel_source_expand_text("test.cl", text, strlen(text), &out);
}

static size_t occurrences(const char *needle) {
  size_t n = 0;
  for (const char *at = out.data; (at = strstr(at, needle)) != NULL; at++) n++;
  return n;
}

START_TEST(an_include_becomes_its_file_once) {
  ck_assert_int_eq(expand("int a;\n#include \"common/dtype.clh\"\n  #  include \"common/dtype.clh\"\nint b;\n"),
                   MICA_OK);
  ck_assert_uint_eq(occurrences("#define MICA_COMMON_DTYPE_CLH"), 1);
  ck_assert_uint_eq(occurrences("#include \""), 0);
  ck_assert_uint_eq(occurrences("int a;\n"), 1);
}
END_TEST

/* A build log must name the line of the file, so each piece says where it comes from. */
START_TEST(lines_keep_their_numbers) {
  ck_assert_int_eq(expand("int a;\n#include \"common/dtype.clh\"\nint b;\n"), MICA_OK);
  ck_assert_int_eq(strncmp(out.data, "#line 1 \"test.cl\"\nint a;\n", 25), 0);
  ck_assert_ptr_nonnull(strstr(out.data, "#line 1 \"common/dtype.clh\"\n"));
  ck_assert_ptr_nonnull(strstr(out.data, "\n#line 3 \"test.cl\"\nint b;\n"));
}
END_TEST

START_TEST(a_missing_file_is_named_with_who_wanted_it) {
  ck_assert_int_eq(expand("#include \"common/none.clh\"\n"), MICA_E_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "common/none.clh"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "test.cl"));
}
END_TEST

START_TEST(includes_of_the_driver_stay) {
  ck_assert_int_eq(expand("#include <opencl-c.h>\n// #include \"x\"\n"), MICA_OK);
  ck_assert_uint_eq(occurrences("#include <opencl-c.h>\n"), 1);
}
END_TEST

START_TEST(a_folder_hides_the_library) {
  char folder[1024], path[1100];
  snprintf(folder, sizeof folder, "%s/kernel-dir", getenv("MICA_BUILD_DIR"));
  mkdir(folder, 0777);
  snprintf(path, sizeof path, "%s/loop.clh", folder);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs("int from_the_folder;\n#include \"loop.clh\"\n", file);
  ck_assert_int_eq(fclose(file), 0);
  setenv("MICA_KERNEL_DIR", folder, 1);
  ck_assert_int_eq(expand("#include \"loop.clh\"\n"), MICA_OK);
  ck_assert_uint_eq(occurrences("int from_the_folder;"), 1);
  ck_assert_int_eq(expand("#include \"common/dtype.clh\"\n"), MICA_E_NOT_FOUND);
}
END_TEST

static void write_file(const char *folder, int number, const char *text) {
  char path[1200];
  snprintf(path, sizeof path, "%s/%d.clh", folder, number);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  ck_assert_int_eq(fclose(file), 0);
}

/* A chain of includes ends somewhere, one in a circle too; one that is too long is refused, as is a wide one. */
START_TEST(chains_and_circles) {
  char folder[1024], text[4000] = "";
  snprintf(folder, sizeof folder, "%s/kernel-chain", getenv("MICA_BUILD_DIR"));
  mkdir(folder, 0777);
  setenv("MICA_KERNEL_DIR", folder, 1);
  for (int i = 0; i < 100; i++) {
    snprintf(text, sizeof text, "#include \"%d.clh\"\nint n%d;\n", i + 1, i);
    write_file(folder, i, text);
  }
  ck_assert_int_eq(expand("#include \"0.clh\"\n"), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "nested more than"));
  write_file(folder, 10, "int end;\n#include \"0.clh\"\n#include \"10.clh\"\n#include \"5.clh\"\n");
  mica__text_free(&out);
  ck_assert_int_eq(expand("#include \"0.clh\"\n"), MICA_OK);
  ck_assert_uint_eq(occurrences("int end;\n"), 1);
  ck_assert_uint_eq(occurrences("int n0;\n"), 1);
  size_t length = 0;
  for (int i = 0; i < 100; i++) {
    write_file(folder, i, "");
    length += (size_t)snprintf(text + length, sizeof text - length, "#include \"%d.clh\"\n", i);
  }
  ck_assert_int_eq(expand(text), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "more than 64 files"));
  snprintf(text, sizeof text, "#include \"%0300d.clh\"\n", 1);
  ck_assert_int_eq(expand(text), MICA_E_FORMAT);
}
END_TEST

START_TEST(every_kernel_finds_its_includes) {
  ck_assert_msg(mica__kernel_source_expand(mica__kernel_sources[_i].path, &out) == MICA_OK, "%s", mica_error_message());
}
END_TEST

TESTS(ANYWHERE, begin, end, an_include_becomes_its_file_once, lines_keep_their_numbers,
      a_missing_file_is_named_with_who_wanted_it, includes_of_the_driver_stay, a_folder_hides_the_library,
      chains_and_circles, LOOP(every_kernel_finds_its_includes, 0, (int)mica__kernel_source_count))
