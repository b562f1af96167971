/* labels: null single
 *
 * Chat templates beside texts that transformers makes of them (chat_cases.json: test_chat_oracle.sh checks those), and
 * what is wrong with templates, messages and options. */
#include "base/file.h"
#include "base/text.h"
#include "support/check_main.h"
#include "text/template/value.h"

#include <check.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica__arena arena;
static mica__object cases;

static const mica__object *member(const mica__object *of, const char *name) {
  const mica__object *found = mica__dict_find_text(of->as.dict, name, strlen(name));
  ck_assert_ptr_nonnull(found);
  return found;
}

/* A value as JSON, to be freed. */
static char *json_of(const mica__object *value) {
  static const mica__json_style style = {.comma = ", ", .colon = ": "};
  mica__text json = {0};
  ck_assert_int_eq(mica__object_write_json(&json, value, &style), MICA_OK);
  return json.data;
}

static mica_messages *make_messages(const char *json) {
  mica_messages *messages = NULL;
  ck_assert_int_eq(mica_messages_create(&messages), MICA_OK);
  ck_assert_msg(mica_messages_add_json(messages, json, strlen(json)) == MICA_OK, "%s", mica_error_message());
  return messages;
}

static char *texts[16];
static size_t text_count;
static const char *keep(char *text) { return texts[text_count++] = text; }

/* Options of a case: all of its members are names of the template. */
static void fill_options(const mica__object *given, mica_chat_options *options, mica_chat_variable *variables) {
  const mica__dict *dict = given->as.dict;
  for (size_t i = 0; i < dict->count; i++) {
    const mica__object *key = &dict->keys[i], *value = &dict->values[i];
    if (mica__object_equals_text(key, "add_generation_prompt")) {
      options->add_generation_prompt = value->as.truth;
    } else if (mica__object_equals_text(key, "tools")) {
      options->tools = keep(json_of(value));
    } else {
      char *name = malloc(key->count + 1);
      memcpy(name, key->as.text, key->count);
      name[key->count] = '\0';
      variables[options->variable_count++] = (mica_chat_variable){.name = keep(name), .json = keep(json_of(value))};
    }
  }
  options->variables = variables;
}

START_TEST(cases_are_as_in_transformers) {
  const mica__object *one = &cases.as.items[_i], *source = member(one, "template"), *wanted = member(one, "text");
  mica_chat_variable variables[8];
  mica_chat_options options = {0};
  mica_chat_template *template = NULL;
  char *messages_json = json_of(member(one, "messages")), *text = NULL;
  mica_messages *messages = make_messages(messages_json);
  size_t bytes = 0;
  text_count = 0;
  fill_options(member(one, "options"), &options, variables);
  ck_assert_msg(mica_chat_template_create("case", source->as.text, source->count, &template) == MICA_OK, "%.*s: %s",
                (int)source->count, source->as.text, mica_error_message());
  const mica_status status = mica_chat_template_apply(template, messages, &options, &text, &bytes);
  if (wanted->kind == MICA__OBJECT_NONE) {
    ck_assert_int_ne(status, MICA_OK);
    ck_assert_ptr_null(text);
  } else {
    ck_assert_msg(status == MICA_OK, "%.*s: %s", (int)source->count, source->as.text, mica_error_message());
    ck_assert_msg(bytes == wanted->count && !memcmp(text, wanted->as.text, bytes), "%.*s:\n got  %s\nwants %.*s",
                  (int)source->count, source->as.text, text, (int)wanted->count, wanted->as.text);
    mica_free(text);
  }
  while (text_count > 0) free(texts[--text_count]);
  free(messages_json);
  mica_messages_destroy(messages);
  mica_chat_template_destroy(template);
}
END_TEST

/* Applies a source to messages; *text is NULL if that fails. */
static mica_status apply(const char *source, const char *json, const mica_chat_options *options, char **text) {
  mica_chat_template *template = NULL;
  mica_messages *messages = make_messages(json);
  *text = NULL;
  mica_status status = mica_chat_template_create("t", source, strlen(source), &template);
  if (status == MICA_OK) status = mica_chat_template_apply(template, messages, options, text, NULL);
  mica_messages_destroy(messages);
  mica_chat_template_destroy(template);
  return status;
}

static void gives(const char *source, const mica_chat_options *options, const char *wanted) {
  char *text = NULL;
  ck_assert_msg(apply(source, "[{\"role\":\"user\",\"content\":\"hi\"}]", options, &text) == MICA_OK, "%s: %s", source,
                mica_error_message());
  ck_assert_str_eq(text, wanted);
  mica_free(text);
}

#define NESTED "{% set ns = namespace(x=[]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"

static const struct {
  const char *source;
  mica_status status;
  const char *sentence;
} faults[] = {
    {"a\n{{ x", MICA_E_FORMAT, "t:2:5: '{{' has no '}}'"},
    {"{% if x %}", MICA_E_FORMAT, "endif"},
    {"{% for x in y %}{% endif %}", MICA_E_FORMAT, "endfor"},
    {"{% endif %}", MICA_E_FORMAT, "t:1:4: 'endif' has no tag to close"},
    {"{% include 'x' %}", MICA_E_UNSUPPORTED, "t:1:4: Mica has no tag 'include'"},
    {"{% import 'x' as y %}", MICA_E_UNSUPPORTED, "'import'"},
    {"{% extends 'x' %}", MICA_E_UNSUPPORTED, "'extends'"},
    {"\n\n  {{ 1|upperx }}", MICA_E_UNSUPPORTED, "t:3:8: Mica has no filter 'upperx'"},
    {"{{ 1 is odder }}", MICA_E_UNSUPPORTED, "Mica has no test 'odder'"},
    {"{{ [1]|select('odder') }}", MICA_E_UNSUPPORTED, "Mica has no test 'odder'"},
    {"{{ [1]|map('upperx') }}", MICA_E_UNSUPPORTED, "Mica has no filter 'upperx'"},
    {"{{ 'a'.encode() }}", MICA_E_UNSUPPORTED, "Mica does not have str.encode"},
    {"{{ cycler(1) }}", MICA_E_UNSUPPORTED, "Mica does not have cycler"},
    {"{{ x.y }}", MICA_E_FORMAT, "t:1:5: 'x' is undefined"},
    {"{{ 'abc }}", MICA_E_FORMAT, "t:1:4: a text has no closing quote"},
    {"{# x", MICA_E_FORMAT, "a comment has no end"},
    {"{% raw %}x", MICA_E_FORMAT, "{% raw %} has no {% endraw %}"},
    {"{{ (1 }}", MICA_E_FORMAT, "unexpected '}'"},
    {"{{ 1 $ 2 }}", MICA_E_FORMAT, "t:1:6: the character cannot be part of an expression"},
    {"{{ }}", MICA_E_FORMAT, "expected an expression, but found '}}'"},
    {"{% set 1 = 2 %}", MICA_E_FORMAT, "a name is missing"},
    {"{% set none = 2 %}", MICA_E_FORMAT, "a constant cannot be assigned to"},
    {"{% break %}", MICA_E_FORMAT, "need a loop"},
    {"{% for x in [1] %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}", MICA_E_FORMAT, "need a loop"},
    {"{{ 1 / 0 }}", MICA_E_FORMAT, "a division by zero"},
    {"{{ 9223372036854775807 + 1 }}", MICA_E_FORMAT, "does not fit 64 bits"},
    {"{{ -9223372036854775807 * 2 }}", MICA_E_FORMAT, "does not fit 64 bits"},
    {"{{ 10 ** 30 }}", MICA_E_FORMAT, "does not fit 64 bits"},
    {"{{ 99999999999999999999 }}", MICA_E_FORMAT, "does not fit 64 bits"},
    {"{% set x = 1 %}{% set x.y = 2 %}", MICA_E_FORMAT, "only a namespace has attributes that can be set"},
    {"{{ [1][::0] }}", MICA_E_FORMAT, "step 0"},
    {"{{ range(1000000)|list }}", MICA_E_FORMAT, "a range may have at most 100000 items"},
    {"{{ range(-9223372036854775807, 9223372036854775807)|list }}", MICA_E_FORMAT, "must be less than 2^63 apart"},
    {"{{ range(0, 5, 0)|list }}", MICA_E_FORMAT, "the step of a range, its third argument, must not be 0"},
    {"{{ range(end=5)|list }}", MICA_E_FORMAT, "which cannot be given by name"},
    {"{{ 'x' * 100000000 }}", MICA_E_FORMAT, "more than 16 MiB"},
    {"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", MICA_E_FORMAT,
     "more than 1000000 steps"},
    {"{% set x = 'abcdefgh' * 100000 %}{% for i in range(100) %}{{ x }}{% endfor %}", MICA_E_FORMAT,
     "the text has more than 16 MiB"},
    {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", MICA_E_FORMAT, "deeper than 64 levels"},
    {"{% macro f(x) %}{% for i in [1] %}{% if true %}{{ ((((((f([x])))))))  }}{% endif %}{% endfor %}{% endmacro %}{{ "
     "f(1) }}",
     MICA_E_FORMAT, "deeper than"},
    {"{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}", MICA_E_FORMAT, "deeper than 64 levels"},
    {"{% set ns = namespace(x=1) %}{% set ns.x = ns %}{% set y = ns.x|string|length %}{% set ns.l = [ns] %}{{ "
     "ns.l == ns.l and ns|tojson }}",
     MICA_E_FORMAT, "Namespace cannot be written as JSON"},
    {"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", MICA_E_FORMAT,
     "too many arguments: 2, but it has parameters for at most 1"},
    {"{% macro f(a) %}{% endmacro %}{{ f(b=2) }}", MICA_E_FORMAT, "has the name of no parameter"},
    {"{{ 'a'|replace }}", MICA_E_FORMAT, "replace needs a text to look for"},
    {"{{ 'a'|trim(1, 2) }}", MICA_E_FORMAT, "trim: the number of arguments is 2, but may be at most 1"},
    {"{{ 'a'|indent(wide=2) }}", MICA_E_FORMAT, "the argument 'wide' is unknown"},
    {"{{ 'a'|indent(2, width=2) }}", MICA_E_FORMAT, "the argument 'width' is given twice"},
    {"{{ [1] + 1 }}", MICA_E_FORMAT, "the operator + cannot be applied to values of type list and int"},
    {"{{ 1() }}", MICA_E_FORMAT, "a value of type int cannot be called"},
    {"{{ {[1]: 2} }}", MICA_E_FORMAT, "cannot be the key of a dict"},
    {"{{ '%d' % 'x' }}", MICA_E_FORMAT, "must be an int"},
    {"{{ '%s %s' % 'x' }}", MICA_E_FORMAT, "not enough arguments"},
    {"{{ '{:>5}'.format(1) }}", MICA_E_UNSUPPORTED, "does not have the format"},
    {"{{ f(*x) }}", MICA_E_FORMAT, "not supported"},
    {"{{ ''.join([1]) }}", MICA_E_FORMAT, "expected str instance, int found"},
    /* A list that has itself twice, forty times over, is 2^40 items long when it is written out. */
    {NESTED "{{ ns.x }}", MICA_E_FORMAT, "more than 16 MiB"},
    {NESTED "{{ ns.x|string|length }}", MICA_E_FORMAT, "more than 16 MiB"},
    {NESTED "{{ '%r' % (ns.x,) }}", MICA_E_FORMAT, "more than 16 MiB"},
    {NESTED "{{ ns.x|tojson }}", MICA_E_FORMAT, "more than 16 MiB"},
    /* Work inside of one step: two such lists that are compared, and texts that nearly occur in others. */
    {NESTED "{% set a = ns.x %}" NESTED "{{ a == ns.x }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {NESTED "{% set a = ns.x %}" NESTED "{% if a in [ns.x] %}{% endif %}", MICA_E_FORMAT, "more than 1000000 steps"},
    {NESTED "{% set a = ns.x %}" NESTED "{{ a < ns.x }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 8000000 %}{{ x.find('a' * 4000000 + 'b') }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 8000000 %}{{ x.rfind('a' * 4000000 + 'b') }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 8000000 %}{{ ('a' * 4000000 + 'b') in x }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 8000000 %}{{ x.strip('b' * 4000000 + 'a')|length }}", MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 8000000 %}{% set d = {x: 1} %}{% for i in range(100000) %}{% if d[x] %}{% endif %}{% endfor %}",
     MICA_E_FORMAT, "more than 1000000 steps"},
    {"{% set x = 'a' * 9000000 %}{{ ('%s%s%s' % (x, x, x))|length }}", MICA_E_FORMAT, "more than 16 MiB"},
    {"{% set x = 'a\\n' * 8000000 %}{{ x|indent|length }}", MICA_E_FORMAT, "more than 16 MiB"},
};

START_TEST(faults_are_told) {
  char *text = NULL;
  ck_assert_msg(apply(faults[_i].source, "[]", NULL, &text) == faults[_i].status, "%s: %s", faults[_i].source,
                mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), faults[_i].sentence) != NULL, "%s: %s", faults[_i].source,
                mica_error_message());
  ck_assert_ptr_null(text);
}
END_TEST

static char *repeated(const char *before, const char *middle, const char *after, int times) {
  mica__text text = {0};
  for (int i = 0; i < times; i++) mica__text_add(&text, before);
  mica__text_add(&text, middle);
  for (int i = 0; i < times; i++) mica__text_add(&text, after);
  return text.data;
}

START_TEST(nesting_has_a_limit) {
  static const char *const parts[][3] = {{"(", "1", ")"},
                                         {"[", "1", "]"},
                                         {"-", "1", ""},
                                         {"not ", "1", ""},
                                         {"", "x", "[0]"},
                                         {"", "x", ".y"},
                                         {"", "1", "|abs"},
                                         {"1 if x else ", "1", ""},
                                         {"", "1", "|d(1)"},
                                         {"", "x", "()"},
                                         {"{% if 1 %}", "", "{% endif %}"}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char *inside = repeated(parts[i][0], parts[i][1], parts[i][2], 20000), *text = NULL;
    mica__text source = {0};
    mica__text_addf(&source, i + 1 < sizeof parts / sizeof *parts ? "{{ %s }}" : "%s", inside);
    ck_assert_int_eq(apply(source.data, "[]", NULL, &text), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), "nested deeper than 64 levels") != NULL, "%s", mica_error_message());
    mica__text_free(&source);
    free(inside);
  }
  char *sum = repeated("1 + ", "1", "", 20000), *text = NULL;
  mica__text source = {0};
  mica__text_addf(&source, "{{ %s }}", sum);
  ck_assert_msg(apply(source.data, "[]", NULL, &text) == MICA_OK, "%s", mica_error_message());
  ck_assert_str_eq(text, "20001");
  mica_free(text);
  mica__text_free(&source);
  free(sum);
}
END_TEST

/* A text that grows piece by piece costs its length, not the square of it. */
START_TEST(texts_grow_in_place) {
  gives("{% set ns = namespace(t='') %}{% for i in range(60000) %}{% set ns.t = ns.t ~ 'abcdefgh' %}{% endfor %}"
        "{{ ns.t|length }}",
        NULL, "480000");
  gives("{% set ns = namespace(t='', u='') %}{% for i in range(20000) %}{% set ns.t = ns.t + i|string + ' ' %}"
        "{% set ns.u = ns.u ~ i ~ ',' %}{% endfor %}{{ ns.t|length }} {{ ns.u[-7:] }}",
        NULL, "108890 ,19999,");
}
END_TEST

START_TEST(options_are_names) {
  const mica_chat_variable variables[] = {{.name = "bos_token", .text = "<s>"}, {.name = "on", .json = "true"}};
  const mica_chat_options options = {.variables = variables, .variable_count = 2, .time = 86400 * 365};
  gives("{{ bos_token }}{{ on }}{{ tools == none }}{{ strftime_now('%d %b %Y %H:%M %q%%') }}", &options,
        "<s>TrueTrue01 Jan 1971 00:00 %q%");
  char *text = NULL;
  const mica_chat_options wrong[] = {
      {.tools = "[1"},
      {.documents = "x"},
      {.variables = &(mica_chat_variable){.name = "x"}, .variable_count = 1},
      {.variables = &(mica_chat_variable){.name = "x", .json = "{"}, .variable_count = 1},
      {.variables = &(mica_chat_variable){"x", "\xff", NULL}, .variable_count = 1},
      {.variable_count = 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_int_eq(apply("{{ x }}{{ tools }}{{ documents }}", "[]", &wrong[i], &text), MICA_E_INVALID);
}
END_TEST

/* A name in a sentence is whole up to 100 bytes, and cut there. */
START_TEST(names_are_cut_in_sentences) {
  static const char *const parts[][2] = {{"{{ {}|attr('", "') + 1 }}"},
                                         {"{{ [1]|select('", "') }}"},
                                         {"{{ [1]|map('", "') }}"},
                                         {"{{ '{", "}'.format() }}"},
                                         {"{{ 'a'|trim(", "=1) }}"}};
  for (int length = 60; length <= 160; length += 20)
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      char *name = repeated("q", "", "", length), *text = NULL;
      char shown[101] = {0};
      mica__text source = {0};
      memcpy(shown, name, (size_t)(length < 100 ? length : 100));
      mica__text_addf(&source, "%s%s%s", parts[i][0], name, parts[i][1]);
      ck_assert_int_ne(apply(source.data, "[]", NULL, &text), MICA_OK);
      ck_assert_msg(strstr(mica_error_message(), shown) != NULL, "%s: %s", source.data, mica_error_message());
      mica__text_free(&source);
      free(name);
    }
}
END_TEST

START_TEST(exceptions_are_the_template_s) {
  char *text = NULL;
  ck_assert_int_eq(apply("{{ raise_exception('Roles must ' ~ 'alternate') }}", "[]", NULL, &text), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "Roles must alternate");
}
END_TEST

START_TEST(messages_are_a_list) {
  mica_messages *m = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(mica_messages_create(&m), MICA_OK);
  ck_assert_int_eq(mica_messages_add(m, "user", "a\"\n\xc3\xa9"), MICA_OK);
  ck_assert_int_eq(mica_messages_add_json(m, "{\"role\":\"x\",\"n\":[1.0,10]}", 26), MICA_E_FORMAT);
  ck_assert_int_eq(mica_messages_add_json(m, "{\"role\":\"x\",\"n\":[1.0,10]}", 25), MICA_OK);
  ck_assert_str_eq(mica_messages_at(m, 0, &bytes), "{\"role\": \"user\", \"content\": \"a\\\"\\n\xc3\xa9\"}");
  ck_assert_uint_eq(bytes, strlen(mica_messages_at(m, 0, NULL)));
  ck_assert_str_eq(mica_messages_at(m, 1, NULL), "{\"role\": \"x\", \"n\": [1.0, 10]}");
  ck_assert_ptr_null(mica_messages_at(m, 2, NULL));
  static const char *const wrong[] = {"",           "[",          "[{}, 1]",     "{\"a\":}",        "{\"a\" 1}",
                                      "{\"a\":1,}", "[1,]",       "{} x",        "{\"a\":01}",      "\"x\"",
                                      "{\"a\":\"",  "{a:1}",      "{\"a\":tru}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
                                      "{\"a\":-}",  "{\"a\":1.}", "{\"a\":1e}",  "{\"a\":\"\n\"}",  "\xff"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(mica_messages_add_json(m, wrong[i], strlen(wrong[i])) == MICA_E_FORMAT, "%s", wrong[i]);
    ck_assert_uint_eq(mica_messages_count(m), 2);
  }
  char *deep = repeated("[", "", "]", 100000);
  ck_assert_int_eq(mica_messages_add_json(m, deep, strlen(deep)), MICA_E_FORMAT);
  free(deep);
  ck_assert_int_eq(mica_messages_add(m, "user", "\xff"), MICA_E_INVALID);
  ck_assert_int_eq(mica_messages_add(m, NULL, "x"), MICA_E_INVALID);
  mica_messages_cut(m, 1);
  ck_assert_uint_eq(mica_messages_count(m), 1);
  mica_messages_destroy(m);
}
END_TEST

START_TEST(beginnings_and_spans) {
  static const char source[] = "{% for m in messages %}{% if m.role == 'a' %}<{% generation %}{{ m.content }}.{% "
                               "endgeneration %}>{% else %}{{ m.content }}{% endif %}{% endfor %}";
  mica_messages *m = make_messages("[{\"role\":\"u\",\"content\":\"\xc3\xa9\"},{\"role\":\"a\",\"content\":\"bc\"},"
                                   "{\"role\":\"u\",\"content\":\"d\"},{\"role\":\"a\",\"content\":\"\"}]");
  mica_chat_template *t = NULL, *plain = NULL;
  mica_text_span *spans = NULL;
  size_t count = 0, bytes = 0;
  char *text = NULL;
  ck_assert_int_eq(mica_chat_template_create("t", source, strlen(source), &t), MICA_OK);
  ck_assert_int_eq(mica_chat_template_create("t", "x\n", 2, &plain), MICA_OK);
  ck_assert(mica_chat_template_has_spans(t));
  ck_assert(!mica_chat_template_has_spans(plain));
  ck_assert_str_eq(mica_chat_template_source(plain, &bytes), "x\n");
  ck_assert_uint_eq(bytes, 2);
  ck_assert_int_eq(mica_chat_template_apply_spans(t, m, NULL, &text, &bytes, &spans, &count), MICA_OK);
  ck_assert_str_eq(text, "\xc3\xa9<bc.>d<.>");
  ck_assert_uint_eq(count, 2);
  ck_assert(spans[0].begin == 3 && spans[0].end == 6 && spans[1].begin == 9 && spans[1].end == 10);
  mica_free(text);
  mica_free(spans);
  ck_assert_int_eq(mica_chat_template_apply(t, m, &(mica_chat_options){.count = 2}, &text, NULL), MICA_OK);
  ck_assert_str_eq(text, "\xc3\xa9<bc.>");
  mica_free(text);
  ck_assert_int_eq(mica_chat_template_apply(NULL, m, NULL, &text, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_chat_template_apply(t, NULL, NULL, &text, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_chat_template_apply(t, m, NULL, NULL, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_chat_template_create("t", "\xff", 1, &t), MICA_E_FORMAT);
  ck_assert_int_eq(mica_chat_template_create(NULL, "x", 1, &t), MICA_E_INVALID);
  mica_chat_template_destroy(t);
  mica_chat_template_destroy(plain);
  mica_messages_destroy(m);
}
END_TEST

/* Reads the cases. */
static const char *lacks_cases(void) {
  static char path[4096];
  const char *root = getenv("MICA_SOURCE_DIR");
  size_t size = 0;
  snprintf(path, sizeof path, "%s/tests/text/chat_cases.json", root ? root : ".");
  unsigned char *content = NULL;
  const char *kept = NULL;
  if (mica__file_read(path, &content, &size) != MICA_OK ||
      mica__arena_copy(&arena, (const char *)content, size, &kept) != MICA_OK ||
      mica__object_read_json(&arena, kept, size, &cases) != MICA_OK)
    return mica_error_message();
  free(content);
  return NULL;
}

/* UTF8PROC knows the cases of letters beyond ASCII, and which are printable. */
TESTS(lacks_cases(), NULL, NULL, IF(UTF8PROC, LOOP(cases_are_as_in_transformers, 0, (int)cases.count)),
      LOOP(faults_are_told, 0, sizeof faults / sizeof *faults), nesting_has_a_limit, texts_grow_in_place,
      options_are_names, names_are_cut_in_sentences, exceptions_are_the_template_s, messages_are_a_list,
      beginnings_and_spans)
