/* labels: null single
 *
 * Kernel texts lose their comments and keep their lines, and only code decides a program's name. */
#include "runtime/kernel_code.h"
#include "runtime/kernel_source.h"
#include "support/check_main.h"

#include <stdlib.h>
#include <string.h>

static mica__text out;

static void begin(void) { out = (mica__text){0}; }

static void end(void) { mica__text_free(&out); }

static const char *code(const char *text) {
  mica__code_state state = {0};
  mica__text_free(&out);
  mica__text_add(&out, "");
  for (const char *line = text, *newline; (newline = strchr(line, '\n')); line = newline + 1)
    mica__code_add_line(&state, line, (size_t)(newline - line), &out);
  return out.data;
}

static const struct {
  const char *text, *code;
} cases[] = {
    {"int a;\n", "int a;\n"},
    {"int a; /* of x */\n", "int a;\n"},
    {"int/**/a;\n", "int a;\n"},
    {"int a; // of x\nint b;\n", "int a;\nint b;\n"},
    {"/* one\n * two */\nint a;\n", "\n\nint a;\n"},
    {"/* one\n */ int a; /* two\n */ int b;\n", "\n  int a;\n  int b;\n"},
    {"a = b / c / *d;\n", "a = b / c / *d;\n"},
    {"/***/a/*/ b */c;/**\n**/d;\n", " a c;\n d;\n"},
    {"x = \"/* \\\" // */\"; /* y */\n", "x = \"/* \\\" // */\";\n"},
    {"x = '\"'; // \"\ny = '\\''; /* ' */\n", "x = '\"';\ny = '\\'';\n"},
    {"x = \"a \\\n/* b */ \"; /* c */\n", "x = \"a \\\n/* b */ \";\n"},
    {"#error don't // stop\nint a; /* b */\n", "#error don't // stop\nint a;\n"},
    {"// a \\\n b / c\nint a;\n", "\n\nint a;\n"},
    {"#define A 1 /* one\n two */ + 2\nint a; /* b\n */\n", "#define A 1 \\\n  + 2\nint a;\n\n"},
    {"#define A \\\n  /* one \\\n   * two */ \\\n  2 / 3\nb; /* c\n */\n", "#define A \\\n \\\n  \\\n  2 / 3\nb;\n\n"},
    {"#define A 1 // one \\\n two\nb;\n", "#define A 1\n\nb;\n"},
    {"  /* a */ # define B /* b\n c */ 3\n", "    # define B \\\n  3\n"},
    {"a; /* b */ \r\n/ /* c */\r\n", "a;\n/\n"},
    {"#define A x \\ /* why */\nint b; /* c */\n", "#define A x \\/**/\nint b;\n"},
    {"// dir C:\\ \nint b / c;\nint d;\n", "\n\nint d;\n"},
    {"/* never closed\nint a;\n", "\n\n"},
};

START_TEST(comments_become_spaces) { ck_assert_str_eq(code(cases[_i].text), cases[_i].code); }
END_TEST

START_TEST(only_code_decides_the_hash) {
  const mica__hash hash = mica__code_hash("#line 1 \"a\"\nint a;\nint b;\n");
  ck_assert(mica__hash_equal(hash, mica__code_hash("int a;\n\n\n#line 9 \"b\"\nint b;\n")));
  ck_assert(!mica__hash_equal(hash, mica__code_hash("int a;\nint c;\n")));
  ck_assert(!mica__hash_equal(hash, mica__code_hash("int a;\nint b;\nint b;\n")));
  ck_assert(!mica__hash_equal(hash, mica__code_hash("int a;\n")));
  ck_assert(!mica__hash_equal(mica__code_hash("#define A \\\n\n+ 2\n"), mica__code_hash("#define A \\\n+ 2\n")));
  ck_assert(!mica__hash_equal(mica__code_hash("int a = __LINE__;\n"), mica__code_hash("\nint a = __LINE__;\n")));
  ck_assert(!mica__hash_equal(mica__code_hash("#include \"x.h\"\nint a = LINE;\n"),
                              mica__code_hash("#include \"x.h\"\n\nint a = LINE;\n")));
  ck_assert(
      !mica__hash_equal(mica__code_hash("#line 1 \"a\"\n__FILE__\n"), mica__code_hash("#line 1 \"b\"\n__FILE__\n")));
}
END_TEST

START_TEST(a_file_must_not_end_in_a_comment) {
  const char *text = "int a; /* b\n";
  ck_assert_int_eq(mica__kernel_source_expand_text("test.cl", text, strlen(text), &out), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "test.cl ends in a comment"));
}
END_TEST

START_TEST(includes_in_comments_are_not_read) {
  const char *text = "/*\n#include \"common/none.clh\"\n*/ int a;\n";
  ck_assert_int_eq(mica__kernel_source_expand_text("test.cl", text, strlen(text), &out), MICA_OK);
  ck_assert_str_eq(out.data, "#line 1 \"test.cl\"\n\n\n  int a;\n");
  const char *line = "// see \\\n#include \"common/none.clh\"\nint a;\n";
  mica__text_free(&out);
  ck_assert_int_eq(mica__kernel_source_expand_text("test.cl", line, strlen(line), &out), MICA_OK);
  ck_assert_str_eq(out.data, "#line 1 \"test.cl\"\n\n\nint a;\n");
}
END_TEST

START_TEST(no_kernel_has_a_comment_left) {
  ck_assert_int_eq(mica__kernel_source_expand(mica__kernel_sources[_i].path, &out), MICA_OK);
  ck_assert_ptr_null(strstr(out.data, "/*"));
  ck_assert_ptr_null(strstr(out.data, "*/"));
  ck_assert_ptr_null(strstr(out.data, "//"));
}
END_TEST

TESTS(ANYWHERE, begin, end, LOOP(comments_become_spaces, 0, (int)(sizeof cases / sizeof *cases)),
      only_code_decides_the_hash, a_file_must_not_end_in_a_comment, includes_in_comments_are_not_read,
      LOOP(no_kernel_has_a_comment_left, 0, (int)mica__kernel_source_count))
