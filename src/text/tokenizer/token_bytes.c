/* Builds the trie of the bytes of all tokens. */
#include "text/tokenizer/tokenizer.h"

#include <stdatomic.h>
#include <stdlib.h>

static mica_status collect(const mica_tokenizer *tokenizer, mica__text *all, size_t *at) {
  mica__pieces pieces[2] = {0};
  mica__search search = {NULL};
  mica_status status = MICA_OK;
  mica__text_add_bytes(all, "", 0);
  for (int32_t id = 0; id < tokenizer->vocab.size && status == MICA_OK; id++) {
    const mica__token *token = mica__vocab_at(&tokenizer->vocab, id);
    at[id] = all->length;
    if (!token || token->special) continue;
    const mica__text *bytes = NULL;
    status = mica__token_bytes(tokenizer, &search, token, pieces, &bytes);
    if (status == MICA_OK) mica__text_add_bytes(all, bytes->data, bytes->length);
  }
  at[tokenizer->vocab.size] = all->length;
  mica__pieces_free(&pieces[0]);
  mica__pieces_free(&pieces[1]);
  mica__search_free(&search);
  return status == MICA_OK ? mica__text_status(all) : status;
}

mica_status mica__tokenizer_byte_trie(const mica_tokenizer *tokenizer, const mica__byte_trie **trie) {
  mica__byte_trie *made = atomic_load(&tokenizer->byte_trie->trie), *other = NULL;
  if (made) return *trie = made, MICA_OK;
  mica__text all = {0};
  size_t *at = calloc((size_t)tokenizer->vocab.size + 1, sizeof *at);
  const mica_status status = at ? collect(tokenizer, &all, at) : mica__fail_nomem("the bytes of tokens");
  if (status != MICA_OK) {
    mica__text_free(&all);
    free(at);
    return status;
  }
  MICA_TRY(mica__byte_trie_create(all.data, at, tokenizer->vocab.size, &made));
  /* Another thread may have stored its trie first. */
  if (!atomic_compare_exchange_strong(&tokenizer->byte_trie->trie, &other, made)) {
    mica__byte_trie_free(made);
    made = other;
  }
  *trie = made;
  return MICA_OK;
}
