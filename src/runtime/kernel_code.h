/* runtime/kernel_code.h: removes comments from kernel texts, so that the hash that names a program depends only on its
 * code. */
#ifndef MICA_RUNTIME_KERNEL_CODE_H
#define MICA_RUNTIME_KERNEL_CODE_H

#include "base/hash.h"
#include "base/text.h"

#include <stdbool.h>

/* The state after the lines of a text that were read so far. At the start of a text, it is {0}. */
typedef struct mica__code_state {
  bool in_comment;      /* inside of a comment that continues on the next line */
  bool in_line_comment; /* the last line was a // comment and ended in a backslash */
  bool in_directive;    /* the next line continues a preprocessor's line */
  char quote;           /* the quotation mark of a literal that continues on the next line, or 0 */
} mica__code_state;

/* Appends the code of one line, which is passed without its newline, and a newline. Each line gives exactly one line,
 * so that the line numbers in a build log are right. */
void mica__code_add_line(mica__code_state *state, const char *line, size_t length, mica__text *out);

/* A hash of a kernel's text. Empty lines and #line directives do not count, unless the text contains __LINE__, __FILE__
 * or "include". */
mica__hash mica__code_hash(const char *text);

#endif
