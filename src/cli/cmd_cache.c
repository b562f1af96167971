#include "cli/command.h"
#include "cli/json.h"
#include "cli/result.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "runtime/serve_builds.h"

#include <mica/bundle.h>
#include <mica/cache.h>
#include <mica/device.h>
#include <mica/doctor.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

struct values {
  int action;
  bool json;
  const char *device, *directory, *file;
};

enum { PATH, LIST, CLEAR, BUNDLE, BUILD, DOCTOR };
static const cli_choice actions[] = {
    [PATH] = {"path", "print the cache folder"},
    [LIST] = {"list", "list the entries, the last used first"},
    [CLEAR] = {"clear", "delete all entries"},
    [BUNDLE] = {"bundle", "print the device of the bundle --file"},
    [BUILD] = {"build", NULL},   /* builds the kernels that another process asks for on standard input */
    [DOCTOR] = {"doctor", NULL}, /* builds kernels for mica doctor ahead of its checks (mica_doctor_ahead) */
    {0},
};

static const cli_option options[] = {
    CLI_ROW("ACTION", struct values, action, .role = CLI_OPERAND, .help = "what to do", .choices = actions),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .hidden = true,
            .help = "device to build for, as in MICA_DEVICE"),
    CLI_ROW("directory", struct values, directory, .value = "DIR",
            .help = "cache folder (default: MICA_CACHE_DIR, else the folder mica in XDG_CACHE_HOME or ~/.cache)"),
    CLI_ROW("file", struct values, file, .value = "FILE",
            .help = "bundle: file of compiled kernels, as MICA_BUNDLE_OUT writes it"),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    {0},
};

typedef struct listing {
  mica_cache_entry *entries;
  size_t count;
  size_t capacity;
  uint64_t bytes;
  bool failed;
} listing;

static void collect(void *user, const mica_cache_entry *entry) {
  listing *list = user;
  if (list->failed) return;
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    mica_cache_entry *grown = realloc(list->entries, capacity * sizeof *grown);
    if (!grown) {
      list->failed = true;
      return;
    }
    list->entries = grown;
    list->capacity = capacity;
  }
  list->entries[list->count++] = *entry;
  list->bytes += entry->bytes;
}

static int last_used_first(const void *a, const void *b) {
  const mica_cache_entry *x = a, *y = b;
  if (x->last_used != y->last_used) return x->last_used > y->last_used ? -1 : 1;
  return strcmp(x->key, y->key);
}

static void add_listing(cli_json *json, const listing *list) {
  cli_json_integer(json, json->root, "bytes", list->bytes);
  cJSON *programs = cli_json_array(json, json->root, "programs");
  for (size_t i = 0; i < list->count; i++) {
    const mica_cache_entry *entry = &list->entries[i];
    cJSON *object = cli_json_object(json, programs, NULL);
    cli_json_text(json, object, "program", entry->program);
    cli_json_text(json, object, "device", entry->device);
    cli_json_text(json, object, "key", entry->key);
    cli_json_integer(json, object, "bytes", entry->bytes);
    cli_json_integer(json, object, "last_used", (uint64_t)entry->last_used);
  }
}

static void print_listing(const char *path, const listing *list) {
  char size[CLI_BYTES_TEXT], when[32] = "?";
  for (size_t i = 0; i < list->count; i++) {
    const mica_cache_entry *entry = &list->entries[i];
    time_t used = (time_t)entry->last_used;
    struct tm local;
    if (localtime_r(&used, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    printf("%9s  %s  %s  %s\n", cli_format_bytes(entry->bytes, size), when, entry->program, entry->device);
  }
  printf("%zu program%s, %s, in %s\n", list->count, list->count == 1 ? "" : "s", cli_format_bytes(list->bytes, size),
         path);
}

static int run_list(const cli_command *self, const char *path, cli_json *json) {
  listing list = {0};
  int status = CLI_OK;
  if (mica_cache_list(path, collect, &list) != MICA_OK)
    status = cli_fail_library(self);
  else if (list.failed)
    status = cli_fail(self, "there is not enough memory for the list");
  if (list.count) qsort(list.entries, list.count, sizeof *list.entries, last_used_first);
  if (status == CLI_OK) json ? add_listing(json, &list) : print_listing(path, &list);
  free(list.entries);
  return status;
}

static int run_clear(const cli_command *self, const char *path, cli_json *json) {
  size_t count = 0;
  if (mica_cache_clear(path, &count) != MICA_OK) return cli_fail_library(self);
  if (json)
    cli_json_integer(json, json->root, "deleted", count);
  else
    printf("%zu file%s deleted in %s\n", count, count == 1 ? "" : "s", path);
  return CLI_OK;
}

static int run_bundle(const cli_command *self, const char *file, cli_json *json) {
  char size[CLI_BYTES_TEXT];
  mica_bundle_info info;
  if (mica_bundle_describe(file, &info) != MICA_OK) return cli_fail_library(self);
  if (json) {
    cli_json_text(json, json->root, "version", info.version);
    cli_json_text(json, json->root, "platform", info.platform);
    cli_json_text(json, json->root, "platform_version", info.platform_version);
    cli_json_text(json, json->root, "device", info.device);
    cli_json_text(json, json->root, "driver", info.driver);
    cli_json_integer(json, json->root, "programs", info.programs);
    cli_json_integer(json, json->root, "bytes", info.bytes);
    return CLI_OK;
  }
  printf("%s: %zu program%s, %s\n", file, (size_t)info.programs, info.programs == 1 ? "" : "s",
         cli_format_bytes(info.bytes, size));
  printf("  Mica      %s\n  device    %s\n  driver    %s\n  platform  %s, %s\n", info.version, cli_clean(info.device),
         cli_clean(info.driver), cli_clean(info.platform), cli_clean(info.platform_version));
  return CLI_OK;
}

/* Makes Linux end this process, even in the middle of a compilation, when the process that started this one has ended,
 * because nobody needs the kernels then. Linux sends the signal when the thread that started this process ends; that
 * thread first stops this process or waits for it. */
static void end_with_asker(void) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

/* Builds kernels for an engine that has this command as its config.builder. */
static int run_build(const cli_command *self, const char *path, const char *device) {
  mica_engine_config config = mica_engine_config_default();
  mica_engine *engine = NULL;
  config.device = device;
  config.cache_dir = path;
  config.bundle = "";
  unsetenv("MICA_BUNDLE_OUT"); /* the process that asked for the kernels writes the bundle */
  end_with_asker();
  if (mica_engine_create(&config, &engine) != MICA_OK) return cli_fail_library(self);
  int status = mica__engine_serve_builds(engine, STDIN_FILENO) == MICA_OK ? CLI_OK : cli_fail_library(self);
  mica_engine_destroy(engine);
  return status;
}

/* Shows the progress on a terminal. If standard input is closed, the process that started this one has ended and nobody
 * needs the kernels; this process then exits. */
static void end_with_parent(void *user, const mica_doctor_line *line) {
  size_t *checked = user;
  cli_progress("%zu checked, %s", ++*checked, line->kernel);
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLNVAL)) _exit(CLI_OK);
}

static int run_doctor(const cli_command *self, const char *path, const char *device) {
  mica_engine_config config = mica_engine_config_default();
  mica_engine *engine = NULL;
  config.device = device;
  config.cache_dir = path;
  end_with_asker();
  if (mica_engine_create(&config, &engine) != MICA_OK) return cli_fail_library(self);
  size_t checked = 0;
  const mica_status done = mica_doctor_ahead(engine, end_with_parent, &checked);
  cli_progress_end();
  const int status = done == MICA_OK ? CLI_OK : cli_fail_library(self);
  mica_engine_destroy(engine);
  return status;
}

/* json: NULL without --json. */
static int run_action(const cli_command *self, const struct values *values, const char *path, cli_json *json) {
  if (!*path)
    return cli_fail(self,
                    "there is no cache: MICA_CACHE_DIR is set and empty, or neither XDG_CACHE_HOME nor HOME is set");
  if (json) cli_json_text(json, json->root, "path", path);
  switch (values->action) {
  case LIST: return run_list(self, path, json);
  case CLEAR: return run_clear(self, path, json);
  case BUILD: return run_build(self, path, values->device);
  case DOCTOR: return run_doctor(self, path, values->device);
  }
  if (!json) puts(path);
  return CLI_OK;
}

static int end(const cli_command *self, const struct values *values, cli_json *json, int status) {
  if (values->json && status == CLI_OK) return cli_json_print(json, self);
  cJSON_Delete(json->root);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  char *path = NULL;
  if ((values->action == BUNDLE) != (values->file != NULL)) {
    cli_fail(self, values->file ? "--file is for mica cache bundle" : "--file is missing: the path of the bundle");
    return CLI_USAGE;
  }
  if (values->device && values->action != BUILD && values->action != DOCTOR) {
    cli_fail(self, "--device is for mica cache build and doctor; %s concerns the kernels of all devices",
             actions[values->action].name);
    return CLI_USAGE;
  }
  cli_json json;
  cli_json_begin(&json);
  if (values->action == BUNDLE)
    return end(self, values, &json, run_bundle(self, values->file, values->json ? &json : NULL));
  if (mica_cache_path(values->directory, &path) != MICA_OK) return end(self, values, &json, cli_fail_library(self));
  const int status = run_action(self, values, path, values->json ? &json : NULL);
  mica_free(path);
  return end(self, values, &json, status);
}

const cli_command cli_command_cache = {
    .name = "cache",
    .summary = "show or clear the compiled kernels on disk",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
