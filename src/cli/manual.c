#include "cli/manual.h"

#include "cli/settings.h"

#include <mica/version.h>
#include <stdio.h>
#include <string.h>

/* An option of a command, whichever table it comes from. */
typedef struct option {
  const char *name, *value, *help;
  const char *(*names)(size_t index); /* of its values; NULL: any */
  const cli_choice *choices;
  const char *task; /* whose setting it is; NULL: the command's, or of all tasks */
} option;

/* The options of a command at index: its own, then the settings that it takes. False past the end. */
static bool option_at(const cli_command *command, size_t index, option *out) {
  const cli_option *own;
  for (size_t i = 0; (own = cli_option_at(command, i)); i++) {
    if (own->role != CLI_OPTION || own->hidden || index-- > 0) continue;
    *out = (option){own->name, own->kind == CLI_FLAG ? NULL : own->value, own->help, own->names, own->choices, NULL};
    return true;
  }
  const char *task = NULL;
  const mica_setting_row *row = command->settings_at ? cli_setting_at(index, &task) : NULL;
  if (!row) return false;
  *out = (option){.name = row->name,
                  .value = row->kind == MICA_SETTING_KIND_FLAG ? NULL : row->hint,
                  .help = row->text,
                  .names = row->names,
                  .task = task};
  return true;
}

/* --- the manual --- */

/* Text in roff: a hyphen is a minus sign, a backslash is printed, a line does not begin with a dot or a quote. */
static void roff(const char *text) {
  bool first = true;
  for (; *text; text++) {
    if (first && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    if (*text == '\\')
      fputs("\\e", stdout);
    else if (*text == '-')
      fputs("\\-", stdout);
    else
      putchar(*text);
    first = *text == '\n';
  }
}

static void roff_names(const option *o) {
  for (size_t i = 0; o->names && o->names(i); i++) {
    fputs(i ? ", " : ": ", stdout);
    roff(o->names(i));
  }
  for (const cli_choice *choice = o->choices; choice && choice->name; choice++) {
    fputs(choice == o->choices ? ": " : ", ", stdout);
    roff(choice->name);
  }
}

static void man_command(const cli_command *command) {
  option o;
  const cli_option *operand;
  const char *task = NULL;
  printf(".SS mica %s", command->name);
  for (size_t i = 0; (operand = cli_option_at(command, i)); i++)
    if (operand->role != CLI_OPTION) printf(operand->role == CLI_OPERAND ? " %s" : " [%s]", operand->name);
  fputs("\n", stdout);
  roff(command->summary);
  puts(".");
  if (command->details) {
    puts(".PP");
    roff(command->details + strspn(command->details, "\n"));
  }
  for (size_t i = 0; option_at(command, i, &o); i++) {
    if (o.task && (!task || strcmp(task, o.task) != 0)) printf(".PP\nSettings of the task %s:\n", o.task);
    task = o.task;
    fputs(".TP\n\\fB\\-\\-", stdout);
    roff(o.name);
    printf("\\fR%s%s%s\n", o.value ? " \\fI" : "", o.value ? o.value : "", o.value ? "\\fR" : "");
    roff(o.help);
    roff_names(&o);
    puts("");
  }
}

void cli_print_man(void) {
  printf(".TH MICA 1 \"\" \"mica %s\" \"User Commands\"\n.SH NAME\nmica \\- portable deep learning on OpenCL\n",
         mica_version());
  puts(".SH SYNOPSIS\n.B mica\n\\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n.SH COMMANDS");
  for (const cli_command *const *command = cli_commands; *command; command++) man_command(*command);
  puts(".SH EXIT STATUS\n0 for success, 1 for failure, 2 for a mistyped command, 130 for a run that ctrl\\-C stopped.");
}

/* --- completions --- */

/* s for a shell, between single quotes. */
static void quoted(const char *s) {
  putchar('\'');
  for (; *s; s++)
    if (*s == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*s);
  putchar('\'');
}

static void list_values(const option *o) {
  for (size_t i = 0; o->names && o->names(i); i++) printf("%s%s", i ? " " : "", o->names(i));
  for (const cli_choice *choice = o->choices; choice && choice->name; choice++)
    printf("%s%s", choice == o->choices ? "" : " ", choice->name);
}

static void bash_command(const cli_command *command) {
  option o;
  printf("  %s)\n    case $prev in\n", command->name);
  for (size_t i = 0; option_at(command, i, &o); i++) {
    if (!o.names && !o.choices) continue;
    printf("    --%s) COMPREPLY=($(compgen -W '", o.name);
    list_values(&o);
    puts("' -- \"$cur\")); return ;;");
  }
  fputs("    esac\n    words='", stdout);
  for (size_t i = 0; option_at(command, i, &o); i++) printf("--%s ", o.name);
  puts("' ;;");
}

static void print_bash(void) {
  puts("_mica() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
       "  case ${COMP_CWORD:-0} in 1)");
  fputs("    COMPREPLY=($(compgen -W '", stdout);
  for (const cli_command *const *command = cli_commands; *command; command++) printf("%s ", (*command)->name);
  puts("' -- \"$cur\")); return ;;\n  esac\n  case ${COMP_WORDS[1]} in");
  for (const cli_command *const *command = cli_commands; *command; command++) bash_command(*command);
  puts("  esac\n  case $cur in -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;; esac\n}\n"
       "complete -o default -F _mica mica");
}

static void print_fish(void) {
  option o;
  for (const cli_command *const *command = cli_commands; *command; command++) {
    printf("complete -c mica -n __fish_use_subcommand -a %s -d ", (*command)->name);
    quoted((*command)->summary);
    putchar('\n');
    for (size_t i = 0; option_at(*command, i, &o); i++) {
      printf("complete -c mica -n '__fish_seen_subcommand_from %s' -l %s -d ", (*command)->name, o.name);
      quoted(o.help);
      if (o.value) fputs(" -r", stdout);
      if (o.names || o.choices) {
        fputs(" -f -a '", stdout);
        list_values(&o);
        putchar('\'');
      }
      putchar('\n');
    }
  }
}

bool cli_print_completion(const char *shell) {
  const bool zsh = !strcmp(shell, "zsh");
  if (!strcmp(shell, "fish")) {
    print_fish();
    return true;
  }
  if (!zsh && strcmp(shell, "bash") != 0) return false;
  if (zsh) puts("autoload -U +X bashcompinit && bashcompinit");
  print_bash();
  return true;
}
