/* Parses the words of every subcommand, and prints its help, from the same table of options. */
#include "cli/command.h"
#include "cli/settings.h"
#include "cli/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const cli_option help_option = {.name = "help", .kind = CLI_FLAG, .help = "show this help"};

const cli_option *cli_option_at(const cli_command *self, size_t i) {
  size_t own = 0;
  while (self->options && self->options[own].name) own++;
  return i < own ? &self->options[i] : i == own ? &help_option : NULL;
}

static const cli_option *find_option(const cli_command *self, const char *name, size_t length) {
  const cli_option *option;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++)
    if (option->role == CLI_OPTION && strncmp(option->name, name, length) == 0 && !option->name[length]) return option;
  return NULL;
}

static const cli_option *find_operand(const cli_command *self, size_t index) {
  const cli_option *option;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++)
    if (option->role != CLI_OPTION && (index-- == 0 || option->kind == CLI_WORDS)) return option;
  return NULL;
}

static const char *dashes(const cli_option *option) { return option->role == CLI_OPTION ? "--" : ""; }

/* Names that other programs use for Mica's options. */
static const struct {
  const char *typed, *ours;
} foreign[] = {
#define FOREIGN(typed, ours) {typed, ours},
#include "cli/foreign.def"
#undef FOREIGN
};

static bool takes(const cli_command *self, const char *name) {
  const size_t length = strlen(name);
  return find_option(self, name, length) || (self->settings_at && cli_setting_find(name, length));
}

/* True if a word is "--name" or "--name=value" of an option that the command takes. */
static bool is_option(const cli_command *self, const char *word) {
  if (!word || strncmp(word, "--", 2) != 0 || !word[2]) return false;
  const size_t length = strcspn(word + 2, "=");
  return find_option(self, word + 2, length) || (self->settings_at && cli_setting_find(word + 2, length));
}

/* Prints that an option has no value. next: the word after it, if that is an option too; else NULL. */
static cli_parsed lacks_value(const cli_command *self, const char *name, const char *hint, const char *next) {
  if (next)
    cli_fail(self, "--%s needs a value: --%s %s; %s is an option (--%s=%s, if it is meant as the value)", name, name,
             hint, next, name, next);
  else
    cli_fail(self, "--%s needs a value: --%s %s", name, name, hint);
  return CLI_PARSED_WRONG;
}

/* The command's option that corresponds to the option `typed` of another program; NULL if there is no such option. */
static const char *find_foreign(const cli_command *self, const char *typed) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (!strcmp(foreign[i].typed, typed) && takes(self, foreign[i].ours)) return foreign[i].ours;
  return NULL;
}

static cli_parsed wrong_option(const cli_command *self, const char *name, size_t length) {
  char typed[64];
  snprintf(typed, sizeof typed, "%.*s", (int)length, name);
  cli_guess guess = {.word = typed, .best = find_foreign(self, typed)};
  const cli_option *option;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++)
    if (option->role == CLI_OPTION) cli_guess_consider(&guess, option->name);
  const mica_setting_row *row;
  for (size_t i = 0; self->settings_at && (row = cli_setting_at(i, NULL)); i++)
    if (cli_setting_listed(self, row)) cli_guess_consider(&guess, row->name);
  if (guess.best)
    cli_fail(self, "there is no option --%s; did you mean --%s?", typed, guess.best);
  else
    cli_fail(self, "there is no option --%s; mica %s --help lists the options", typed, self->name);
  return CLI_PARSED_WRONG;
}

static cli_parsed store_choice(const cli_command *self, const cli_option *option, const char *text, int *field) {
  cli_guess guess = {.word = text};
  for (int i = 0; option->choices[i].name; i++) {
    if (option->choices[i].help) cli_guess_consider(&guess, option->choices[i].name);
    if (strcmp(option->choices[i].name, text)) continue;
    *field = i;
    return CLI_PARSED;
  }
  if (guess.best)
    cli_fail(self, "%s%s cannot be \"%s\"; did you mean %s?", dashes(option), option->name, text, guess.best);
  else
    cli_fail(self, "%s%s cannot be \"%s\"; mica %s --help lists the possible values", dashes(option), option->name,
             text, self->name);
  return CLI_PARSED_WRONG;
}

/* Adds a text to a list. The list has no memory of its own: it begins at the word of its first text, in argv, and later
 * texts overwrite the following words, which have been parsed already. */
static void add_word(char **word, const char *text, cli_words *list) {
  if (list->count == 0) list->words = word;
  list->words[list->count++] = (char *)text;
}

static cli_parsed doubled(const cli_command *self, const char *name, const char *first, const char *second) {
  cli_fail(self, "--%s is given twice: %s and %s", name, first, second);
  return CLI_PARSED_WRONG;
}

/* Stores a text in its field. word: the element of argv that is the text, or the option whose value the text is. */
static cli_parsed store(const cli_command *self, const cli_option *option, char **word, const char *text,
                        void *values) {
  void *field = (char *)values + option->at;
  switch (option->kind) {
  case CLI_FLAG: *(bool *)field = true; return CLI_PARSED;
  case CLI_TEXT:
    if (*(const char **)field) return doubled(self, option->name, *(const char **)field, text);
    if (!*text && !option->blank) {
      cli_fail(self, "%s%s is empty", dashes(option), option->name);
      return CLI_PARSED_WRONG;
    }
    *(const char **)field = text;
    return CLI_PARSED;
  case CLI_CHOICE:
    if (*(int *)field >= 0) return doubled(self, option->name, option->choices[*(int *)field].name, text);
    return store_choice(self, option, text, field);
  case CLI_WORDS: add_word(word, text, field); return CLI_PARSED;
  }
  return CLI_PARSED_WRONG;
}

/* Stores a setting; the library checks its value. */
static cli_parsed parse_setting(const cli_command *self, const mica_setting_row *setting, const char *value,
                                const char *next, bool *used_next, void *values) {
  cli_settings *settings = (cli_settings *)((char *)values + self->settings_at);
  const bool flag = setting->kind == MICA_SETTING_KIND_FLAG;
  if (flag && value) {
    cli_fail(self, "--%s takes no value", setting->name);
    return CLI_PARSED_WRONG;
  }
  *used_next = !flag && !value && next;
  if (!flag && !value && (!next || is_option(self, next))) return lacks_value(self, setting->name, setting->hint, next);
  if (!flag && !*(value ? value : next)) {
    cli_fail(self, "--%s is empty", setting->name);
    return CLI_PARSED_WRONG;
  }
  for (size_t i = 0; !flag && i < settings->count; i++)
    if (!strcmp(settings->list[i].name, setting->name))
      return doubled(self, setting->name, settings->list[i].value, value ? value : next);
  if (settings->count == CLI_MOST_SETTINGS) {
    cli_fail(self, "there are more than %d settings; leave some out", CLI_MOST_SETTINGS);
    return CLI_PARSED_WRONG;
  }
  settings->list[settings->count++] = (mica_setting){setting->name, flag ? "true" : value ? value : next};
  return CLI_PARSED;
}

/* Parses *word, "--name" or "--name=value". next: the word after it, or NULL. *used_next becomes true if that word is
 * the value. */
static cli_parsed parse_option(const cli_command *self, char **word, const char *next, bool *used_next, void *values) {
  const char *name = *word + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  const cli_option *option = find_option(self, name, length);
  *used_next = false;
  const mica_setting_row *setting = self->settings_at && !option ? cli_setting_find(name, length) : NULL;
  if (setting) return parse_setting(self, setting, equals ? equals + 1 : NULL, next, used_next, values);
  if (!option) return wrong_option(self, name, length);
  if (option->kind == CLI_FLAG) {
    if (!equals) return option == &help_option ? CLI_PARSED_HELP : store(self, option, word, NULL, values);
    cli_fail(self, "--%s takes no value", option->name);
    return CLI_PARSED_WRONG;
  }
  if (equals) return store(self, option, word, equals + 1, values);
  if (!next || is_option(self, next)) return lacks_value(self, option->name, option->value, next);
  *used_next = true;
  return store(self, option, word, next, values);
}

cli_parsed cli_parse(const cli_command *self, int count, char **words, void *values) {
  const cli_option *option;
  size_t operands = 0;
  bool only_operands = false;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++)
    if (option->kind == CLI_CHOICE) *(int *)((char *)values + option->at) = -1;
  for (int i = 0; i < count; i++) {
    cli_parsed parsed = CLI_PARSED;
    if (!only_operands && strcmp(words[i], "--") == 0) {
      only_operands = true;
    } else if (!only_operands && strcmp(words[i], "-h") == 0) {
      parsed = CLI_PARSED_HELP;
    } else if (!only_operands && strncmp(words[i], "--", 2) == 0) {
      bool used_next = false;
      parsed = parse_option(self, &words[i], i + 1 < count ? words[i + 1] : NULL, &used_next, values);
      i += used_next;
    } else if (!(option = find_operand(self, operands++))) {
      if (!only_operands && words[i][0] == '-' && words[i][1])
        cli_fail(self, "there is no option %s; mica %s --help lists the options", words[i], self->name);
      else if (words[i][0] != '-' && find_option(self, "data", 4))
        cli_fail(self, "\"%s\" is one word too many; did you mean --data %s?", words[i], words[i]);
      else
        cli_fail(self, "\"%s\" is one word too many; mica %s --help shows the usage", words[i], self->name);
      parsed = CLI_PARSED_WRONG;
    } else {
      parsed = store(self, option, &words[i], words[i], values);
    }
    if (parsed != CLI_PARSED) return parsed;
  }
  option = find_operand(self, operands);
  if (!option || option->role == CLI_OPTIONAL_OPERAND) return CLI_PARSED;
  cli_fail(self, "%s is missing; mica %s --help shows the usage", option->name, self->name);
  return CLI_PARSED_WRONG;
}

static bool is_required(const cli_option *option) {
  static const char end[] = "(required)";
  const size_t length = option->help ? strlen(option->help) : 0;
  return length >= sizeof end && !strcmp(option->help + length - (sizeof end - 1), end);
}

/* Writes an option as the usage line shows it: "[--json]", or "--out DIR" without brackets if it is required; "" if the
 * option is hidden. */
static void write_usage(const cli_option *option, char text[64]) {
  *text = '\0';
  if (option->role == CLI_OPERAND)
    snprintf(text, 64, "%s", option->name);
  else if (option->role == CLI_OPTIONAL_OPERAND)
    snprintf(text, 64, "[%s%s]", option->name, option->kind == CLI_WORDS ? "..." : "");
  else if (option->kind == CLI_FLAG && !option->hidden)
    snprintf(text, 64, "[--%s]", option->name);
  else if (!option->hidden)
    snprintf(text, 64, is_required(option) ? "--%s %s" : "[--%s %s]", option->name, option->value);
}

/* Prints a word after the `*column` columns that the line has already. If the line would become longer than 80 columns,
 * prints the word on the next line, `indent` columns from the left. */
static void print_word(const char *word, int indent, int *column) {
  if (!*word) return;
  if (*column + 1 + (int)strlen(word) > 80) *column = printf("\n%*s", indent, "") - 1;
  *column += printf(" %s", word);
}

static void print_usage(const cli_command *self) {
  const int indent = printf("usage: mica %s", self->name);
  const cli_option *option;
  char text[64];
  int column = indent;
  for (size_t i = 0; (option = cli_option_at(self, i)); i++) {
    write_usage(option, text);
    print_word(text, indent, &column);
  }
  if (self->settings_at) print_word("[SETTING]...", indent, &column);
  putchar('\n');
}

/* Prints text after the `column` columns that the line has already, then from column 24 on, in lines of 80 columns,
 * broken at spaces. */
static void print_wrapped(const char *text, int column) {
  bool first = true;
  while (*text) {
    const size_t length = strcspn(text, " ");
    const int word = (int)length;
    if (!first && column + 1 + word > 80)
      column = printf("\n%24s", "") - 1;
    else if (!first)
      column += printf(" ");
    column += printf("%.*s", word, text);
    first = false;
    text += length + strspn(text + length, " ");
  }
  putchar('\n');
}

/* Prints an option's help after the `column` columns of its name, then the names of its values, then the default: the
 * one that the help ends with, else `value`. */
static void print_row(const char *help, const char *(*names)(size_t), const char *value, int column) {
  char text[2048];
  const size_t length = cli_help_length(help);
  size_t at = (size_t)snprintf(text, sizeof text, "%.*s", (int)length, help);
  for (size_t n = 0; names && names(n) && at < sizeof text; n++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", n ? ", " : ": ", names(n));
  if (at < sizeof text && help[length])
    snprintf(text + at, sizeof text - at, "%s", help + length);
  else if (at < sizeof text && value && *value)
    snprintf(text + at, sizeof text - at, " (default %s)", value);
  print_wrapped(text, column);
}

/* Prints the common settings for which the task has other defaults, with these defaults, and those whose values it
 * chooses automatically. */
static void print_defaults(const char *task) {
  char text[1024];
  size_t at = 0;
  bool chosen = false;
  for (const mica_setting *s = mica_task_defaults(task); s && s->name && at < sizeof text; s++)
    if (*s->value) at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s", at ? ", " : "", s->name, s->value);
  for (const mica_setting *s = mica_task_defaults(task); s && s->name && at < sizeof text; s++) {
    if (*s->value) continue;
    const char *before = chosen ? ", " : at ? "; chosen automatically: " : "chosen automatically: ";
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", before, s->name);
    chosen = true;
  }
  if (!at) return;
  print_wrapped(text, printf("  %-20s  ", "by default"));
}

static void print_networks(const char *task) {
  char text[1024];
  size_t at = 0;
  for (size_t i = 0; mica_task_network(task, i) && at < sizeof text; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "", mica_task_network(task, i));
  if (!at) return;
  print_wrapped(text, printf("  %-20s  ", "networks"));
}

/* Prints the help of a setting, with or without its default. */
static void print_setting(const mica_setting_row *row, bool defaults) {
  char left[64], text[1024];
  snprintf(left, sizeof left, "--%s %s", row->name, row->hint);
  const int column = printf("  %-20s  ", left);
  snprintf(text, sizeof text, "%.*s", (int)(defaults ? strlen(row->text) : cli_help_length(row->text)), row->text);
  print_row(text, row->names, defaults && row->kind != MICA_SETTING_KIND_FLAG ? row->value : NULL, column);
}

/* Prints the settings that all tasks have in common, then the settings of the task `only` (NULL: of each task in turn).
 */
static void print_settings(const cli_command *self, const char *only) {
  const char *task = NULL, *last = "";
  const mica_setting_row *row;
  bool begun = false;
  for (size_t i = 0; (row = cli_setting_at(i, &task)); i++) {
    if (task && only && strcmp(task, only) != 0) continue;
    if (!cli_setting_listed(self, row)) continue;
    if (!begun) printf("\nSettings of the run, kept in its config.json:\n");
    begun = true;
    if (task && strcmp(task, last) != 0) {
      printf("\nSettings of the task %s:\n", task);
      if (!self->of_run) print_defaults(task);
      if (!self->of_run) print_networks(task);
    }
    last = task ? task : "";
    print_setting(row, !self->of_run);
  }
}

/* The task of that name, or NULL. */
static const char *known_task(const char *name) {
  for (size_t i = 0; name && mica_task_name(i); i++)
    if (!strcmp(mica_task_name(i), name)) return mica_task_name(i);
  return NULL;
}

void cli_print_help(const cli_command *self, const char *task) {
  const cli_option *option;
  print_usage(self);
  printf("\n%c%s.\n", toupper((unsigned char)self->summary[0]), self->summary + 1);
  if (self->details) printf("%s", self->details);
  putchar('\n');
  for (size_t i = 0; (option = cli_option_at(self, i)); i++) {
    char left[64];
    if (option->hidden) continue;
    snprintf(left, sizeof left, "%s%s %s", dashes(option), option->name, option->value ? option->value : "");
    print_row(option->help, option->names, NULL, printf("  %-20s  ", left));
    for (const cli_choice *choice = option->choices; choice && choice->help; choice++) {
      print_wrapped(choice->help, printf("    %-18s  ", choice->name));
    }
  }
  if (self->settings_at) print_settings(self, known_task(task));
}
