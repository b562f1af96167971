#include "data/text/contexts.h"

#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

typedef struct contexts {
  mica__tokens from;
  int64_t length;
  uint64_t samples, last; /* last: the index of the token with which the last sample begins */
  bool even;
} contexts;

static void release(void *user) {
  contexts *c = user;
  if (c->from.release) c->from.release(c->from.owner);
  free(c);
}

/* The index of the token with which a sample begins. The product sample * last fits 64 bits, because samples are below
 * 2^32 and `last` is below 2^31. */
static uint64_t start_of(const contexts *c, uint64_t sample) {
  if (!c->even) return sample * (uint64_t)c->length;
  return c->samples > 1 ? sample * c->last / (c->samples - 1) : 0;
}

static mica_status read_context(void *user, uint64_t sample, void *data, size_t bytes) {
  const contexts *c = user;
  const uint64_t start = start_of(c, sample);
  if (c->from.dtype == MICA_I32) {
    memcpy(data, (const int32_t *)c->from.tokens + start, bytes);
    return MICA_OK;
  }
  const uint8_t *from = (const uint8_t *)c->from.tokens + start;
  int32_t *to = data;
  for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] = from[i];
  return MICA_OK;
}

static mica_status check(const char *name, const mica__tokens *tokens, int64_t length) {
  if (length < 1 || length > INT32_MAX - 1)
    return mica__fail(MICA_E_INVALID, "%s: the length of contexts is %lld tokens, but must be 1 to 2^31 - 2", name,
                      (long long)length);
  if (!tokens->count) return mica__fail(MICA_E_FORMAT, "%s is empty", name);
  if (tokens->count > INT32_MAX) return mica__fail(MICA_E_UNSUPPORTED, "%s has 2^31 tokens or more", name);
  if (tokens->count > (uint64_t)length) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has %llu tokens: a context of %lld tokens and its next token need %lld", name,
                    (unsigned long long)tokens->count, (long long)length, (long long)length + 1);
}

mica_status mica__dataset_of_contexts(const char *name, const mica__tokens *tokens, int64_t length, uint64_t samples,
                                      mica_dataset **dataset) {
  contexts *c = calloc(1, sizeof *c);
  mica_status status = c ? check(name, tokens, length) : mica__fail_nomem("a dataset");
  if (status != MICA_OK) {
    free(c);
    if (tokens->release) tokens->release(tokens->owner);
    return status;
  }
  *c = (contexts){.from = *tokens, .length = length, .samples = samples, .even = samples != 0};
  c->last = tokens->count - (uint64_t)length - 1;
  if (!samples) c->samples = (tokens->count - 1) / (uint64_t)length;
  const mica_column_data column = {.column = {.name = "tokens",
                                              .kind = MICA_COLUMN_KIND_TOKENS,
                                              .dtype = MICA_I32,
                                              .shape = MICA_SHAPE(length + 1),
                                              .classes = tokens->vocabulary},
                                   .user = c,
                                   .read = read_context};
  status = mica_dataset_create(name, c->samples, &column, 1, dataset);
  if (status != MICA_OK) {
    release(c);
    return status;
  }
  status = mica__store_own((*dataset)->store, c, release);
  if (status == MICA_OK) return MICA_OK;
  mica_dataset_destroy(*dataset);
  *dataset = NULL;
  return status;
}
