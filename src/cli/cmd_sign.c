#include "cli/command.h"
#include "cli/json.h"
#include "cli/password.h"
#include "cli/result.h"

#include <dirent.h>
#include <errno.h>
#include <mica/signature.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".minisig"
#define MOST_FOLDERS 8 /* maximum depth of nested folders */

struct values {
  cli_words files;
  bool check, no_password, json;
  const char *key, *comment, *new_key;
};

static const cli_option options[] = {
    CLI_ROW("FILE", struct values, files, .role = CLI_OPTIONAL_OPERAND,
            .help = "files or folders to sign or check; hidden files in folders are left out"),
    CLI_ROW("key", struct values, key, .value = "KEY",
            .help =
                "file of the secret key, or with --check the public key or its file (required, except with --new-key)"),
    CLI_ROW("check", struct values, check, .help = "check the signatures of files instead of signing"),
    CLI_ROW("comment", struct values, comment, .value = "TEXT", .blank = true,
            .help = "comment that is signed too (default: time and name of the file)"),
    CLI_ROW("new-key", struct values, new_key, .value = "NAME",
            .help = "make the keys NAME.key (secret) and NAME.pub (public)"),
    CLI_ROW("no-password", struct values, no_password, .help = "with --new-key: do not encrypt the secret key"),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

typedef struct work {
  const cli_command *self;
  const struct values *v;
  mica_signature_config config;
  cli_json *json;
  cJSON *list;
  size_t done;
  bool failed;
} work;

static bool ends_with(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n >= m && !strcmp(name + n - m, end);
}

static void sign_file(work *w, const char *path) {
  static mica_signature_info info;
  const mica_status status =
      w->v->check ? mica_signature_check(path, w->v->key, &info) : mica_signature_write(path, &w->config);
  if (status != MICA_OK) {
    cli_fail_library(w->self);
    w->failed = true;
    return;
  }
  w->done++;
  if (w->v->json) {
    cJSON *object = cli_json_object(w->json, w->list, NULL);
    cli_json_text(w->json, object, "file", path);
    if (w->v->check) cli_json_text(w->json, object, "key", info.key);
    if (w->v->check) cli_json_text(w->json, object, "comment", info.comment);
  } else if (w->v->check) {
    printf("%s: signed with key %s, ", cli_clean(path), info.key);
    cli_print_clean(info.comment, strlen(info.comment));
    putchar('\n');
  }
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Lists the paths of the files and folders in a folder that are to be signed or checked, sorted; hidden ones and
 * signatures are omitted. *error: an errno if the folder could not be read to its end or memory is short, else 0. The
 * caller frees each path and the list. */
static char **list_folder(const char *path, size_t *count, int *error) {
  DIR *folder = opendir(path);
  char **names = NULL;
  size_t room = 0;
  *count = 0;
  *error = folder ? 0 : errno;
  while (!*error) {
    errno = 0;
    const struct dirent *entry = readdir(folder);
    *error = errno;
    if (!entry) break;
    if (entry->d_name[0] == '.' || ends_with(entry->d_name, SUFFIX)) continue;
    if (*count == room) {
      char **grown = realloc(names, (room = room ? 2 * room : 16) * sizeof *names);
      *error = grown ? 0 : ENOMEM;
      if (!grown) break;
      names = grown;
    }
    names[*count] = malloc(strlen(path) + strlen(entry->d_name) + 2);
    *error = names[*count] ? 0 : ENOMEM;
    if (!*error) sprintf(names[(*count)++], "%s/%s", path, entry->d_name);
  }
  if (folder) closedir(folder);
  if (names) qsort(names, *count, sizeof *names, by_text);
  return names;
}

static void sign_path(work *w, const char *path, int depth) {
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
    sign_file(w, path);
    return;
  }
  if (depth == MOST_FOLDERS) {
    cli_fail(w->self, "%s: more than %d folders are inside one another; sign or check this folder by itself", path,
             MOST_FOLDERS);
    w->failed = true;
    return;
  }
  size_t count = 0;
  int error;
  char **names = list_folder(path, &count, &error);
  if (error) {
    cli_fail(w->self, "%s: the folder cannot be read in full: %s", path, strerror(error));
    w->failed = true;
  } else if (!count && !depth) {
    cli_fail(w->self, "%s has no files to %s; hidden files and signatures do not count", path,
             w->v->check ? "check" : "sign");
    w->failed = true;
  }
  for (size_t i = 0; i < count; i++) {
    sign_path(w, names[i], depth + 1);
    free(names[i]);
  }
  free(names);
}

/* Asks for a password twice. Returns NULL if the two are equal and not empty, else the reason. With --no-password,
 * returns NULL at once. */
static const char *ask(const struct values *v, char *password, char *again, size_t room) {
  if (v->no_password) return NULL;
  if (!cli_read_password("password of the new key", password, room) || !cli_read_password("once more", again, room))
    return "no password of at most 1022 bytes was given; --no-password makes a key without one";
  if (strcmp(password, again) != 0) return "the two passwords differ";
  return *password ? NULL : "the password is empty; --no-password makes a key without one";
}

static int make_key(const cli_command *self, const struct values *v) {
  char password[1024] = "", again[1024] = "";
  const char *fault = ask(v, password, again, sizeof password);
  const mica_status status = fault ? MICA_OK : mica_signature_make_keys(v->new_key, password);
  cli_wipe(password, sizeof password);
  cli_wipe(again, sizeof again);
  if (fault) return cli_fail(self, "%s", fault);
  if (status != MICA_OK) return cli_fail_library(self);
  const char *name = cli_clean(v->new_key);
  printf("%s.key is secret; give %s.pub to those who check\n", name, name);
  return CLI_OK;
}

static int end(work *w, cli_json *json) {
  const bool check = w->v->check;
  if (w->v->json && !w->failed) return cli_json_print(json, w->self);
  cJSON_Delete(json->root);
  if (!w->failed && !check) printf("%zu file%s signed\n", w->done, w->done == 1 ? "" : "s");
  return w->failed ? CLI_FAILED : CLI_OK;
}

static int sign_all(const cli_command *self, const struct values *v) {
  char password[1024] = "";
  bool encrypted = false;
  work w = {.self = self, .v = v, .config = {.key = v->key, .comment = v->comment}};
  if (!v->check) {
    if (mica_signature_key_is_encrypted(v->key, &encrypted) != MICA_OK) return cli_fail_library(self);
    if (encrypted && !cli_read_password("password of the key", password, sizeof password))
      return cli_fail(self, "%s is encrypted, and no password of at most %zu bytes was given", v->key,
                      sizeof password - 2);
    if (encrypted) w.config.password = password;
  }
  cli_json json;
  cli_json_begin(&json);
  w.json = &json;
  w.list = cli_json_array(&json, json.root, "files");
  for (size_t i = 0; i < v->files.count; i++) sign_path(&w, v->files.words[i], 0);
  cli_wipe(password, sizeof password);
  return end(&w, &json);
}

static int wrong(const cli_command *self, const char *sentence) {
  cli_fail(self, "%s", sentence);
  return CLI_USAGE;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  if (v->new_key && (v->files.count || v->check || v->key || v->comment || v->json))
    return wrong(self, "--new-key takes no files, and no option but --no-password");
  if (v->new_key) return make_key(self, v);
  if (v->no_password) return wrong(self, "--no-password is for --new-key");
  if (!v->files.count) return wrong(self, "name the files to sign");
  if (!v->key) return wrong(self, v->check ? "--key is missing: the public key" : "--key is missing: the secret key");
  if (v->check && v->comment) return wrong(self, "--comment is for signing; --check reads it");
  return sign_all(self, v);
}

const cli_command cli_command_sign = {
    .name = "sign",
    .summary = "sign models and bundles, or check their signatures",
    .details = "\nThe signature of FILE is FILE.minisig, in the format of minisign. With\n"
               "MICA_REQUIRE_KEY=PUBLIC, every command refuses models and bundles that are not\n"
               "signed with that key. A password is read from standard input.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
