/* cli/text.h: sizes as text, words quoted for a shell, and suggestions for mistyped words. */
#ifndef MICA_CLI_TEXT_H
#define MICA_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define CLI_BYTES_TEXT 32

/* Formats "1.5 GiB": powers of 1024, one decimal below 100 unless it is 0. Returns text. */
const char *cli_format_bytes(uint64_t bytes, char text[CLI_BYTES_TEXT]);

/* Appends a blank, unless text is empty, and the word as a shell reads it back: quoted if necessary, control characters
 * in octal. text has room bytes; the rest is cut off. Returns text. */
char *cli_add_word(char *text, size_t room, const char *word);

/* Finds the candidate nearest to a mistyped word. Begin with {.word = word}; best is NULL until a candidate is near: at
 * most a third of the word's length (at least 1) of insertions, deletions, replacements and swaps of neighbours away,
 * or a longer word that begins with this one. Of equals the first wins. */
typedef struct cli_guess {
  const char *word;
  const char *best;
  size_t distance;
} cli_guess;

void cli_guess_consider(cli_guess *guess, const char *candidate);

#endif
