/* Chat templates: what parses runs on a conversation, and gives UTF-8 or a status. Behind a NUL stand messages. */
#include "base/utf8.h"
#include "fuzz/fuzz.h"

#include <mica/chat_template.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char fixed[] = "[{\"role\":\"user\",\"content\":\"a \\u00e9\"},{\"role\":\"assistant\",\"content\":null,"
                              "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":[1,2.5,true]}}}]}]";
  const uint8_t *end = memchr(data, 0, size);
  const size_t source = end ? (size_t)(end - data) : size;
  mica_chat_template *template = NULL;
  mica_messages *messages = NULL;
  mica_text_span *spans = NULL;
  size_t bytes = 0, count = 0;
  char *text = NULL;
  if (mica_messages_create(&messages) != MICA_OK) return 0;
  mica_status status = end ? mica_messages_add_json(messages, (const char *)end + 1, size - source - 1)
                           : mica_messages_add_json(messages, fixed, sizeof fixed - 1);
  if (status == MICA_OK) status = mica_chat_template_create("fuzz", (const char *)data, source, &template);
  const mica_chat_variable variable = {.name = "bos_token", .text = "<s>"};
  const mica_chat_options options = {.tools = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"items\":{}}}}]",
                                     .add_generation_prompt = true,
                                     .variables = &variable,
                                     .variable_count = 1,
                                     .time = 1000000};
  if (status == MICA_OK)
    status = mica_chat_template_apply_spans(template, messages, &options, &text, &bytes, &spans, &count);
  if (status == MICA_OK) {
    if (mica__utf8_prefix(text, bytes) != bytes) abort();
    for (size_t i = 0; i < count; i++)
      if (spans[i].begin > spans[i].end || spans[i].end > bytes) abort();
    mica_free(text);
    mica_free(spans);
  }
  mica_chat_template_destroy(template);
  mica_messages_destroy(messages);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{{ bos_token }}{%- for m in messages if m.role != 'x' -%}\n  {% if loop.first and m.content is string %}{{ "
      "'[I]' + m['content']|trim + '[/I]' }}{% elif m.tool_calls %}{{ m.tool_calls[0].function | tojson(indent=2) }}"
      "{% else %}{{ raise_exception('no') }}{% endif %}\n{%+ endfor %}{% if add_generation_prompt %}A:{% endif %}",
      "{% macro f(a, b='x', c=none) %}{{ a ~ b }}{{ caller(1) if caller is defined }}{% endmacro %}{% call(x) f(2) "
      "%}{{ "
      "x }}{% endcall %}{% set ns = namespace(n=0, t='') %}{% for i in range(9, 0, -2) %}{% set ns.n = ns.n + i %}{% "
      "set ns.t = ns.t ~ i %}{% if i < 3 %}{% break %}{% endif %}{{ loop.cycle('a', 'b') }}{{ loop.nextitem }}{% "
      "endfor "
      "%}{{ ns.n }}{{ f(b=1, a=[1, {'k': (2,)}]) }}",
      "{{ 'a,b,\xc3\xa9'.split(',', 1)[::-1] | map('upper') | join('-') }}{{ [3, 1, 2] | sort(reverse=true) | first }}"
      "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }}{{ {'b': 1, 'a': "
      "2}|dictsort }}{{ 'x'.center(9, '*').strip('*').replace('x', 'yy').find('y') }}{{ '%5.2f %s' % (1.5, 'a') }}{{ "
      "'{} {0} {n}'.format(1, n=2) }}{{ 'abc'[-2:] ~ 'd'|indent(2, true) }}{{ strftime_now('%d %b %Y') }}",
      "{# note -#}{% raw %}{{ x }}{% endraw -%}{% filter upper|replace('A', 'b') %}abc{% endfilter %}{% set t|trim %} "
      "x {% endset %}{% with a = 1, b = t %}{{ a // 2 ** 3 % 5 - -1 }}{{ not a in [1, b] }}{% endwith %}{% generation "
      "%}{{ tools|length is odd }}{% endgeneration %}{% for n in [1, [2]] recursive %}{{ loop([3]) if n is iterable "
      "else n }}{% endfor %}{{ 1 if missing is defined else (2 is divisibleby 2) }}{{ '\\u00e9\\n\\x41' }}"};
  if (index > sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index < 4 ? index : 0]);
  if (index == 4) {
    mica__text_add_bytes(seed, "", 1);
    mica__text_add(seed, "[{\"role\": \"user\", \"content\": \"\\ud83d\\ude00 \\\"x\\\"\", \"n\": [1, -2.5e3, true, "
                         "null, {}]}]");
  }
  return true;
}
