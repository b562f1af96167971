/* The command `mica`: finds the subcommand, lets the parser read its words, and runs it. */
#include "cli/command.h"
#include "cli/compiling.h"
#include "cli/ranks.h"
#include "cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <mica/device.h>
#include <mica/run.h>
#include <mica/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMAND(name) extern const cli_command cli_command_##name;
#include "cli/commands.def"
#undef COMMAND

const cli_command *const cli_commands[] = {
#define COMMAND(name) &cli_command_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

const cli_command *cli_command_find(const char *name) {
  for (const cli_command *const *command = cli_commands; *command; command++)
    if (strcmp((*command)->name, name) == 0) return *command;
  return NULL;
}

int cli_fail_unknown(const cli_command *self, const char *typed) {
  const char *what = typed[0] == '-' ? "option" : "command";
  cli_guess guess = {.word = typed + strspn(typed, "-")};
  for (const cli_command *const *command = cli_commands; *command; command++)
    cli_guess_consider(&guess, (*command)->name);
  bool task = false;
  for (size_t i = 0; mica_task_name(i); i++) task = task || !strcmp(mica_task_name(i), typed);
  if (task)
    cli_fail(self, "there is no command %s; for the task, see mica train --task %s --help", typed, typed);
  else if (guess.best)
    cli_fail(self, "there is no %s %s; did you mean mica %s?", what, typed, guess.best);
  else
    cli_fail(self, "there is no %s %s; mica help lists the commands", what, typed);
  return CLI_USAGE;
}

/* Finds the value of --task; NULL: not given. */
static const char *task_in(int count, char **words) {
  for (int i = 0; i < count; i++) {
    if (!strncmp(words[i], "--task=", 7)) return words[i] + 7;
    if (!strcmp(words[i], "--task") && i + 1 < count) return words[i + 1];
  }
  return NULL;
}

static int run(const cli_command *command, int count, char **words) {
  void *values = calloc(1, command->values_size + 1);
  if (!values) return cli_fail(command, "there is not enough memory");
  int status = CLI_USAGE;
  switch (cli_parse(command, count, words, values)) {
  case CLI_PARSED: status = command->run(command, values); break;
  case CLI_PARSED_HELP:
    cli_print_help(command, task_in(count, words));
    status = CLI_OK;
    break;
  case CLI_PARSED_WRONG: break;
  }
  free(values);
  return status;
}

static int dispatch(int count, char **words) {
  if (count == 0) {
    cli_fail(NULL, "a command is missing; mica help lists them");
    return CLI_USAGE;
  }
  const char *name = words[0];
  if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) name = cli_command_help.name;
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = cli_command_version.name;
  const cli_command *command = cli_command_find(name);
  return command ? run(command, count - 1, words + 1) : cli_fail_unknown(NULL, name);
}

static void print_log_line(void *user, mica_log_level level, const char *message) {
  static const char *const names[] = {
#define LEVEL_NAME(name, value) [value] = #name,
      MICA_LOG_LEVEL_LIST(LEVEL_NAME)
#undef LEVEL_NAME
  };
  (void)user;
  fprintf(stderr, "mica: %s: %s\n", names[level], message);
}

/* Sets the log level from MICA_VERBOSE: 0, empty or unset: warnings, 1: information, 2: everything. False for other
 * values. */
static bool start_log(void) {
  const char *verbose = getenv("MICA_VERBOSE");
  int amount = !verbose || !*verbose ? 0 : verbose[1] ? -1 : verbose[0] - '0';
  if (amount < 0 || amount > 2) return false;
  mica_log_set((mica_log_level)(MICA_LOG_LEVEL_WARNING + amount), print_log_line, NULL);
  return true;
}

/* Opens descriptors 0, 1 and 2 if they are closed; else the next opened file would get such a number, and would
 * receive the output. Opens them read-only, so that writing to a closed output fails. */
static void hold_standard_files(void) {
  for (int number = 0; number <= 2; number++)
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF) (void)open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv) {
  hold_standard_files();
  /* Buffers stdout by lines, so that a log shows how far a run came before a driver ended it. */
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  if (cli_ranks_is_follower()) {
    cli_fail_silently();
    cli_compile_silently();
  }
  if (!start_log()) {
    cli_fail(NULL, "MICA_VERBOSE must be 0, 1 or 2, not \"%s\"", getenv("MICA_VERBOSE"));
    return CLI_USAGE;
  }
  mica_device_prepare_drivers();
  int status = dispatch(argc - 1, argv + 1);
  /* When one rank ends with an error, mpirun ends all others. This rank waits a second, so that rank 0 can print its
   * message before that. */
  if (status != CLI_OK && cli_ranks_is_follower()) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  if ((fflush(stdout) || ferror(stdout)) && status == CLI_OK) status = cli_fail(NULL, "the output cannot be written");
  return status;
}
