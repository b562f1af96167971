#include "cli/manual.h"

#include "cli/settings.h"
#include "cli/text.h"

#include <mica/version.h>
#include <stdio.h>
#include <string.h>

/* An option of a command: a row of its table of options, or a setting of runs. */
typedef struct option {
  const char *name, *value, *help;
  const char *(*names)(size_t index); /* names of its values; NULL: any value */
  const cli_choice *choices;
  const char *task; /* the task of a setting; NULL: an option of the command, or a setting of all tasks */
  /* The default of a setting; "" if its help says the default or it has no default. NULL: an option of the command. */
  const char *standard;
} option;

/* Finds option number `index` of a command. The options of the command come first, then the settings of runs if it
 * takes them. False past the end. */
static bool option_at(const cli_command *command, size_t index, option *out) {
  const cli_option *own;
  for (size_t i = 0; (own = cli_option_at(command, i)); i++) {
    if (own->role != CLI_OPTION || own->hidden || index-- > 0) continue;
    *out = (option){.name = own->name,
                    .value = own->kind == CLI_FLAG ? NULL : own->value,
                    .help = own->help,
                    .names = own->names,
                    .choices = own->choices};
    return true;
  }
  const char *task = NULL;
  const mica_setting_row *row = NULL;
  for (size_t i = 0; command->settings_at && (row = cli_setting_at(i, &task)); i++)
    if (cli_setting_listed(command, row) && index-- == 0) break;
  if (!row) return false;
  *out = (option){.name = row->name,
                  .value = row->kind == MICA_SETTING_KIND_FLAG ? NULL : row->hint,
                  .help = row->text,
                  .names = row->names,
                  .task = task,
                  .standard = row->kind == MICA_SETTING_KIND_FLAG ? "" : row->value};
  return true;
}

/* --- the manual --- */

/* Writes text in roff: hyphens as minus signs, backslashes escaped, no dot or quote at the beginning of a line. */
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

/* Writes paragraphs of help: blank lines separate them; lists, which are indented, keep their lines. */
static void roff_paragraphs(const char *text) {
  bool list = false;
  for (const char *end; *text; text = end) {
    char line[256];
    end = text + strcspn(text, "\n");
    snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
    if (*end) end++;
    const bool indented = line[0] == ' ';
    if (indented != list) puts(indented ? ".PP\n.nf" : ".fi\n.PP");
    list = indented;
    if (!*line) {
      puts(".PP");
      continue;
    }
    roff(line);
    putchar('\n');
  }
  if (list) puts(".fi");
}

static void roff_names(const option *o) {
  for (size_t i = 0; o->names && o->names(i); i++) {
    fputs(i ? ", " : ": ", stdout);
    roff(o->names(i));
  }
  for (const cli_choice *choice = o->choices; choice && choice->help; choice++) {
    fputs(choice == o->choices ? ": " : ", ", stdout);
    roff(choice->name);
  }
}

/* Writes the help of an option, the names of its values and, if `defaults` is set, its default. */
static void roff_meaning(const option *o, bool defaults) {
  char head[1024];
  const size_t length = cli_help_length(o->help);
  snprintf(head, sizeof head, "%.*s", (int)length, o->help);
  roff(head);
  roff_names(o);
  if (defaults && o->help[length]) {
    roff(o->help + length);
  } else if (defaults && o->standard && *o->standard) {
    fputs(" (default ", stdout);
    roff(o->standard);
    putchar(')');
  }
  puts("");
}

static void man_task(const char *task) {
  printf(".PP\nSettings of the task %s, which trains the networks", task);
  for (size_t i = 0; mica_task_network(task, i); i++) printf(i ? ", %s" : " %s", mica_task_network(task, i));
  puts(":");
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
    roff_paragraphs(command->details + strspn(command->details, "\n"));
  }
  for (size_t i = 0; option_at(command, i, &o); i++) {
    if (o.task && (!task || strcmp(task, o.task) != 0)) man_task(o.task);
    task = o.task;
    fputs(".TP\n\\fB\\-\\-", stdout);
    roff(o.name);
    printf("\\fR%s%s%s\n", o.value ? " \\fI" : "", o.value ? o.value : "", o.value ? "\\fR" : "");
    roff_meaning(&o, !command->of_run || !o.standard);
  }
}

static const char after_variables[] =
    ".SH FILES\n"
    ".TP\n.I ~/.cache/mica\nCompiled kernels, if neither MICA_CACHE_DIR nor XDG_CACHE_HOME is set.\n"
    ".TP\n.I RUN/config.json\nSettings of a run, and what training learnt of its data.\n"
    ".TP\n.I RUN/model.safetensors\nThe weights that are kept, usually of the best epoch.\n"
    ".TP\n.I RUN/report.html\nCurves, metrics and the worst mistakes.\n"
    ".SH EXAMPLES\n"
    ".nf\nmica train \\-\\-data fashion\\-mnist \\-\\-model cnn \\-\\-epochs 2 \\-\\-out fashion\n"
    "mica predict \\-\\-model fashion shoe.png\n"
    "mica train \\-\\-data prices.csv \\-\\-task regress \\-\\-label price \\-\\-out prices\n"
    "mica run model.onnx \\-\\-input x=x.npy \\-\\-out results\n.fi\n"
    ".SH SEE ALSO\n.BR clinfo (1)\n";

void cli_print_man(void) {
  printf(".TH MICA 1 \"\" \"mica %s\" \"User Commands\"\n.SH NAME\nmica \\- portable deep learning on OpenCL\n",
         mica_version());
  puts(".SH SYNOPSIS\n.B mica\n\\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n.SH COMMANDS");
  for (const cli_command *const *command = cli_commands; *command; command++) man_command(*command);
  puts(".SH EXIT STATUS\n0 for success, 1 for failure, 2 for a mistyped command, 130 for a run that ctrl\\-C stopped.");
  puts(".SH ENVIRONMENT");
  for (const cli_variable *variable = cli_variables; variable->name; variable++) {
    printf(".TP\n.B %s\n", variable->name);
    roff(variable->meaning);
    puts("");
  }
  fputs(after_variables, stdout);
}

/* --- completions --- */

/* Writes s for a shell, in single quotes. */
static void quoted(const char *s) {
  putchar('\'');
  for (; *s; s++)
    if (*s == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*s);
  putchar('\'');
}

/* The name of the value at index; NULL past the last. */
static const char *value_at(const option *o, size_t index) {
  if (o->names) return o->names(index);
  for (size_t i = 0; o->choices && o->choices[i].help; i++)
    if (i == index) return o->choices[i].name;
  return NULL;
}

/* The index of a command's first option with this name. */
static size_t first_of(const cli_command *command, const char *name) {
  option o;
  size_t i = 0;
  while (option_at(command, i, &o) && strcmp(o.name, name) != 0) i++;
  return i;
}

static bool has_value(const option *o, const char *value) {
  for (size_t i = 0; value_at(o, i); i++)
    if (!strcmp(value_at(o, i), value)) return true;
  return false;
}

/* Prints the possible values of all options with this name, each value once. Several settings can share a name: --loss,
 * for example, has other values in each task. False if there are no values. */
static bool list_values(const cli_command *command, const char *name) {
  option o, before;
  bool any = false;
  for (size_t i = first_of(command, name); option_at(command, i, &o); i++) {
    for (size_t v = 0; !strcmp(o.name, name) && value_at(&o, v); v++) {
      bool listed = false;
      for (size_t b = 0; !listed && b < i && option_at(command, b, &before); b++)
        listed = !strcmp(before.name, name) && has_value(&before, value_at(&o, v));
      if (listed) continue;
      printf("%s%s", any ? " " : "", value_at(&o, v));
      any = true;
    }
  }
  return any;
}

static bool has_values(const cli_command *command, const char *name) {
  option o;
  for (size_t i = 0; option_at(command, i, &o); i++)
    if (!strcmp(o.name, name) && value_at(&o, 0)) return true;
  return false;
}

/* Lists the values of a command's first operand, if it has a list of them. */
static void list_operands(const cli_command *command) {
  const cli_option *operand;
  for (size_t i = 0; (operand = cli_option_at(command, i)); i++) {
    if (operand->role == CLI_OPTION) continue;
    const option o = {.names = operand->names, .choices = operand->choices};
    const char *value;
    for (size_t v = 0; (value = value_at(&o, v)); v++) printf("%s ", value);
    return;
  }
}

static void bash_command(const cli_command *command) {
  option o;
  printf("  %s)\n    case $prev in\n", command->name);
  for (size_t i = 0; option_at(command, i, &o); i++) {
    if (first_of(command, o.name) != i || !has_values(command, o.name)) continue;
    printf("    --%s) COMPREPLY=($(compgen -W '", o.name);
    list_values(command, o.name);
    puts("' -- \"$cur\")); return ;;");
  }
  fputs("    esac\n    operands='", stdout);
  list_operands(command);
  fputs("'\n    words='", stdout);
  for (size_t i = 0; option_at(command, i, &o); i++)
    if (first_of(command, o.name) == i) printf("--%s ", o.name);
  puts("' ;;");
}

static void print_bash(void) {
  puts("_mica() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= operands=\n"
       "  case ${COMP_CWORD:-0} in 1)");
  fputs("    COMPREPLY=($(compgen -W '", stdout);
  for (const cli_command *const *command = cli_commands; *command; command++) printf("%s ", (*command)->name);
  puts("' -- \"$cur\")); return ;;\n  esac\n  case ${COMP_WORDS[1]} in");
  for (const cli_command *const *command = cli_commands; *command; command++) bash_command(*command);
  puts("  esac\n  case $cur in -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return ;; esac\n"
       "  if [ \"$COMP_CWORD\" = 2 ] && [ -n \"$operands\" ]; then\n"
       "    COMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n  fi\n}\n"
       "complete -o default -F _mica mica");
}

static void print_fish(void) {
  option o;
  for (const cli_command *const *command = cli_commands; *command; command++) {
    printf("complete -c mica -n __fish_use_subcommand -a %s -d ", (*command)->name);
    quoted((*command)->summary);
    putchar('\n');
    printf("complete -c mica -n '__fish_seen_subcommand_from %s' -a '", (*command)->name);
    list_operands(*command);
    puts("'");
    for (size_t i = 0; option_at(*command, i, &o); i++) {
      if (first_of(*command, o.name) != i) continue;
      printf("complete -c mica -n '__fish_seen_subcommand_from %s' -l %s -d ", (*command)->name, o.name);
      quoted(o.help);
      if (o.value) fputs(" -r", stdout);
      if (has_values(*command, o.name)) {
        fputs(" -f -a '", stdout);
        list_values(*command, o.name);
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
