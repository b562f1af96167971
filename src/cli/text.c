#include "cli/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *cli_format_bytes(uint64_t bytes, char text[CLI_BYTES_TEXT]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(text, CLI_BYTES_TEXT, "%d B", (int)bytes);
    return text;
  }
  size_t unit = 1;
  while (unit + 1 < sizeof units / sizeof *units && bytes >> (10 * (unit + 1))) unit++;
  /* Rounds to tenths of the unit. below is the remainder of bytes / unit. It has at most 60 bits, so 10 * below does
   * not overflow. */
  unsigned shift = 10 * (unsigned)unit;
  uint64_t half = (uint64_t)1 << (shift - 1), below = bytes & (2 * half - 1);
  uint64_t tenths = (bytes >> shift) * 10 + ((below * 10 + half) >> shift);
  if (tenths >= 10240 && unit + 1 < sizeof units / sizeof *units) {
    tenths = 10;
    unit++;
  }
  if (tenths % 10 == 0 || tenths >= 1000)
    snprintf(text, CLI_BYTES_TEXT, "%" PRIu64 " %s", (tenths + 5) / 10, units[unit]);
  else
    snprintf(text, CLI_BYTES_TEXT, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
  return text;
}

/* True for characters that no shell treats as special. */
static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_./:,=+@%-", c));
}

static bool is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }

char *cli_add_word(char *text, size_t room, const char *word) {
  size_t at = strlen(text);
  bool plain = *word, control = false;
  for (const char *c = word; *c; c++) {
    plain = plain && is_plain(*c);
    control = control || is_control(*c);
  }
  const char *quote = plain ? "" : control ? "$'" : "'";
  at += (size_t)snprintf(text + at, room - at, "%s%s", at ? " " : "", quote);
  for (const char *c = word; *c && at + 1 < room; c++)
    if (*c == '\'' || (control && *c == '\\'))
      at += (size_t)snprintf(text + at, room - at, control ? "\\%c" : "'\\%c'", *c);
    else
      at += (size_t)snprintf(text + at, room - at, control && is_control(*c) ? "\\%03o" : "%c", (unsigned char)*c);
  if (!plain && at + 1 < room) snprintf(text + at, room - at, "'");
  return text;
}

size_t cli_help_length(const char *help) {
  const char *standard = strstr(help, " (default");
  return standard ? (size_t)(standard - help) : strlen(help);
}

#define LONGEST_WORD 31

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The fewest insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string alignment).
 * Words longer than LONGEST_WORD are far from everything. */
static size_t edit_distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b), cost[LONGEST_WORD + 1][LONGEST_WORD + 1];
  if (n > LONGEST_WORD || m > LONGEST_WORD) return SIZE_MAX;
  for (size_t i = 0; i <= n; i++)
    for (size_t j = 0; j <= m; j++) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      size_t replaced = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      cost[i][j] = least(replaced, least(cost[i - 1][j], cost[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[n][m];
}

void cli_guess_consider(cli_guess *guess, const char *candidate) {
  size_t length = strlen(guess->word), limit = length < 6 ? 1 : length / 3;
  size_t distance = edit_distance(guess->word, candidate);
  if (length > 1 && strncmp(guess->word, candidate, length) == 0) distance = least(distance, 1);
  if (distance > limit || (guess->best && distance >= guess->distance)) return;
  guess->best = candidate;
  guess->distance = distance;
}
