/* cli/command.h: the subcommands of `mica`: their table, the parser of their words, their help, error messages, and
 * checks of paths.
 *
 * A new subcommand is a file src/cli/cmd_<name>.c that defines cli_command_<name>, and a row of cli/commands.def. Its
 * options are rows of a table: the parser fills a struct from them and --help is written from them, so that the two
 * always agree. */
#ifndef MICA_CLI_COMMAND_H
#define MICA_CLI_COMMAND_H

#include <mica/run.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130 };

/* The path of this program's own executable, to start it as another process. */
#define CLI_ITSELF "/proc/self/exe"

typedef enum cli_kind {
  CLI_FLAG,   /* bool: true when given */
  CLI_TEXT,   /* const char *: the value as typed; NULL when not given */
  CLI_CHOICE, /* int: index of the choice; -1 when not given */
  /* cli_words: this and all later operands, or all values of a repeated option. The list lies in argv (add_word in
   * parse.c), so values of two such options must not alternate. */
  CLI_WORDS,
} cli_kind;

/* Words of the command line. */
typedef struct cli_words {
  char **words;
  size_t count;
} cli_words;

typedef enum cli_role {
  CLI_OPTION,           /* --name, --name VALUE or --name=VALUE */
  CLI_OPERAND,          /* a word without dashes, in the order of the table */
  CLI_OPTIONAL_OPERAND, /* an operand that may be left out */
} cli_role;

typedef struct cli_choice {
  const char *name;
  const char *help; /* NULL: for internal use and not shown in help; put such choices last */
} cli_choice;

typedef struct cli_option {
  const char *name; /* option: without dashes; operand: in capitals, as help shows it */
  cli_kind kind;
  size_t at; /* offset of the field in the command's struct of values */
  cli_role role;
  const char *value; /* the name of the value in help: "SELECTOR" */
  const char *help;
  const cli_choice *choices; /* ends with a row of zeros */
  /* Possible values of the option, from a table of the library; NULL after the last one. Help lists them. */
  const char *(*names)(size_t index);
  bool hidden; /* not shown in help: for internal use */
  bool blank;  /* the value of a CLI_TEXT option may be an empty string */
} cli_option;

/* CLI_ROW("json", struct values, json, .help = "write JSON"): the type of the field determines the kind. */
#define CLI_ROW(name_, type, field, ...)                                                                               \
  { .name = (name_), .kind = CLI_KIND_OF(((type *)0)->field), .at = offsetof(type, field), __VA_ARGS__ }
#define CLI_KIND_OF(field)                                                                                             \
  _Generic((field), bool : CLI_FLAG, const char * : CLI_TEXT, int : CLI_CHOICE, cli_words : CLI_WORDS)

/* The option --device, for a struct `type` with the field `device`. */
#define CLI_DEVICE_ROW(type)                                                                                           \
  CLI_ROW("device", type, device, .value = "SELECTOR",                                                                 \
          .help = "device to use: gpu, cpu, an id such as 0:1, or part of a name (default: MICA_DEVICE, else the "     \
                  "fastest GPU, else the CPU)")

/* Settings of a run, as typed: options from the library's tables (cli/settings.h). */
#define CLI_MOST_SETTINGS 96
typedef struct cli_settings {
  mica_setting list[CLI_MOST_SETTINGS];
  size_t count;
} cli_settings;

typedef struct cli_command cli_command;
struct cli_command {
  const char *name;
  const char *summary;       /* one line, for the list of commands */
  const char *details;       /* paragraphs for --help that end with a newline, or NULL */
  const cli_option *options; /* ends with a row of zeros; NULL when there are none */
  size_t values_size;        /* of the struct that the options fill; 0: no options */
  size_t settings_at;        /* offset of a cli_settings in the struct; 0: the command takes no settings */
  /* The settings belong to an existing run, which keeps its structure (mica_setting_row.structure): help lists the
   * other settings, without their defaults. */
  bool of_run;
  /* values is the struct that the options fill. Returns an exit status; on failure cli_fail has printed a message. */
  int (*run)(const cli_command *self, const void *values);
};

/* All commands, then NULL. */
extern const cli_command *const cli_commands[];

/* The command of that name, or NULL. */
const cli_command *cli_command_find(const char *name);

/* Says that there is no command (or option) with the typed name, and suggests the nearest command, or mica train if the
 * name is a task's. Returns CLI_USAGE. */
int cli_fail_unknown(const cli_command *self, const char *typed);

/* Result of cli_parse. CLI_PARSED: values is filled. CLI_PARSED_HELP: --help was given. CLI_PARSED_WRONG: the words are
 * wrong, and a message was printed. */
typedef enum cli_parsed { CLI_PARSED, CLI_PARSED_HELP, CLI_PARSED_WRONG } cli_parsed;
/* Fills values (self->values_size zeroed bytes) from the words that follow the command's name. */
cli_parsed cli_parse(const cli_command *self, int count, char **words, void *values);

/* Writes the help of one command. task: only the settings of that task; NULL: all settings. */
void cli_print_help(const cli_command *self, const char *task);

/* Writes "mica NAME: <sentence>" and a newline to stderr, with control characters as "?"; self NULL leaves the name
 * out. Writes nothing after cli_fail_silently. Returns CLI_FAILED. */
int cli_fail(const cli_command *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says why a path is not a published model: it does not exist, is empty, or is something else. Returns CLI_FAILED. */
int cli_fail_published(const cli_command *self, const char *path);
/* Stops error messages of this thread from now on: another rank prints them. */
void cli_fail_silently(void);
/* Refuses to overwrite a file. Returns CLI_OK if path does not exist, or is a device or a pipe, to which one can write
 * without replacing it; else CLI_FAILED, after a message. other: the message's advice, such as "choose another
 * folder with --out". */
int cli_refuse_file(const cli_command *self, const char *path, const char *other);
/* Refuses a path with the ending of a picture format that Mica does not write, such as .jpg or .gif. Returns CLI_USAGE
 * after a message, else CLI_OK. path may be NULL. */
int cli_refuse_picture(const cli_command *self, const char *path);
/* Checks that a file can be written before it is written. Returns CLI_OK if the nearest existing folder above path
 * permits new files, or if path is a device or a pipe that can be written to; else CLI_FAILED, after a message. */
int cli_check_parent(const cli_command *self, const char *path);

/* cli_fail with the library's last message. */
int cli_fail_library(const cli_command *self);

/* True if a folder has that name. */
bool cli_is_folder(const char *path);

/* Option number index: the command's own come first, then --help; NULL past the end. */
const cli_option *cli_option_at(const cli_command *self, size_t index);

#endif
