#include "cli/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile int stop;
/* 1 if a signal must end the process at once, after writing the texts below. It is 0 while the texts are changed. */
static volatile sig_atomic_t at_once;
static char said_text[CLI_STOP_TEXT], other_text[CLI_STOP_TEXT], json_text[128], awaited_path[4352];
/* Folders that were missing when the command began, the longest path first, each followed by a zero byte. */
static char made_paths[CLI_STOP_TEXT];
static size_t made_size;
static int said_file;
static atomic_flag ends = ATOMIC_FLAG_INIT;

static void write_all(int file, const char *text) {
  for (size_t left = strlen(text); left > 0;) {
    const ssize_t written = write(file, text, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    left -= (size_t)written;
  }
}

/* Removes the command's folders, the innermost first; rmdir fails for a folder that is not empty. */
static void remove_made(void) {
  for (size_t at = 0; at < made_size; at += strlen(made_paths + at) + 1)
    if (rmdir(made_paths + at) && errno != ENOENT) return;
}

static void ask_to_stop(int number) {
  stop = number;
  if (at_once) {
    /* Another thread is handling another signal already. */
    if (atomic_flag_test_and_set(&ends)) return;
    const bool there = access(awaited_path, F_OK) == 0;
    if (!there) remove_made();
    write_all(said_file, there ? said_text : other_text);
    write_all(STDOUT_FILENO, json_text);
    _exit(128 + number);
  }
  /* A second signal of the same kind ends the process. SIGPIPE does not: if the reader of the output has ended, later
   * output is lost, but training goes on until its stop. */
  if (number != SIGPIPE) signal(number, SIG_DFL);
}

const volatile int *cli_stop_flag(void) { return &stop; }

void cli_stop_catch(void) {
  static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  struct sigaction action = {.sa_handler = ask_to_stop}, before;
  sigfillset(&action.sa_mask);
  /* A signal may be ignored already, because nohup or a shell (for a background job) said so. It then stays ignored. */
  for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
    if (sigaction(caught[i], NULL, &before) == 0 && (before.sa_handler != SIG_IGN || caught[i] == SIGINT))
      sigaction(caught[i], &action, NULL);
}

/* Cuts the last part of a path and the slashes before it; false if nothing is left. */
static bool cut_part(char *path) {
  size_t n = strlen(path);
  while (n > 0 && path[n - 1] == '/') n--;
  while (n > 0 && path[n - 1] != '/') n--;
  while (n > 0 && path[n - 1] == '/') n--;
  path[n] = '\0';
  return n > 0;
}

void cli_stop_note_folder(const char *folder) {
  char path[PATH_MAX];
  struct stat about;
  made_size = 0;
  if (!folder || strlen(folder) >= sizeof path) return;
  strcpy(path, folder);
  for (bool more = *path != '\0'; more && stat(path, &about) != 0 && errno == ENOENT; more = cut_part(path)) {
    const size_t size = strlen(path) + 1;
    if (made_size + size > sizeof made_paths) return;
    memcpy(made_paths + made_size, path, size);
    made_size += size;
  }
}

void cli_stop_at_once(int file, const char *path, const char *said, const char *otherwise, const char *json) {
  cli_stop_in_order();
  said_file = file;
  snprintf(awaited_path, sizeof awaited_path, "%s", path);
  snprintf(said_text, sizeof said_text, "%s", said);
  snprintf(other_text, sizeof other_text, "%s", otherwise);
  snprintf(json_text, sizeof json_text, "%s", json ? json : "");
  at_once = 1;
}

void cli_stop_in_order(void) { at_once = 0; }
