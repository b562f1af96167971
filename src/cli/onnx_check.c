#include "cli/onnx_check.h"

#include "cli/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH 4096

static bool join(char path[PATH], const char *folder, const char *name) {
  int n = snprintf(path, PATH, "%s/%s", folder, name);
  return n > 0 && n < PATH;
}

static bool is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* --- one model --- */

/* The result of a model: the number of sets that are right, and the message about the first wrong one. */
typedef struct outcome {
  size_t sets, right;
  char sentence[512];
} outcome;

static void note(outcome *o, mica_status status) {
  o->sets++;
  if (status == MICA_OK)
    o->right++;
  else if (!*o->sentence)
    snprintf(o->sentence, sizeof o->sentence, "%s", mica_error_message());
}

static outcome check_sets(mica_engine *engine, mica_onnx *model, const char *folder) {
  outcome o = {0};
  char path[PATH];
  mica_onnx_runner *runner = NULL;
  mica_status status = mica_onnx_runner_create(engine, model, NULL, &runner);
  for (size_t i = 0;; i++) {
    char name[64];
    snprintf(name, sizeof name, "test_data_set_%zu", i);
    if (!join(path, folder, name) || !cli_is_folder(path)) break;
    note(&o, status == MICA_OK ? mica_onnx_check(runner, mica_engine_queue(engine), path, 0, 0) : status);
  }
  if (!o.sets) note(&o, status == MICA_OK ? mica_onnx_check(runner, mica_engine_queue(engine), folder, 0, 0) : status);
  mica_onnx_runner_destroy(runner);
  return o;
}

/* True if a folder contains recorded sets, or is a set itself. */
static bool has_sets(const char *folder) {
  char path[PATH];
  return (join(path, folder, "test_data_set_0") && cli_is_folder(path)) ||
         (join(path, folder, "output_0.pb") && is_file(path));
}

int cli_onnx_check_model(const cli_command *self, mica_engine *engine, mica_onnx *model, const char *folder,
                         bool json) {
  if (!cli_is_folder(folder)) return cli_fail(self, "there is no folder %s", folder);
  if (!has_sets(folder))
    return cli_fail(self,
                    "the folder %s has no recorded outputs: there is neither a folder test_data_set_0 in it nor a file "
                    "output_0.pb",
                    folder);
  outcome o = check_sets(engine, model, folder);
  if (json) {
    cli_json out;
    cli_json_begin(&out);
    cli_json_integer(&out, out.root, "sets", o.sets);
    cli_json_integer(&out, out.root, "right", o.right);
    if (*o.sentence) cli_json_text(&out, out.root, "wrong", o.sentence);
    int status = cli_json_print(&out, self);
    return o.right == o.sets ? status : CLI_FAILED;
  }
  if (o.right < o.sets) return cli_fail(self, "%zu of %zu sets match; %s", o.right, o.sets, o.sentence);
  printf("%zu of %zu sets are right\n", o.right, o.sets);
  return CLI_OK;
}

/* --- many --- */

typedef struct family {
  char name[80];
  size_t right, all;
} family;

typedef struct survey {
  const cli_command *self;
  mica_engine *engine;
  char *scope; /* the text of scope.tsv; NULL: none */
  family *families;
  size_t count;
  bool json, failed;
} survey;

static char *read_text(const char *folder, const char *name) {
  char path[PATH];
  FILE *file = join(path, folder, name) ? fopen(path, "rb") : NULL;
  if (!file) return NULL;
  char *text = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    long size = ftell(file);
    rewind(file);
    text = size >= 0 ? calloc((size_t)size + 1, 1) : NULL;
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = '\0';
  }
  fclose(file);
  return text;
}

/* Finds the family of a test in scope.tsv, whose columns are kind, test, operator, family, scope. If the family is
 * empty, uses the operator. Adds " (optional)" if the scope is not core. False if the table lacks the test. */
static bool family_in_scope(const survey *s, const char *test, char name[80]) {
  size_t n = strlen(test);
  for (const char *line = s->scope; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    const char *at = strchr(line, '\t');
    if (!at || strncmp(at + 1, test, n) || at[1 + n] != '\t') continue;
    const char *op = at + n + 2, *kind = strchr(op, '\t');
    if (!kind) return false;
    size_t length = strcspn(++kind, "\t\n"), op_length = (size_t)(kind - 1 - op);
    const char *scope = kind + length + 1;
    bool core = kind[length] == '\t' && !strncmp(scope, "core", 4);
    snprintf(name, 80, "%.*s%s", (int)(length ? length : op_length), length ? kind : op, core ? "" : " (optional)");
    return true;
  }
  return false;
}

static family *find_family(survey *s, const char *name) {
  for (size_t i = 0; i < s->count; i++)
    if (!strcmp(s->families[i].name, name)) return &s->families[i];
  family *families = realloc(s->families, (s->count + 1) * sizeof *families);
  if (!families) return NULL;
  s->families = families;
  families[s->count] = (family){0};
  snprintf(families[s->count].name, sizeof families->name, "%s", name);
  return &families[s->count++];
}

static void check_folder(survey *s, const char *parent, const char *folder, const char *test) {
  char path[PATH], name[80];
  mica_onnx *model = NULL;
  outcome o = {0};
  if (!join(path, folder, "model.onnx")) return;
  if (mica_onnx_open(path, &model) == MICA_OK)
    o = check_sets(s->engine, model, folder);
  else
    note(&o, MICA_E_FORMAT);
  mica_onnx_close(model);
  const char *slash = strrchr(parent, '/');
  if (!family_in_scope(s, test, name)) snprintf(name, sizeof name, "%s", slash ? slash + 1 : parent);
  family *f = find_family(s, name);
  if (!f) return;
  f->all++;
  f->right += o.right == o.sets;
  if (o.right < o.sets) s->failed = true;
  if (!s->json && o.right < o.sets) printf("wrong  %-28s %s: %s\n", name, test, o.sentence);
}

/* NOLINTNEXTLINE(misc-no-recursion): only as deep as the folders. */
static void walk(survey *s, const char *parent, const char *folder, const char *name, int depth) {
  char path[PATH];
  if (join(path, folder, "model.onnx") && is_file(path)) {
    check_folder(s, parent, folder, name);
    return;
  }
  struct dirent **entries = NULL;
  int count = depth < 8 ? scandir(folder, &entries, NULL, alphasort) : 0;
  for (int i = 0; i < count; i++) {
    if (entries[i]->d_name[0] != '.' && join(path, folder, entries[i]->d_name) && cli_is_folder(path))
      walk(s, folder, path, entries[i]->d_name, depth + 1);
    free(entries[i]);
  }
  free(entries);
}

static int compare_families(const void *a, const void *b) {
  const family *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static int print(const survey *s) {
  size_t right = 0, all = 0, core_right = 0, core = 0;
  cli_json json;
  cJSON *list = NULL;
  if (s->json) {
    cli_json_begin(&json);
    list = cli_json_array(&json, json.root, "families");
  }
  for (size_t i = 0; i < s->count; i++) {
    const family *f = &s->families[i];
    right += f->right;
    all += f->all;
    if (!strstr(f->name, " (optional)")) core_right += f->right, core += f->all;
    if (!s->json) printf("%5zu of %5zu  %s\n", f->right, f->all, f->name);
    if (!s->json) continue;
    cJSON *one = cli_json_object(&json, list, NULL);
    cli_json_text(&json, one, "name", f->name);
    cli_json_integer(&json, one, "right", f->right);
    cli_json_integer(&json, one, "all", f->all);
  }
  if (!s->json) {
    printf("%5zu of %5zu  in all", right, all);
    if (core < all) printf(", %zu of %zu of them core", core_right, core);
    putchar('\n');
    return CLI_OK;
  }
  cli_json_integer(&json, json.root, "right", right);
  cli_json_integer(&json, json.root, "all", all);
  cli_json_integer(&json, json.root, "core_right", core_right);
  cli_json_integer(&json, json.root, "core", core);
  return cli_json_print(&json, s->self);
}

int cli_onnx_check_all(const cli_command *self, mica_engine *engine, const char *folder, bool json) {
  survey s = {.self = self, .engine = engine, .json = json};
  char above[PATH];
  if (!cli_is_folder(folder)) return cli_fail(self, "there is no folder %s", folder);
  s.scope = read_text(folder, "scope.tsv");
  if (!s.scope && join(above, folder, "..")) s.scope = read_text(above, "scope.tsv");
  walk(&s, folder, folder, folder, 0);
  qsort(s.families, s.count, sizeof *s.families, compare_families);
  int status = s.count ? print(&s) : cli_fail(self, "%s holds no folder with a model.onnx", folder);
  free(s.scope);
  free(s.families);
  return status == CLI_OK && s.failed ? CLI_FAILED : status;
}
