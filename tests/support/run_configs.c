#include "support/run_configs.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* %s: the facts of a tokeniser. */
static const struct {
  const char *task, *settings, *facts;
} runs[] = {
    {"classify", "\"model\": \"mlp\"",
     "\"categories\": [\"colour\"], \"category_classes\": [2], \"category_names\": [\"blue\", \"red\"], "
     "\"label_name\": "
     "[\"class\"], \"numbers\": [\"a\", \"b\"], \"label_column\": [\"label\"], \"input\": [2], \"input_column\": "
     "[\"x\"], \"classes\": [\"hi\", \"lo\"], \"class_weights\": [1, 2], \"mean\": [3, 2], \"deviation\": [2, 1], "
     "\"columns\": [\"x f32 -1 2\", \"colour i32 -1\", \"label i32 -1\"]"},
    {"classify", "\"model\": \"cnn\"",
     "\"label_column\": [\"label\"], \"input\": [1, 16, 16], \"input_column\": [\"image\"], \"classes\": [\"0\", "
     "\"1\"], \"several\": [1], \"mean\": [0.5], \"deviation\": [0.25], \"columns\": [\"image f32 -1 1 16 16\", "
     "\"label "
     "f32 -1 2\"]"},
    {"regress", "\"model\": \"mlp\"",
     "\"label_column\": [\"label\"], \"input\": [2], \"input_column\": [\"x\"], \"target_mean\": [5], "
     "\"target_deviation\": [2], \"table\": [\"number a\", \"number b\", \"label y\"], \"header\": [1], \"bases\": "
     "[\"a=16777216\"], \"mean\": [3, 2], \"deviation\": [2, 1], \"columns\": [\"x f32 -1 2\", \"label f32 -1\"]"},
    {"detect", "\"width\": \"8\"",
     "\"input\": [1, 64, 64], \"input_column\": [\"image\"], \"boxes_column\": [\"boxes\"], \"label_column\": "
     "[\"label\"], \"classes\": [\"high\", \"low\"], \"mean\": [0.25], \"deviation\": [0.25], \"columns\": [\"image "
     "f32 "
     "-1 1 64 64\", \"boxes f32 -1 -1 4\", \"boxes.length i32 -1\", \"label i32 -1 -1\", \"label.length i32 -1\", "
     "\"size i32 -1 2\"]"},
    {"segment", "\"width\": \"4\", \"depth\": \"1\"",
     "\"label_column\": [\"mask\"], \"input\": [1, 16, 16], \"input_column\": [\"image\"], \"classes\": [\"40\", "
     "\"220\"], \"mask_values\": [\"40,220\"], \"window\": [16, 16], \"cut\": [16, 16], \"tile\": [16, 16, 4], "
     "\"mean\": "
     "[0.25], \"deviation\": [0.25], \"columns\": [\"image f32 -1 1 16 16\", \"mask i32 -1 16 16\"]"},
    {"depth", "\"width\": \"4\", \"depth\": \"1\"",
     "\"label_column\": [\"depth\"], \"input\": [1, 16, 16], \"input_column\": [\"image\"], \"usual_depth\": [5], "
     "\"window\": [16, 16], \"cut\": [16, 16], \"tile\": [16, 16, 4], \"mean\": [0.25], \"deviation\": [0.25], "
     "\"columns\": [\"image f32 -1 1 16 16\", \"depth f32 -1 16 16\"]"},
    {"text", "\"layers\": \"1\", \"width\": \"16\", \"heads\": \"2\"",
     "\"text_column\": [\"text\"], \"label_column\": [\"label\"], \"label_name\": [\"label\"], \"classes\": [\"n\", "
     "\"p\"], %s, \"columns\": [\"label i32 -1\", \"tokens i32 -1 -1\", \"tokens.length i32 -1\"]"},
    {"forecast", "\"model\": \"linear\", \"horizon\": \"2\", \"window\": \"3\"",
     "\"horizon\": [2], \"window\": [3], \"season\": [1], \"targets\": [2], \"series\": [\"a\", \"b\"], \"scale\": [1, "
     "2], \"level_mean\": [0, 1], \"level_deviation\": [1, 2], \"mase_scale\": [1, 2], \"columns\": [\"window f32 -1 3 "
     "2\", \"level f32 -1 1 2\", \"target f32 -1 2 2\", \"known f32 -1 2 2\", \"season f32 -1 2 2\"]"},
    {"fuse", "\"width\": \"8\", \"heads\": \"2\", \"mels\": \"8\"",
     "\"parts\": [\"tokens\", \"series\", \"picture\", \"sound\", \"rows\"], \"label_column\": [\"label\"], "
     "\"label_name\": [\"kind\"], \"classes\": [\"a\", \"b\"], \"text_columns\": [\"note\", \"curve\"], "
     "\"text_column\": "
     "[\"note\"], %s, \"series_column\": [\"curve\"], \"series_length\": [9], \"series_mean\": [1], "
     "\"series_deviation\": [2], \"picture\": [1, 8, 8], \"picture_mean\": [0.5], \"picture_deviation\": [0.25], "
     "\"rate\": [2000], \"numbers\": [\"age\"], \"input\": [1], \"input_column\": [\"x\"], \"row_mean\": [30], "
     "\"row_deviation\": [10], \"columns\": [\"x f32 -1 1\", \"image f32 -1 1 8 8\", \"sound f32 -1 -1\", "
     "\"sound.length i32 -1\", \"series f32 -1 -1\", \"series.length i32 -1\", \"tokens i32 -1 -1\", "
     "\"tokens.length i32 -1\", \"label i32 -1\"]"},
    {"language", "\"layers\": \"1\", \"width\": \"16\", \"heads\": \"2\", \"context\": \"8\"",
     "\"vocabulary\": [256], \"tokens\": [\"bytes\"], \"columns\": [\"tokens i32 -1 9\"]"},
    {"translate",
     "\"layers\": \"1\", \"width\": \"16\", \"heads\": \"2\", \"length\": \"8\", \"beam\": \"1\", \"from\": \"en\", "
     "\"to\": \"de\"",
     "\"from\": [\"en\"], \"to\": [\"de\"], %s, \"columns\": [\"source i32 -1 -1\", \"source.length i32 -1\", \"read "
     "i32 "
     "-1 -1\", \"read.length i32 -1\", \"target i32 -1 -1\", \"target.length i32 -1\"]"},
    {"keyword", "\"width\": \"8\", \"mels\": \"8\"",
     "\"rate\": [2000], \"input\": [1, 1000], \"mean\": [0], \"deviation\": [1], \"input_column\": [\"sound\"], "
     "\"label_column\": [\"label\"], \"classes\": [\"a\", \"b\"], \"columns\": [\"sound f32 -1 -1\", \"sound.length "
     "i32 "
     "-1\", \"label i32 -1\"]"},
    {"verify", "\"model\": \"cnn\", \"embedding\": \"8\"",
     "\"input\": [1, 16, 16], \"mean\": [0.25], \"deviation\": [0.25], \"input_column\": [\"image\"], "
     "\"label_column\": [\"label\"], \"classes\": [\"a\", \"b\"], \"unseen\": [\"c\", \"d\"], \"columns\": "
     "[\"image f32 -1 1 16 16\", \"label i32 -1\"]"},
    {"sound_verify", "\"width\": \"8\", \"mels\": \"8\", \"embedding\": \"8\"",
     "\"rate\": [2000], \"input\": [1, 1000], \"mean\": [0], \"deviation\": [1], \"input_column\": [\"sound\"], "
     "\"label_column\": [\"label\"], \"classes\": [\"a\", \"b\"], \"columns\": [\"sound f32 -1 -1\", "
     "\"sound.length i32 -1\", \"label i32 -1\"]"},
    {"speech", "\"layers\": \"1\", \"width\": \"16\", \"heads\": \"2\", \"filters\": \"4\", \"mels\": \"8\"",
     "\"rate\": [2000], \"mean\": [0], \"deviation\": [1], \"alphabet\": [\"a\", \"b\"], \"columns\": [\"sound f32 -1 "
     "-1\", \"sound.length i32 -1\", \"tokens i32 -1 -1\", \"tokens.length i32 -1\"]"},
    {"recommend", "\"width\": \"4\", \"objective\": \"rating\"",
     "\"users\": [\"u\", \"v\"], \"items\": [\"i\", \"j\", \"k\"], \"histories\": [\"1 2\", \"3\"], \"titles\": "
     "[\"I\", "
     "\"J\", \"K\"], \"popularity\": [0, 1, 1, 1], \"item_bias\": [0, 1, 0, 1], \"user_bias\": [0, 0, 1], "
     "\"rating_mean\": [3], \"rating_range\": [1, 5], \"columns\": [\"user i32 -1\", \"item i32 -1\", \"label f32 "
     "-1\"]"},
    {"recommend", "\"width\": \"4\", \"objective\": \"click\", \"model\": \"dlrm\"",
     "\"users\": [\"u\", \"v\"], \"items\": [\"i\", \"j\"], \"histories\": [\"1 2\", \"2\"], \"popularity\": [0, 1, "
     "1], "
     "\"rating_mean\": [0.5], \"features\": [\"number user age\", \"category item kind\"], \"feature_numbers\": [0, 0, "
     "30, "
     "5, 1, 0, 0, 1], \"feature_values\": [\"x\"], \"user_features\": [\"20\", \"40\"], \"item_features\": [\"1\", "
     "\"0\"], "
     "\"columns\": [\"user i32 -1\", \"item i32 -1\", \"label f32 -1\"]"},
    {"graph", "\"model\": \"gcn\", \"width\": \"8\"",
     "\"sample_column\": [\"smiles\"], \"label_column\": [\"label\"], \"label_name\": [\"label\"], \"features\": [35], "
     "\"classes\": [\"acid\", \"ester\"], \"columns\": [\"label i32 -1\", \"features f32 -1 -1 35\", \"rows i32 -1 -1 "
     "2\", "
     "\"entries i32 -1 -1 2\", \"columns i32 -1 -1 2\", \"order i32 -1 -1\", \"weights f32 -1 -1 1\"]"},
    {"graph_numbers", "\"model\": \"gin\", \"width\": \"8\"",
     "\"sample_column\": [\"smiles\"], \"label_column\": [\"label\"], \"label_name\": [\"label\"], \"features\": [35], "
     "\"target_mean\": [5], \"target_deviation\": [2], \"columns\": [\"label f32 -1\"]"},
};

static mica_status no_text(void *user, const char **text, size_t *bytes) {
  (void)user;
  *text = NULL;
  *bytes = 0;
  return MICA_OK;
}

mica_tokenizer *run_config_tokenizer(void) {
  static const char *const special[] = {"<unk>", "<pad>", "<s>", "</s>"};
  mica_tokenizer *tokenizer = NULL;
  const mica_tokenizer_config config = {
      .kind = MICA_TOKENIZER_KIND_BYTE, .special = special, .special_count = COUNT(special)};
  return mica_tokenizer_train(&config, no_text, NULL, &tokenizer) == MICA_OK ? tokenizer : NULL;
}

/* "tokenizer" and "vocabulary". */
static const char *token_facts(void) {
  static char facts[160];
  mica_tokenizer *tokenizer = *facts ? NULL : run_config_tokenizer();
  char hash[MICA__HASH_TEXT] = "none";
  size_t bytes = 0;
  if (*facts) return facts;
  const char *json = tokenizer ? mica_tokenizer_json(tokenizer, &bytes) : NULL;
  if (json) mica__hash_format(mica__hash_bytes((mica__hash){0}, json, bytes), hash);
  snprintf(facts, sizeof facts, "\"tokenizer\": [\"byte\", \"%s\"], \"vocabulary\": [%d]", hash,
           tokenizer ? (int)mica_tokenizer_size(tokenizer) : 260);
  mica_tokenizer_destroy(tokenizer);
  return facts;
}

const char *run_config_task(size_t index) { return index < COUNT(runs) ? runs[index].task : NULL; }

const char *run_config(size_t index) {
  static char text[4096], facts[3072];
  if (index >= COUNT(runs)) return NULL;
  const char *format = runs[index].facts, *slot = strstr(format, "%s");
  if (slot)
    snprintf(facts, sizeof facts, "%.*s%s%s", (int)(slot - format), format, token_facts(), slot + 2);
  else
    snprintf(facts, sizeof facts, "%s", format);
  snprintf(text, sizeof text,
           "{\"mica\": \"0.5.0\", \"task\": \"%s\", \"data\": \"data\", \"settings\": {%s}, \"facts\": {%s}}",
           runs[index].task, runs[index].settings, facts);
  return text;
}
