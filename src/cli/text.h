/* cli/text.h: sizes as text, words for a shell, and suggestions for mistyped words. */
#ifndef MICA_CLI_TEXT_H
#define MICA_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define CLI_BYTES_TEXT 32

/* "1.5 GiB": powers of 1024, one decimal below 100 unless it is 0. Returns text. */
const char *cli_format_bytes(uint64_t bytes, char text[CLI_BYTES_TEXT]);

/* Appends to text, which holds room bytes, a blank unless it is empty and the word as a shell reads it back: quoted
 * where that must be, control characters in octal. What has no room is cut off. Returns text. */
char *cli_add_word(char *text, size_t room, const char *word);

/* The nearest to a mistyped word among the candidates shown to it. Begin with {.word = word}; best is NULL as long as
 * none is near: within a third of the word's length (at least 1) by insertions, deletions, replacements and swaps of
 * neighbours, or a longer word with this one as its beginning. The first of equals wins. */
typedef struct cli_guess {
  const char *word;
  const char *best;
  size_t distance;
} cli_guess;

void cli_guess_consider(cli_guess *guess, const char *candidate);

#endif
