/* Conversations from JSON lines as rows of tokens. */
#include "base/error.h"
#include "foundation/build.h"

#include <mica/finetune.h>

#if MICA_WITH_CJSON

#include "base/file.h"
#include "base/json_check.h"
#include "base/text.h"
#include "foundation/model.h"

#include <inttypes.h>
#include <mica/chat_template.h>
#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STANDARD_CONTEXT 512
#define STANDARD_BATCH 4
#define MOST_LINE ((size_t)16 << 20)

/* A row of a batch, filled with one or more conversations. */
typedef struct row {
  /* three arrays of `context` numbers: token ids; labels (the next token, or -1); start of the token's conversation */
  int32_t *ids;
  int64_t used;
} row;

struct mica_conversations {
  const mica_foundation *model;
  mica_conversations_config config;
  mica_conversations_info info;
  mica_tokenizer *tokenizer;
  mica_chat_template *form;
  row *rows;
  size_t capacity;
  /* The conversation that is being read. piece: the tokens of its last text; ids: all of its tokens; counted: for each
   * token, whether it counts towards the loss. */
  mica_encoding piece;
  int32_t *ids;
  bool *counted;
  int64_t count, room;
  /* Current batches. */
  mica_engine *engine;
  mica_tensor *tensors[3], *last[3]; /* for whole batches, and for a smaller last one */
  mica_feed feeds[3];
  mica_batch_column columns[3];
  uint64_t *order, epoch, batch;
  int32_t *host;
  bool ordered; /* `order` belongs to `epoch` */
};

static const char *const names[3] = {"ids", "labels", "starts"};

/* --- tokens of one conversation --- */

static mica_status add_ids(mica_conversations *c, const int32_t *ids, size_t count, bool counted) {
  if (c->count + (int64_t)count > c->room) {
    const int64_t room = 2 * (c->count + (int64_t)count);
    int32_t *grown = realloc(c->ids, (size_t)room * sizeof *grown);
    if (!grown) return mica__fail_nomem("a conversation");
    c->ids = grown;
    bool *flags = realloc(c->counted, (size_t)room * sizeof *flags);
    if (!flags) return mica__fail_nomem("a conversation");
    c->counted = flags;
    c->room = room;
  }
  for (size_t i = 0; i < count; i++) {
    c->ids[c->count] = ids[i];
    c->counted[c->count++] = counted || c->config.loss_on_all;
  }
  return MICA_OK;
}

static mica_status add_text(mica_conversations *c, const char *text, size_t bytes, bool counted) {
  if (bytes == 0) return MICA_OK;
  MICA_TRY(mica_tokenizer_encode(c->tokenizer, text, bytes, NULL, &c->piece));
  return add_ids(c, c->piece.ids, c->piece.count, counted);
}

/* Renders the first `count` messages with the chat template; all messages if count is 0. `prompt` appends the text with
 * which an answer begins. The caller frees *text. */
static mica_status apply(mica_conversations *c, const mica_messages *messages, const char *tools, size_t count,
                         bool prompt, char **text, size_t *bytes) {
  const mica_foundation_info *i = &c->model->info;
  const char *begin = i->begin >= 0 ? mica_tokenizer_token(c->tokenizer, i->begin) : NULL;
  const char *end = i->end_count ? mica_tokenizer_token(c->tokenizer, i->ends[0]) : NULL;
  const mica_chat_variable variables[] = {{.name = "bos_token", .text = begin ? begin : ""},
                                          {.name = "eos_token", .text = end ? end : ""}};
  return mica_chat_template_apply(c->form, messages,
                                  &(mica_chat_options){.count = count,
                                                       .tools = tools,
                                                       .add_generation_prompt = prompt,
                                                       .variables = variables,
                                                       .variable_count = 2,
                                                       .time = 1},
                                  text, bytes);
}

static bool is_answer(const cJSON *message) {
  const cJSON *role = cJSON_GetObjectItemCaseSensitive(message, "role");
  return cJSON_IsString(role) && !strcmp(role->valuestring, "assistant");
}

/* Adds an answer, which is message number `index`. First adds the text before it as tokens that are not learned, then
 * the answer's text as tokens that are learned. *done is the number of bytes of `whole` that have been added so far. */
static mica_status add_answer(mica_conversations *c, const mica_messages *messages, const char *tools, size_t index,
                              const char *whole, size_t bytes, size_t *done) {
  char *before = NULL, *after = NULL;
  size_t from = 0, to = 0;
  mica_status status = index ? apply(c, messages, tools, index, true, &before, &from) : MICA_OK;
  if (status == MICA_OK) status = apply(c, messages, tools, index + 1, false, &after, &to);
  const bool grows = status == MICA_OK && from >= *done && to >= from && to <= bytes && !memcmp(whole, after, to) &&
                     (!before || !memcmp(whole, before, from));
  if (status == MICA_OK && !grows)
    status = mica__fail(MICA_E_FORMAT,
                        "message %zu: the chat template changes earlier text as messages are added, so its answer "
                        "cannot be found",
                        index + 1);
  if (status == MICA_OK) status = add_text(c, whole + *done, from - *done, false);
  if (status == MICA_OK) status = add_text(c, whole + from, to - from, true);
  if (status == MICA_OK) *done = to;
  mica_free(before);
  mica_free(after);
  return status;
}

static mica_status add_messages(mica_conversations *c, const cJSON *list, const char *tools) {
  mica_messages *messages = NULL;
  char *json = cJSON_PrintUnformatted(list), *whole = NULL;
  size_t bytes = 0, done = 0, index = 0;
  mica_status status = json ? mica_messages_create(&messages) : mica__fail_nomem("a conversation");
  if (status == MICA_OK && !c->form) status = mica_foundation_template(c->model, &c->form);
  if (status == MICA_OK) status = mica_messages_add_json(messages, json, strlen(json));
  if (status == MICA_OK) status = apply(c, messages, tools, 0, false, &whole, &bytes);
  for (const cJSON *m = list->child; status == MICA_OK && m; m = m->next, index++)
    if (is_answer(m)) status = add_answer(c, messages, tools, index, whole, bytes, &done);
  if (status == MICA_OK) status = add_text(c, whole + done, bytes - done, false);
  mica_messages_destroy(messages);
  cJSON_free(json);
  mica_free(whole);
  return status;
}

static mica_status add_end(mica_conversations *c) {
  const mica_foundation_info *i = &c->model->info;
  return i->end_count ? add_ids(c, i->ends, 1, true) : MICA_OK;
}

static mica_status add_conversation(mica_conversations *c, const cJSON *root) {
  const cJSON *messages = cJSON_GetObjectItemCaseSensitive(root, "messages");
  const cJSON *prompt = cJSON_GetObjectItemCaseSensitive(root, "prompt");
  const cJSON *completion = cJSON_GetObjectItemCaseSensitive(root, "completion");
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(root, "text");
  const cJSON *tools = cJSON_GetObjectItemCaseSensitive(root, "tools");
  const int32_t begin = c->model->info.begin;
  c->count = 0;
  if (cJSON_IsArray(messages) && messages->child) {
    char *json = cJSON_IsArray(tools) ? cJSON_PrintUnformatted(tools) : NULL;
    const mica_status status = add_messages(c, messages, json);
    cJSON_free(json);
    return status;
  }
  const bool pair = cJSON_IsString(prompt) && cJSON_IsString(completion);
  if (!pair && !cJSON_IsString(text))
    return mica__fail(MICA_E_FORMAT, "a conversation must have a list \"messages\" with at least one message, a "
                                     "\"prompt\" with a \"completion\", or a \"text\"");
  if (begin >= 0) MICA_TRY(add_ids(c, &begin, 1, false));
  if (pair) MICA_TRY(add_text(c, prompt->valuestring, strlen(prompt->valuestring), false));
  const char *answer = pair ? completion->valuestring : text->valuestring;
  MICA_TRY(add_text(c, answer, strlen(answer), true));
  return add_end(c);
}

/* --- rows --- */

static mica_status new_row(mica_conversations *c, row **made) {
  const size_t count = (size_t)c->info.rows, context = (size_t)c->info.context;
  if (count == c->capacity) {
    const size_t capacity = count ? 2 * count : 64;
    row *grown = realloc(c->rows, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("conversations");
    c->rows = grown;
    c->capacity = capacity;
  }
  int32_t *ids = calloc(3 * context, sizeof *ids);
  if (!ids) return mica__fail_nomem("conversations");
  for (size_t t = 0; t < context; t++) {
    ids[context + t] = -1;
    ids[2 * context + t] = (int32_t)t;
  }
  c->rows[count] = (row){.ids = ids};
  *made = &c->rows[count];
  c->info.rows++;
  return MICA_OK;
}

/* Puts the conversation into the first of the latest 64 rows that has room for it. If none has room, or rows hold only
 * one conversation each, puts it into a new row. Drops the conversation if it has no token to learn or is longer than a
 * row. */
static mica_status put(mica_conversations *c) {
  enum { LATEST = 64 };
  const int64_t context = c->info.context, vocabulary = c->model->info.vocabulary;
  int64_t counted = 0;
  row *to = NULL;
  for (int64_t t = 0; t < c->count; t++) {
    if (c->ids[t] < 0 || c->ids[t] >= vocabulary)
      return mica__fail(MICA_E_FORMAT, "token %d is outside of the model's vocabulary, 0 to %" PRId64, (int)c->ids[t],
                        vocabulary - 1);
    counted += t > 0 && c->counted[t];
  }
  if (counted == 0) return MICA_OK; /* nothing to learn */
  if (c->count > context) {
    c->info.dropped++;
    return MICA_OK;
  }
  /* Learned positions count from the beginning of a row, so a row holds only one conversation. */
  const bool alone = c->config.one_per_row || c->model->info.positions == MICA_POSITIONS_KIND_LEARNED;
  const int64_t first = c->info.rows > LATEST ? c->info.rows - LATEST : 0;
  for (int64_t r = first; !alone && !to && r < c->info.rows; r++)
    if (context - c->rows[r].used >= c->count) to = &c->rows[r];
  if (!to) MICA_TRY(new_row(c, &to));
  const int64_t at = to->used;
  for (int64_t t = 0; t < c->count; t++) {
    to->ids[at + t] = c->ids[t];
    to->ids[2 * context + at + t] = (int32_t)at;
    if (t > 0 && c->counted[t]) to->ids[context + at + t - 1] = c->ids[t];
  }
  to->used += c->count;
  c->info.tokens += c->count;
  c->info.counted += counted;
  c->info.conversations++;
  return MICA_OK;
}

static mica_status read_line(mica_conversations *c, const char *line, size_t bytes) {
  cJSON *root = NULL;
  if (bytes > MOST_LINE)
    return mica__fail(MICA_E_FORMAT, "the line has %zu bytes, but may have at most %zu", bytes, MOST_LINE);
  mica_status status = mica__folder_parse("a conversation", line, bytes, &root);
  if (status == MICA_OK) status = add_conversation(c, root);
  if (status == MICA_OK) status = put(c);
  cJSON_Delete(root);
  return status;
}

static mica_status read_lines(mica_conversations *c, const char *path, const char *text, size_t bytes) {
  size_t number = 0;
  for (size_t at = 0; at < bytes; number++) {
    const char *end = memchr(text + at, '\n', bytes - at);
    size_t length = end ? (size_t)(end - text) - at : bytes - at, blank = 0;
    while (blank < length && strchr(" \t\r", text[at + blank]) && text[at + blank]) blank++;
    if (blank < length) {
      const mica_status status = read_line(c, text + at, length);
      char where[64];
      snprintf(where, sizeof where, "line %zu", number + 1);
      if (status != MICA_OK) return mica__fail_in(mica__fail_in(status, where), path);
    }
    at += length + 1;
  }
  if (c->info.rows) return MICA_OK;
  if (!bytes) return mica__fail(MICA_E_FORMAT, "%s is an empty file", path);
  if (!c->info.dropped) return mica__fail(MICA_E_FORMAT, "%s: no conversation has an answer to learn", path);
  return mica__fail(MICA_E_FORMAT,
                    "%s: no conversation with an answer fits into %" PRId64 " tokens (longer conversations: %" PRId64
                    ")",
                    path, c->info.context, c->info.dropped);
}

static mica_status configure(mica_conversations *c, const mica_conversations_config *config) {
  const int64_t most = mica_foundation_context(c->model);
  c->config = config ? *config : (mica_conversations_config){0};
  const int64_t context = c->config.context;
  c->info.context = context ? context : STANDARD_CONTEXT < most ? STANDARD_CONTEXT : most;
  if (c->config.batch == 0) c->config.batch = STANDARD_BATCH;
  if (c->config.shards == 0) c->config.shards = 1;
  if (c->info.context < 2 || c->info.context > most || c->config.batch < 1)
    return mica__fail(MICA_E_INVALID,
                      "mica_conversations_open: context is %" PRId64
                      " and batch %d, but context must be from 2 to %" PRId64 ", and batch at least 1",
                      c->info.context, (int)c->config.batch, most);
  if (c->config.shards < 1 || c->config.shard < 0 || c->config.shard >= c->config.shards ||
      c->config.shards > c->config.batch)
    return mica__fail(
        MICA_E_INVALID,
        "mica_conversations_open: shard is %d and shards %d, but shard must be at least 0 and below shards, "
        "and shards from 1 to the batch, %d",
        (int)c->config.shard, (int)c->config.shards, (int)c->config.batch);
  return mica_foundation_tokenizer(c->model, &c->tokenizer);
}

mica_status mica_conversations_open(const mica_foundation *model, const char *path,
                                    const mica_conversations_config *config, mica_conversations **out) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  if (!model || !path || !out) return mica__fail(MICA_E_INVALID, "mica_conversations_open: a pointer is NULL");
  mica_conversations *c = calloc(1, sizeof *c);
  if (!c) return mica__fail_nomem(path);
  c->model = model;
  mica_status status = configure(c, config);
  if (status == MICA_OK) status = mica__file_read(path, &text, &bytes);
  if (status == MICA_OK) status = read_lines(c, path, (const char *)text, bytes);
  free(text);
  if (status == MICA_OK)
    *out = c;
  else
    mica_conversations_close(c);
  return status;
}

void mica_conversations_close(mica_conversations *c) {
  if (!c) return;
  for (int64_t r = 0; r < c->info.rows; r++) free(c->rows[r].ids);
  for (int k = 0; k < 3; k++) {
    mica_tensor_destroy(c->tensors[k]);
    mica_tensor_destroy(c->last[k]);
  }
  mica_encoding_free(&c->piece);
  mica_chat_template_destroy(c->form);
  mica_tokenizer_destroy(c->tokenizer);
  free(c->rows);
  free(c->ids);
  free(c->counted);
  free(c->order);
  free(c->host);
  free(c);
}

mica_conversations_info mica_conversations_describe(const mica_conversations *c) { return c->info; }

/* --- batches --- */

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static void set_order(mica_conversations *c) {
  const uint64_t rows = (uint64_t)c->info.rows;
  for (uint64_t r = 0; r < rows; r++) c->order[r] = r;
  for (uint64_t r = rows; r > 1 && !c->config.in_order; r--) {
    const uint64_t other = mix(mix(mix(c->config.seed) + c->epoch) + r) % r, kept = c->order[r - 1];
    c->order[r - 1] = c->order[other];
    c->order[other] = kept;
  }
  c->ordered = true;
}

/* Number of batches per epoch. A smaller last batch is used only if it has at least one row for every shard. */
static uint64_t batch_count(const mica_conversations *c) {
  const uint64_t rows = (uint64_t)c->info.rows, size = (uint64_t)c->config.batch;
  return rows / size + (rows % size >= (uint64_t)c->config.shards);
}

/* The first row of a shard in a batch of `count` rows. */
static int64_t part_of(const mica_conversations *c, int64_t count, int32_t shard) {
  return count * shard / c->config.shards;
}

static mica_status prepare(mica_conversations *c) {
  const size_t batch = (size_t)c->config.batch, context = (size_t)c->info.context;
  const int64_t own = part_of(c, c->config.batch, c->config.shard + 1) - part_of(c, c->config.batch, c->config.shard);
  if (c->order && c->host && c->tensors[2]) return MICA_OK;
  if (!c->order) c->order = calloc((size_t)c->info.rows, sizeof *c->order);
  if (!c->host) c->host = calloc(batch * context, sizeof *c->host);
  if (!c->order || !c->host) return mica__fail_nomem("batches");
  for (int k = 0; k < 3; k++)
    if (!c->tensors[k])
      MICA_TRY(mica_tensor_create(c->engine, MICA_I32, MICA_SHAPE(own, c->info.context), &c->tensors[k]));
  return MICA_OK;
}

static mica_status next(void *user, mica_queue *queue, mica_batch *batch) {
  mica_conversations *c = user;
  const int64_t size = c->config.batch, context = c->info.context, first = (int64_t)c->batch * size;
  const int32_t shard = c->config.shard;
  *batch = (mica_batch){0};
  MICA_TRY(prepare(c));
  if (c->batch >= batch_count(c)) {
    c->epoch++;
    c->batch = 0;
    c->ordered = false;
    return MICA_OK;
  }
  if (!c->ordered) set_order(c);
  const int64_t all = c->info.rows - first < size ? c->info.rows - first : size;
  const int64_t begin = first + part_of(c, all, shard), count = first + part_of(c, all, shard + 1) - begin;
  mica_tensor **tensors = all < size ? c->last : c->tensors;
  for (int k = 0; k < 3; k++) {
    if (!tensors[k]) MICA_TRY(mica_tensor_create(c->engine, MICA_I32, MICA_SHAPE(count, context), &tensors[k]));
    for (int64_t r = 0; r < count; r++)
      memcpy(c->host + r * context, c->rows[c->order[begin + r]].ids + k * context, (size_t)context * sizeof *c->host);
    MICA_TRY(mica_tensor_upload(queue, tensors[k], c->host, mica_tensor_bytes(tensors[k])));
    c->feeds[k] = (mica_feed){names[k], tensors[k]};
  }
  c->batch++;
  *batch = (mica_batch){.count = count, .tensors = c->feeds, .tensor_count = 3};
  return MICA_OK;
}

static mica_status seek(void *user, uint64_t epoch, uint64_t batch) {
  mica_conversations *c = user;
  c->ordered = c->ordered && c->epoch == epoch;
  c->epoch = epoch;
  c->batch = batch;
  return MICA_OK;
}

mica_batch_source mica_conversations_source(mica_conversations *c, mica_engine *engine) {
  c->engine = engine;
  for (int k = 0; k < 3; k++)
    c->columns[k] = (mica_batch_column){names[k], MICA_I32, MICA_SHAPE(MICA_DYNAMIC, c->info.context)};
  return (mica_batch_source){.user = c,
                             .batches = batch_count(c),
                             .samples = (uint64_t)c->info.rows / (uint64_t)c->config.shards,
                             .next = next,
                             .seek = seek,
                             .columns = c->columns,
                             .column_count = 3};
}

int64_t mica__conversations_most(const mica_batch_source *source) {
  enum { STEP = 16 };
  const mica_conversations *c = source->user;
  int64_t most = 1;
  if (source->next != next) return INT64_MAX;
  for (int64_t r = 0; r < c->info.rows; r++) {
    int64_t counted = 0;
    for (int64_t t = 0; t < c->info.context; t++) counted += c->rows[r].ids[c->info.context + t] >= 0;
    if (counted > most) most = counted;
  }
  most = (most + STEP - 1) / STEP * STEP;
  return 8 * most <= 7 * c->info.context ? most : INT64_MAX;
}

#else

mica_status mica_conversations_open(const mica_foundation *model, const char *path,
                                    const mica_conversations_config *config, mica_conversations **conversations) {
  (void)model, (void)config, (void)conversations;
  return mica__fail_lacks(path ? path : "conversations", "cJSON");
}
void mica_conversations_close(mica_conversations *conversations) { (void)conversations; }
mica_conversations_info mica_conversations_describe(const mica_conversations *conversations) {
  (void)conversations;
  return (mica_conversations_info){0};
}
mica_batch_source mica_conversations_source(mica_conversations *conversations, mica_engine *engine) {
  (void)conversations, (void)engine;
  return (mica_batch_source){0};
}
int64_t mica__conversations_most(const mica_batch_source *source) {
  (void)source;
  return INT64_MAX;
}

#endif
