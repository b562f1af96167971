/* run/token_texts.h: the text that a token adds to a text. */
#ifndef MICA_RUN_TOKEN_TEXTS_H
#define MICA_RUN_TOKEN_TEXTS_H

#include <mica/run.h>
#include <mica/tokenizer.h>

/* The length in bytes of each token's text, (vocabulary) f32. */
mica_value mica__token_lengths(const mica_tokenizer *tokenizer, mica_graph *graph);
/* Passes the text that a token adds after the token `before` to texts->text, and sets *goes_on to what that returns. A
 * token that adds no text leaves *goes_on unchanged. If tokenizer is NULL, tokens are bytes. */
mica_status mica__token_write(const mica_tokenizer *tokenizer, const mica_run_texts *texts, size_t prompt,
                              int32_t before, int32_t id, bool *goes_on);

#endif
