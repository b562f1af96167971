/* Bodies of requests to `mica serve`: the first byte chooses the route, the rest is the body. After the last route it
 * is an answer of a model, which may call functions. */
#include "cli/serve/calls.h"
#include "cli/serve/request.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word is a token; the template shows roles and contents, and wants the roles in turn. */
static const char tokenizer[] =
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true}],\"normalizer\":null,\"pre_tokenizer\":{\"type\":"
    "\"CharDelimiterSplit\",\"delimiter\":\" \"},\"post_processor\":null,\"decoder\":null,\"model\":{\"type\":"
    "\"WordLevel\",\"vocab\":{\"<s>\":0,\"<unk>\":1,\"hi\":2,\"user\":3},\"unk_token\":\"<unk>\"}}";
static const char form[] =
    "{% for m in messages %}{% if m.role == 'bad' %}{{ raise_exception('no') }}{% endif %}{{ bos_token }}{{ m.role }} "
    "{{ m.content }} {% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}{{ tools | tojson if tools "
    "else '' }}{{ more }}";

static const serve_model *open_model(void) {
  static serve_model model;
  if (model.form) return &model;
  if (mica_tokenizer_open_memory("tokenizer", tokenizer, sizeof tokenizer - 1, &model.tokenizer) != MICA_OK ||
      mica_chat_template_create("form", form, sizeof form - 1, &model.form) != MICA_OK)
    return NULL;
  static char name[] = "m";
  model.names[0] = name;
  model.name_count = 1;
  model.variables[0] = (mica_chat_variable){.name = "bos_token", .text = "<s>"};
  model.variables[1] = (mica_chat_variable){.name = "eos_token", .text = ""};
  model.context = 64;
  model.vocabulary = 4;
  model.slots = 1;
  model.writes = true;
  model.width = 8;
  model.most_embedded = 16;
  return &model;
}

/* What a request that was accepted promises to the decoder. */
static void check(const serve_model *model, const serve_asked *asked) {
  const bool writes = asked->kind == SERVE_CHAT || asked->kind == SERVE_COMPLETION;
  if (writes && (asked->prompt_count < 1 || asked->n < 1)) abort();
  if (asked->prompt_count * (size_t)asked->n > SERVE_MOST_CHOICES || asked->stop_count > SERVE_MOST_STOPS) abort();
  for (size_t p = 0; p < asked->prompt_count; p++) {
    if (asked->prompts[p].count < 1 || (int64_t)asked->prompts[p].count >= model->context) abort();
    for (size_t t = 0; t < asked->prompts[p].count; t++)
      if (asked->prompts[p].ids[t] < 0 || asked->prompts[p].ids[t] >= model->vocabulary) abort();
  }
  mica_sampler *sampler = NULL;
  if (writes && mica_sampler_create(&asked->sampling, &sampler) != MICA_OK) abort();
  mica_sampler_destroy(sampler);
}

/* Calls are of functions that there are, and a stream shows none of the text after the first one. */
static void check_calls(const char *text, size_t bytes) {
  static cJSON *tools;
  serve_calls calls;
  if (!tools) tools = cJSON_Parse("[{\"function\":{\"name\":\"f\"}}]");
  if (!tools) return;
  const bool called = serve_calls_read(tools, text, bytes, &calls);
  if (called != (calls.count > 0) || calls.before > bytes) abort();
  for (size_t c = 0; c < calls.count; c++)
    if (!serve_tool_find(tools, calls.list[c].name) || calls.list[c].arguments[0] != '{') abort();
  for (size_t n = 0, shown = 0; n <= bytes && bytes < 512; n++) {
    const size_t plain = serve_calls_plain(text, n);
    if (plain < shown || plain > n || (called && plain > calls.before)) abort();
    shown = plain;
  }
  serve_calls_free(&calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const serve_kind kinds[] = {SERVE_CHAT, SERVE_COMPLETION, SERVE_TOKENIZE, SERVE_DETOKENIZE, SERVE_EMBEDDING};
  const serve_model *model = open_model();
  serve_asked asked;
  serve_problem problem;
  if (!model) return 0; /* a build without tokenisers */
  if (size && data[0] % 6 == 5) {
    check_calls((const char *)data + 1, size - 1);
    return 0;
  }
  const serve_kind kind = kinds[size ? data[0] % 6 : 0];
  const char *body = size ? (const char *)data + 1 : "";
  const bool good = serve_read(model, kind, body, size ? size - 1 : 0, &asked, &problem);
  if (good != (problem.status == 0)) abort();
  if (good)
    check(model, &asked);
  else if (problem.status < 400 || !problem.text[0] || !problem.code ||
           !serve_is_utf8(problem.text, strlen(problem.text)))
    abort();
  serve_asked_free(&asked);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "\x06{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":\"hi user\"},{\"role\":\"user\","
      "\"content\":[{\"type\":\"text\",\"text\":\"h\\u00e9\"},{\"type\":\"text\",\"text\":\"i\"}]},{\"role\":"
      "\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}],\"temperature\":0,"
      "\"top_p\":0.5,\"top_k\":0,\"min_p\":0,\"seed\":-3,\"n\":2,\"stop\":[\"a\",\"b\"],\"max_tokens\":7,"
      "\"logit_bias\":{\"2\":-100,\"3\":1.5},\"stream\":true,\"stream_options\":{\"include_usage\":true},"
      "\"chat_template_kwargs\":{\"more\":[1,null]},\"presence_penalty\":1,\"frequency_penalty\":-1,"
      "\"repeat_penalty\":1.1,\"logprobs\":true,\"top_logprobs\":0,\"user\":\"x\"}",
      "\x06{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"type\":\"function\",\"function\":{"
      "\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}}],\"tool_choice\":{\"type\":\"function\",\"function\":{"
      "\"name\":\"f\"}}}",
      "\x06{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"response_format\":{\"type\":\"json_schema\","
      "\"json_schema\":{\"name\":\"a\",\"schema\":{\"type\":\"string\"}}},\"tools\":[{\"function\":{\"name\":\"g\"}}],"
      "\"tool_choice\":\"required\",\"max_completion_tokens\":null}",
      "\x07{\"prompt\":[[2,3],\"hi hi\"],\"n\":1,\"logprobs\":0,\"response_format\":{\"type\":\"json_object\"}}",
      "\x07{\"prompt\":[2,3,1],\"stop\":\"x\"}",
      "\x07{\"prompt\":\"hi user\"}",
      "\x08{\"content\":\"hi\",\"add_special\":true}",
      "\x09{\"tokens\":[0,1,2,3]}",
      "\x0a{\"input\":[\"hi user\",\"hi\"],\"encoding_format\":\"base64\",\"dimensions\":8,\"truncate\":true}",
      "\x06{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[{\"function\":{\"name\":\"g\"}},{"
      "\"function\":{\"name\":\"h\",\"parameters\":{}}}],\"tool_choice\":\"required\"}",
      "\x0bSo: <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":[1]}}</tool_call> <tool_call>[{\"name\":\"f\","
      "\"parameters\":{}}]",
      "\x0b {\"function\":{\"name\":\"f\",\"arguments\":{}}}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
