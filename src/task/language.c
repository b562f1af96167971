/* language: the next token of a text, from those before it. */
#include "task/head/next_token.h"
#include "task/input/contexts.h"

MICA__TASK_FIELDS(language, CONTEXTS_SETTINGS, CONTEXTS_FACTS, 0);

/* The learning rate depends on the width (task/input/contexts.c). */
static const mica_setting defaults[] = {{"lr", ""}, {"clip-norm", "1"}, {0}};

static const mica_task_metric metrics[] = NEXT_TOKEN_METRICS;
/* No column holds only answers: each token is an answer to those before it, so predictions need all columns. */
static const char *const answers[] = {NULL};

static const mica_onnx_text export_docs[] = {
    {"tokens", "of the text so far, by the run's tokenizer.json, else its bytes; no more than the setting context"},
    {"logits", "of each token of the vocabulary to follow, behind each of those read"},
    {0}};

const mica__task_row mica__task_language = {
    .name = "language",
    .text = "the next byte or token of a text file, for texts to be continued by mica generate",
    MICA__COMPOSED(contexts, next_token),
    .open = mica__contexts_open,
    .answer_columns = answers,
    .metrics = metrics,
    MICA__TASK_LISTS(language),
    .defaults = defaults,
    .export_docs = export_docs,
    .verbs.generate = mica__next_token_generate,
    .agree = mica__next_token_agree,
};
