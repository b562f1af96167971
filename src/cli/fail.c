/* Error messages on stderr, and checks of the paths to write. */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <mica/status.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local bool silent;

void cli_fail_silently(void) { silent = true; }

int cli_fail(const cli_command *self, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  /* Replaces control characters, because file names may contain escape sequences of terminals. */
  for (char *c = text; *c; c++)
    if (((unsigned char)*c < 0x20 && *c != '\n') || *c == 0x7f) *c = '?';
  if (!silent) fprintf(stderr, self ? "mica %s: %s\n" : "mica: %s%s\n", self ? self->name : "", text);
  return CLI_FAILED;
}

int cli_fail_library(const cli_command *self) { return cli_fail(self, "%s", mica_error_message()); }

int cli_fail_published(const cli_command *self, const char *path) {
  struct stat about;
  if (stat(path, &about) != 0) return cli_fail(self, "there is no file or folder %s", path);
  if (S_ISREG(about.st_mode) && about.st_size == 0) return cli_fail(self, "%s is an empty file", path);
  return cli_fail(self, "%s is not a published model: name a folder with config.json, or a GGUF file", path);
}

bool cli_is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* True for a path that stands for a descriptor of this process. The descriptor may lead to a regular file. */
static bool is_stream(const char *path) {
  return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") || !strncmp(path, "/dev/fd/", 8);
}

/* True if path is a device, a pipe or a descriptor of this process. Output is then written to it; it is not replaced by
 * a new file. */
static bool is_written_through(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && !S_ISDIR(about.st_mode) && (!S_ISREG(about.st_mode) || is_stream(path));
}

int cli_refuse_file(const cli_command *self, const char *path, const char *other) {
  struct stat about;
  if (lstat(path, &about) != 0 || is_written_through(path)) return CLI_OK;
  return cli_fail(self, "%s is there already and is not written over: %s", path, other);
}

int cli_refuse_picture(const cli_command *self, const char *path) {
  static const char *const endings[] = {".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".svg", ".tif", ".tiff", ".webp"};
  const char *ending = path ? strrchr(path, '.') : NULL;
  for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
    if (!strcasecmp(ending, endings[i])) {
      cli_fail(self, "--out %s: pictures are written as PNG; choose NAME.png, or a folder", path);
      return CLI_USAGE;
    }
  return CLI_OK;
}

/* Cuts the last part of a path, down to "." or "/"; false if nothing is left to cut. */
static bool cut_part(char *path) {
  char *slash = strrchr(path, '/');
  if (!slash) return strcmp(path, ".") != 0 && strcpy(path, ".");
  if (!slash[1] && slash == path) return false;
  slash[slash == path] = '\0';
  return true;
}

int cli_check_parent(const cli_command *self, const char *path) {
  char folder[PATH_MAX];
  struct stat about;
  if (strlen(path) >= sizeof folder) return cli_fail(self, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
  if (is_written_through(path))
    return access(path, W_OK) == 0 ? CLI_OK : cli_fail(self, "cannot write %s: %s", path, strerror(errno));
  strcpy(folder, path);
  while (cut_part(folder)) {
    if (stat(folder, &about) == 0) {
      if (!S_ISDIR(about.st_mode)) return cli_fail(self, "cannot write %s: %s is not a folder", path, folder);
      return access(folder, W_OK | X_OK) == 0 ? CLI_OK : cli_fail(self, "cannot write %s: %s", path, strerror(errno));
    }
    if (errno != ENOENT) break;
  }
  return cli_fail(self, "cannot write %s: %s", path, strerror(errno));
}
