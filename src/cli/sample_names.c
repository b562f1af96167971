/* Names of the files of samples. */
#include "cli/sample_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_sample_names_free(cli_sample_names *n) {
  for (size_t s = 0; s < n->count; s++) free(n->list[s]);
  free(n->list);
}

static bool is_taken(const cli_sample_names *n, const char *name) {
  for (size_t s = 0; s < n->count; s++)
    if (!strcmp(n->list[s], name)) return true;
  return false;
}

/* Adds the name of the next sample: its file's name without the ending, or its number if `numbered`. If another sample
 * has the name already, appends "-1", "-2" and so on. False if memory is short. */
static bool add_name(cli_sample_names *n, const char *title, bool numbered) {
  const char *slash = strrchr(title, '/'), *file = slash ? slash + 1 : title, *point = strrchr(file, '.');
  int length = point && point > file ? (int)(point - file) : (int)strlen(file);
  if (length > 4 && !strncmp(file + length - 4, ".nii", 4)) length -= 4; /* the ending of x.nii.gz is .nii.gz */
  const size_t room = (size_t)length + 32;
  char *name = malloc(room);
  if (!name) return false;
  if (numbered || !length)
    snprintf(name, room, "%zu", n->count);
  else
    snprintf(name, room, "%.*s", length, file);
  for (size_t k = 1; is_taken(n, name); k++) snprintf(name, room, "%.*s-%zu", length, file, k);
  n->list[n->count++] = name;
  return true;
}

int cli_sample_names_add(const cli_command *self, const mica_report *p, bool numbered, cli_sample_names *n) {
  char **list = realloc(n->list, (n->count + mica_report_count(p) + 1) * sizeof *n->list);
  bool made = list != NULL;
  if (made) n->list = list;
  for (size_t s = 0; made && s < mica_report_count(p); s++) made = add_name(n, mica_report_title(p, s), numbered);
  return made ? CLI_OK : cli_fail(self, "there is not enough memory");
}
