/* cli/search.h: options of the search that turns the scores of a speech run into text, shared by several commands. */
#ifndef MICA_CLI_SEARCH_H
#define MICA_CLI_SEARCH_H

#include "cli/command.h"

typedef struct cli_search {
  const char *beam, *text_model, *order, *weight, *bonus;
} cli_search;

/* Rows of the options except --beam, for a struct `type` with a cli_search called search. */
#define CLI_SEARCH_ROWS(type)                                                                                          \
  CLI_ROW("text-model", type, search.text_model, .value = "FILE",                                                      \
          .help = "speech: n-gram model of words or letters in ARPA format, or a plain text to make one from"),        \
      CLI_ROW("text-order", type, search.order, .value = "N",                                                          \
              .help = "speech: letters per n-gram, if --text-model is a plain text (default 6)"),                      \
      CLI_ROW("text-weight", type, search.weight, .value = "A",                                                        \
              .help = "speech: weight of the text model's log probabilities (default 0.5)"),                           \
      CLI_ROW("text-bonus", type, search.bonus, .value = "B",                                                          \
              .help = "speech: score added per letter, against short texts (default 0)")

/* Parses the values of the options, as typed, into search. Returns an exit status. */
int cli_take_search(const cli_command *self, const cli_search *typed, mica_text_search *search);

#endif
