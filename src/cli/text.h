/* cli/text.h: sizes as text, words quoted for a shell, parts of help texts, and suggestions for mistyped words. */
#ifndef MICA_CLI_TEXT_H
#define MICA_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define CLI_BYTES_TEXT 32

/* Formats "1.5 GiB": powers of 1024, one decimal below 100 unless it is 0. Returns text. */
const char *cli_format_bytes(uint64_t bytes, char text[CLI_BYTES_TEXT]);

/* Appends a word to a shell command in text, after a blank unless text is empty. The word is quoted if necessary, with
 * control characters in octal, so that a shell reads the same word. text has room for `room` bytes; a longer result is
 * truncated. Returns text. */
char *cli_add_word(char *text, size_t room, const char *word);

/* The length of a help text up to its " (default ...)"; its whole length if it names no default. The names of values go
 * between the two parts. */
size_t cli_help_length(const char *help);

/* Finds the candidate nearest to a mistyped word. Begin with {.word = word} and call cli_guess_consider for each
 * candidate; `best` is then the nearest one, the first of equals, or NULL if none is near.
 *
 * The distance is the number of insertions, deletions, replacements and swaps of neighbouring letters. A candidate is
 * near if its distance is at most a third of the word's length (at least 1), or if it is a longer word that begins with
 * the mistyped one. */
typedef struct cli_guess {
  const char *word;
  const char *best;
  size_t distance;
} cli_guess;

void cli_guess_consider(cli_guess *guess, const char *candidate);

#endif
