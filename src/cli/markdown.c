#include "cli/markdown.h"

#include "cli/manual.h"
#include "cli/settings.h"
#include "cli/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Writes the first `length` characters of a text as a table cell, with Markdown's special characters escaped. */
static void cell_part(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (strchr("|*<_", text[i])) putchar('\\');
    putchar(text[i] == '\n' ? ' ' : text[i]);
  }
}

static void cell(const char *text) { cell_part(text, strlen(text)); }

/* Writes text between backticks, with bars escaped: a bar would end the table's cell. */
static void code(const char *text) {
  putchar('`');
  for (; *text; text++) {
    if (*text == '|') putchar('\\');
    putchar(*text);
  }
  putchar('`');
}

static void names_of(const char *(*names)(size_t)) {
  for (size_t i = 0; names && names(i); i++) {
    fputs(i ? ", " : ": ", stdout);
    code(names(i));
  }
}

static void setting_row(const mica_setting_row *row) {
  char name[96];
  snprintf(name, sizeof name, "--%s%s%s", row->name, row->kind == MICA_SETTING_KIND_FLAG ? "" : " ", row->hint);
  fputs("| ", stdout);
  code(name);
  fputs(" | ", stdout);
  const size_t length = cli_help_length(row->text);
  cell_part(row->text, length);
  names_of(row->names);
  cell(row->text + length);
  if (!row->text[length] && row->kind != MICA_SETTING_KIND_FLAG && *row->value) {
    fputs(" (default ", stdout);
    code(row->value);
    putchar(')');
  }
  puts(" |");
}

static void setting_table(const char *task) {
  puts("| Setting | Meaning |\n| --- | --- |");
  for (const mica_setting_row *row = mica_task_settings(task); row && row->name; row++) setting_row(row);
}

/* Lists the settings with a default of the task's own, those that the run chooses last. */
static void print_defaults(const mica_setting *list) {
  size_t count = 0, chosen = 0;
  for (const mica_setting *s = list; s && s->name; s++)
    if (*s->value) printf("%s`--%s %s`", count++ ? ", " : "", s->name, s->value);
  for (const mica_setting *s = list; s && s->name; s++) {
    if (*s->value) continue;
    fputs(chosen++ ? ", " : count ? "; chosen automatically: " : "chosen automatically: ", stdout);
    printf("`--%s`", s->name);
  }
  if (!count && !chosen) fputs("as there", stdout);
}

static void print_task(const char *task) {
  const mica_task_metric *metrics = mica_task_metrics(task);
  fputs("| Task | |\n| --- | --- |\n| networks (`--model`) | ", stdout);
  for (size_t i = 0; mica_task_network(task, i); i++) {
    if (i) fputs(", ", stdout);
    code(mica_task_network(task, i));
  }
  fputs(" |\n| metrics; the first chooses the best epoch | ", stdout);
  for (size_t i = 0; metrics && metrics[i].name && !metrics[i].minor; i++) {
    if (i) fputs(", ", stdout);
    code(metrics[i].name);
  }
  fputs(" |\n| defaults of [common settings](../cli.md#settings-of-every-task) | ", stdout);
  print_defaults(mica_task_defaults(task));
  puts(" |\n");
  setting_table(task);
}

/* --- all commands --- */

static void option_row(const cli_option *o) {
  char name[96];
  const char *dashes = o->role == CLI_OPTION ? "--" : "";
  snprintf(name, sizeof name, "%s%s%s%s", dashes, o->name, o->value ? " " : "", o->value ? o->value : "");
  fputs("| ", stdout);
  code(name);
  fputs(" | ", stdout);
  const size_t length = cli_help_length(o->help);
  cell_part(o->help, length);
  names_of(o->names);
  for (const cli_choice *choice = o->choices; choice && choice->help; choice++) {
    fputs(choice == o->choices ? ": " : ", ", stdout);
    code(choice->name);
    fputs(" (", stdout);
    cell(choice->help);
    putchar(')');
  }
  cell(o->help + length);
  puts(" |");
}

static void print_command(const cli_command *command) {
  const cli_option *o;
  printf("\n## mica %s\n\n%c%s.\n", command->name, toupper((unsigned char)command->summary[0]), command->summary + 1);
  if (command->details) printf("\n```text\n%s```\n", command->details + strspn(command->details, "\n"));
  puts("\n| Argument | Meaning |\n| --- | --- |");
  for (size_t i = 0; (o = cli_option_at(command, i)); i++)
    if (!o->hidden) option_row(o);
  if (!command->settings_at) return;
  puts("\nFurther arguments are the [settings of every task](#settings-of-every-task) and the settings of one task:");
  for (size_t i = 0; mica_task_name(i); i++)
    printf("%s[%s](tasks/%s.md)%s", i % 4 ? " " : "\n", mica_task_name(i), mica_task_name(i),
           mica_task_name(i + 1) ? "," : ".\n");
}

static void print_commands(void) {
  puts("# Commands\n\n`mica COMMAND --help` prints the same.\n\n| Command | Does |\n| --- | --- |");
  for (const cli_command *const *command = cli_commands; *command; command++)
    printf("| [`mica %s`](#mica-%s) | %s |\n", (*command)->name, (*command)->name, (*command)->summary);
  puts("\nThe exit status is 0 for success, 1 for failure, 2 for a mistyped command and 130 for a run that ctrl-C "
       "stopped.\n\n## Environment\n\n| Variable | Meaning |\n| --- | --- |");
  for (const cli_variable *variable = cli_variables; variable->name; variable++) {
    printf("| `%s` | ", variable->name);
    cell(variable->meaning);
    puts(" |");
  }
  for (const cli_command *const *command = cli_commands; *command; command++) print_command(*command);
  puts("\n## Settings of every task\n");
  setting_table(NULL);
}

bool cli_print_markdown(const char *page) {
  if (!strcmp(page, "commands")) {
    print_commands();
    return true;
  }
  for (size_t i = 0; mica_task_name(i); i++)
    if (!strcmp(page, mica_task_name(i))) {
      print_task(page);
      return true;
    }
  return false;
}
