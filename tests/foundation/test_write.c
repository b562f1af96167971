/* labels: device
 *
 * Models written as GGUF files: folders of every family give the logits of transformers from their GGUF file too, files
 * keep their bytes, and tokenizers give the same ids. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 12, V = 131 };

static const char *golden_path(const char *name, const char *file) {
  static char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s%s", root ? root : ".", name, file);
  return path;
}

static void read_golden(const char *name, int32_t ids[T], float logits[T][V]) {
  FILE *file = fopen(golden_path(name, "/ids.txt"), "r");
  ck_assert_ptr_nonnull(file);
  for (int t = 0; t < T; t++) ck_assert_int_eq(fscanf(file, "%d", &ids[t]), 1);
  fclose(file);
  file = fopen(golden_path(name, "/logits.f32"), "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(logits, sizeof(float), T * V, file), T * V);
  fclose(file);
}

/* Opens a model, writes it with this type and opens what was written. */
static mica_foundation *rewrite(const char *path, const char *type, mica_foundation_written *written) {
  mica_foundation *from = NULL, *to = NULL;
  ck_ok(mica_foundation_open(path, NULL, &from));
  ck_ok(mica_foundation_write(from, files_path("model.gguf"), &(mica_foundation_write_config){.type = type}, written));
  mica_foundation_close(from);
  ck_ok(mica_foundation_open(files_path("model.gguf"), NULL, &to));
  ck_ok(mica_foundation_check(to));
  return to;
}

/* The largest difference of the model's logits from these. */
static double distance(const mica_foundation *model, const int32_t ids[T], float want[T][V]) {
  static float z[T][V];
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *tokens = NULL;
  double most = 0;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  const mica_value x = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(1, T));
  const mica_value y = mica_foundation_network(nn, model, &(mica_foundation_build){.ids = x});
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  ck_ok(mica_foundation_load(model, nn, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1, T), ids, &tokens));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"ids", tokens}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), z, sizeof z));
  for (int t = 0; t < T; t++)
    for (int v = 0; v < V; v++) most = fmax(most, fabs((double)z[t][v] - (double)want[t][v]));
  mica_tensor_destroy(tokens);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return most;
}

static const char *const folders[] = {"llama", "llama3",  "mistral", "qwen2",    "qwen3",  "gemma3",      "phi3",
                                      "gpt2",  "smollm3", "mixtral", "qwen3moe", "gptoss", "gptoss-plain"};
enum { FOLDERS = sizeof folders / sizeof *folders };

START_TEST(a_folder_gives_the_same_logits) {
  int32_t ids[T];
  static float logits[T][V];
  mica_foundation_written written;
  read_golden(folders[_i], ids, logits);
  mica_foundation *model = rewrite(golden_path(folders[_i], ""), NULL, &written);
  ck_assert_uint_eq(written.tensors, mica_weights_count(mica_foundation_weights(model)));
  const double apart = distance(model, ids, logits);
  ck_assert_msg(apart <= 1e-4, "%s: %g", folders[_i], apart);
  /* Other readers want biases in f32, also of experts. */
  for (size_t i = 0; i < written.tensors; i++) {
    const mica_weight_entry *entry = mica_weights_at(mica_foundation_weights(model), i);
    if (strstr(entry->name, ".bias")) ck_assert_msg(entry->dtype == MICA_F32, "%s", entry->name);
  }
  mica_foundation_close(model);
}
END_TEST

/* bf16 holds what f16 and f32 do not have more of: the models' weights are bf16 or f32. */
START_TEST(wider_types_lose_nothing) {
  int32_t ids[T];
  static float logits[T][V];
  read_golden("llama3", ids, logits);
  mica_foundation *model = rewrite(golden_path("llama3", ""), "f32", NULL);
  ck_assert(distance(model, ids, logits) <= 1e-4);
  for (size_t i = 0; i < mica_weights_count(mica_foundation_weights(model)); i++)
    ck_assert_int_eq(mica_weights_at(mica_foundation_weights(model), i)->dtype, MICA_F32);
  mica_foundation_close(model);
}
END_TEST

START_TEST(blocks_are_near) {
  int32_t ids[T];
  static float logits[T][V];
  mica_foundation_written written;
  read_golden("llama", ids, logits);
  mica_foundation *model = rewrite(golden_path("llama", ""), "q8_0", &written);
  const double apart = distance(model, ids, logits);
  ck_assert_msg(apart > 1e-4 && apart < 0.5, "%g", apart);
  /* Width 32 is a block, rows of 40 are not whole blocks. */
  const mica_weights *weights = mica_foundation_weights(model);
  ck_assert_int_eq(mica_weights_find(weights, "blk.0.ffn_up.weight")->block, MICA_BLOCK_Q8_0);
  ck_assert_int_eq(mica_weights_find(weights, "blk.0.ffn_down.weight")->dtype, MICA_F16);
  ck_assert_int_eq(mica_weights_find(weights, "blk.0.attn_norm.weight")->dtype, MICA_F32);
  mica_foundation_close(model);
}
END_TEST

START_TEST(the_output_layer_gets_six_bits) {
  mica_foundation *model = rewrite(golden_path("qwen3-gguf", "/model.gguf"), "q4_0", NULL);
  const mica_weights *weights = mica_foundation_weights(model);
  const bool tied = mica_foundation_describe(model)->tied;
  const mica_weight_entry *output = mica_weights_find(weights, tied ? "token_embd.weight" : "output.weight");
  ck_assert_int_eq(output->block, MICA_BLOCK_Q8_0); /* rows of 32: no blocks of 256 */
  ck_assert_int_eq(mica_weights_find(weights, "blk.0.attn_q.weight")->block, MICA_BLOCK_Q4_0);
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_find(mica_weights_gguf(weights), "general.file_type"), 0), 2);
  mica_foundation_close(model);
}
END_TEST

START_TEST(a_file_keeps_its_bytes) {
  size_t before = 0, after = 0;
  char path[600];
  snprintf(path, sizeof path, "%s", golden_path("qwen3-gguf", "/model.gguf"));
  mica_foundation_written written;
  mica_foundation_close(rewrite(path, NULL, &written));
  ck_assert_uint_eq(written.converted, 0);
  uint8_t *a = files_read(path, &before), *b = files_read(files_path("model.gguf"), &after);
  /* The writer adds the version of its blocks. */
  ck_assert_uint_ge(after, before);
  mica_gguf *x = NULL, *y = NULL;
  ck_ok(mica_gguf_open_memory("before", a, before, &x));
  ck_ok(mica_gguf_open_memory("after", b, after, &y));
  ck_assert_uint_eq(mica_gguf_tensor_count(x), mica_gguf_tensor_count(y));
  for (size_t i = 0; i < mica_gguf_tensor_count(x); i++) {
    const mica_weight_entry *s = mica_gguf_tensor(x, i), *t = mica_gguf_tensor(y, i);
    ck_assert_str_eq(s->name, t->name);
    ck_assert_str_eq(s->type, t->type);
    ck_assert_uint_eq(s->bytes, t->bytes);
    ck_assert_mem_eq(s->data, t->data, s->bytes);
  }
  for (size_t i = 0; i < mica_gguf_key_count(x); i++)
    ck_assert_ptr_nonnull(mica_gguf_find(y, mica_gguf_key_at(x, i)->key));
  mica_gguf_close(x);
  mica_gguf_close(y);
  free(a);
  free(b);
}
END_TEST

static void refused(const char *path, const char *type, mica_status status, const char *sentence) {
  mica_foundation *model = NULL;
  ck_ok(mica_foundation_open(path, NULL, &model));
  const mica_status got =
      mica_foundation_write(model, files_path("no.gguf"), &(mica_foundation_write_config){.type = type}, NULL);
  ck_assert_msg(got == status && strstr(mica_error_message(), sentence), "%d: %s", got, mica_error_message());
  ck_assert_ptr_null(fopen(files_path("no.gguf"), "rb"));
  mica_foundation_close(model);
}

START_TEST(what_cannot_be_written_is_refused) {
  refused(golden_path("llama", ""), "q9", MICA_E_INVALID, "known are f32, f16, q4_0");
  refused(golden_path("gemma2", ""), NULL, MICA_E_UNSUPPORTED, "of attention scores, only the usual scale, ");
  refused(golden_path("chat", ""), NULL, MICA_E_UNSUPPORTED, "either be byte-level or have byte tokens");
  ck_assert_int_eq(mica_foundation_write(NULL, "x", NULL, NULL), MICA_E_INVALID);
}
END_TEST

/* --- tokenizers --- */

static const char byte_level[] =
    "{\"added_tokens\":[{\"id\":8,\"content\":\"<end>\",\"special\":true,\"normalized\":false},"
    "{\"id\":9,\"content\":\"<user>\",\"special\":false,\"normalized\":false}],"
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}]},\"decoder\":{\"type\":\"ByteLevel\"},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<end>\",\"type_id\":0}"
    "},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
    "{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"
    "\"special_tokens\":{\"<end>\":{\"id\":\"<end>\",\"ids\":[8],\"tokens\":[\"<end>\"]}}},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"1\":5,\"\\u0120\":6,"
    "\"\\u0120a\":7},\"merges\":[\"a b\",[\"ab\",\"c\"],\"\\u0120 a\"]}}";

static const char with_bytes[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true,\"normalized\":false},"
    "{\"id\":1,\"content\":\"<s>\",\"special\":true,\"normalized\":false}],"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":\"first\",\"split\":"
    "false},"
    "\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,"
    "\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<s>\":1,\"<0xC3>\":2,\"<0xA9>\":3,\"a\":4,\"b\":5,\"ab\":6,"
    "\"\\u2581\":7,\"\\u2581ab\":8,\"aba\":9},"
    "\"merges\":[\"a b\",\"\\u2581 ab\",\"ab a\"]}}";

/* Without prepend_scheme, add_prefix_space decides; beside it, it is not read. */
static const char scheme_and_flag[] =
    "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":\"first\",\"split\":"
    "false,\"add_prefix_space\":false},"
    "\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"byte_fallback\":true,"
    "\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"\\u2581\":3,\"\\u2581a\":4},\"merges\":[\"\\u2581 a\"]}}";

/* A ByteLevel without add_prefix_space has the default, true. */
static const char default_prefix[] =
    "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\\u0120\":1,\"\\u0120a\":2},\"merges\":[\"\\u0120 a\"]}}";

/* A Split before a ByteLevel: members of its pattern, and its further members. */
#define SPLIT(pattern, more)                                                                                           \
  "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{" pattern "}" more    \
  "},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},\"model\":{\"type\":\"BPE\",\"vocab\":" \
  "{"                                                                                                                  \
  "\"a\":0,\"x\":1,\"y\":2},\"merges\":[]}}"

/* Added tokens that the vocabulary has, without an id and with another one, and an empty one. */
static const char known_added[] =
    "{\"added_tokens\":[{\"content\":\"<end>\",\"special\":true},{\"id\":7,\"content\":\"<user>\"},{\"content\":\"\"}],"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"<end>\":2,\"<user>\":3,\"ab\":4},\"merges\":[\"a b\"]}}";

/* Writes the keys into a file and compares ids of texts with the ids by the JSON. */
static void comes_back(const char *json, int64_t tokens, const char *const *texts, size_t count) {
  mica_gguf_keys *keys = NULL;
  mica_gguf *file = NULL;
  mica_tokenizer *from = NULL, *to = NULL;
  const mica_encode_config framed = {.special = true};
  size_t n = 0;
  ck_ok(mica_gguf_keys_create(&keys));
  ck_ok(mica_gguf_keys_add_text(keys, "general.architecture", "llama"));
  ck_ok(mica_tokenizer_gguf_keys("json", json, strlen(json), tokens, keys));
  const mica_gguf_value *list = mica_gguf_keys_list(keys, &n);
  ck_ok(mica_gguf_write(files_path("words.gguf"), list, n, NULL, 0));
  mica_gguf_keys_destroy(keys);
  ck_ok(mica_gguf_open(files_path("words.gguf"), &file));
  ck_assert_uint_eq(mica_gguf_find(file, "tokenizer.ggml.tokens")->count, (size_t)tokens);
  ck_ok(mica_tokenizer_open_gguf("gguf", file, &to));
  ck_ok(mica_tokenizer_open_memory("json", json, strlen(json), &from));
  for (size_t i = 0; i < count; i++) {
    mica_encoding a = {0}, b = {0};
    ck_ok(mica_tokenizer_encode(from, texts[i], strlen(texts[i]), &framed, &a));
    ck_ok(mica_tokenizer_encode(to, texts[i], strlen(texts[i]), &framed, &b));
    ck_assert_msg(a.count == b.count && (a.count == 0 || !memcmp(a.ids, b.ids, a.count * sizeof *a.ids)),
                  "\"%s\": other ids", texts[i]);
    mica_encoding_free(&a);
    mica_encoding_free(&b);
  }
  mica_tokenizer_destroy(from);
  mica_tokenizer_destroy(to);
  mica_gguf_close(file);
}

START_TEST(tokenizers_come_back) {
  static const char *const texts[] = {"abc abc", "ab1c11", "<end>a<user>", "cab a", ""};
  static const char *const others[] = {"ab abab", "aba\xc3\xa9", "<s>ab", "bbb", ""};
  comes_back(byte_level, 12, texts, 5);
  comes_back(with_bytes, 10, others, 5);
  comes_back(scheme_and_flag, 5, &texts[3], 2);
  comes_back(known_added, 5, &texts[2], 3);
}
END_TEST

/* Only "<0x", two hexadecimal digits and ">" are a byte token; type 6 in the file. */
START_TEST(byte_tokens_are_told_from_others) {
  static const char json[] =
      "{\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"byte_fallback\":true,"
      "\"vocab\":{\"<unk>\":0,\"<0xC3>\":1,\"<0xa9>\":2,\"<0x+A>\":3,\"<0x A>\":4,\"<0x-1>\":5,\"<0x0A \":6,"
      "\"<0x0x>\":7,\"<0xG0>\":8,\"<0x0A>>\":9,\"<0xA>\":10},\"merges\":[]}}";
  mica_gguf_keys *keys = NULL;
  mica_gguf *file = NULL;
  size_t n = 0;
  ck_ok(mica_gguf_keys_create(&keys));
  ck_ok(mica_tokenizer_gguf_keys("json", json, strlen(json), 11, keys));
  const mica_gguf_value *list = mica_gguf_keys_list(keys, &n);
  ck_ok(mica_gguf_write(files_path("bytes.gguf"), list, n, NULL, 0));
  mica_gguf_keys_destroy(keys);
  ck_ok(mica_gguf_open(files_path("bytes.gguf"), &file));
  const mica_gguf_value *types = mica_gguf_find(file, "tokenizer.ggml.token_type");
  for (size_t i = 0; i < 11; i++)
    ck_assert_msg(mica_gguf_integer(types, i) == (i == 0 ? 2 : i < 3 ? 6 : 1), "token %zu", i);
  mica_gguf_close(file);
}
END_TEST

START_TEST(wrong_tokenizers_are_refused) {
  static const struct {
    const char *json, *sentence;
    int64_t tokens;
  } wrong[] = {{byte_level, "has the id", 9},
               {SPLIT("\"Regex\":\"x\"", ""), "GGUF has no name for the pattern", 3},
               {SPLIT("\"Regex\":\"x\",\"String\":\"y\"", ""), "String instead of a Regex", 3},
               {SPLIT("\"Regex\":\"x\"", ",\"behavior\":\"Removed\""), "behavior", 3},
               {default_prefix, "add_prefix_space = true", 3},
               {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}}", "it must be BPE", 4},
               {"{", "json", 4}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_gguf_keys *keys = NULL;
    ck_ok(mica_gguf_keys_create(&keys));
    ck_assert_int_ne(mica_tokenizer_gguf_keys("json", wrong[i].json, strlen(wrong[i].json), wrong[i].tokens, keys),
                     MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].sentence), "%s", mica_error_message());
    mica_gguf_keys_destroy(keys);
  }
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, LOOP(a_folder_gives_the_same_logits, 0, FOLDERS),
      wider_types_lose_nothing, blocks_are_near, the_output_layer_gets_six_bits, a_file_keeps_its_bytes,
      what_cannot_be_written_is_refused, IF(PCRE2, IF(UTF8PROC, tokenizers_come_back)),
      IF(PCRE2, IF(UTF8PROC, byte_tokens_are_told_from_others)), IF(PCRE2, IF(UTF8PROC, wrong_tokenizers_are_refused)))
