#include "cli/command.h"
#include "cli/examiner.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "ops/select/watch.h"

#include <inttypes.h>
#include <mica/doctor.h>
#include <stdio.h>

struct values {
  cli_words ops;
  const char *device;
  bool json, worker;
};

static const cli_option options[] = {
    CLI_ROW("OP", struct values, ops, .role = CLI_OPTIONAL_OPERAND, .help = "ops or kernels to check (default: all)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write the result as JSON"),
    CLI_ROW("worker", struct values, worker, .hidden = true,
            .help = "examine what standard input asks for; doctor starts such a process"),
    {0},
};

typedef struct report {
  cli_json *json; /* NULL without --json */
  cJSON *checks;
  size_t lines;
} report;

typedef struct verdict {
  const char *text;
  cli_colour colour;
} verdict;

static verdict verdict_of(mica_status status) {
  switch (status) {
  case MICA_OK: return (verdict){"ok", CLI_GREEN};
  case MICA_E_UNSUPPORTED: return (verdict){"skipped", CLI_YELLOW};
  default: return (verdict){"failed", CLI_RED};
  }
}

static void add_line(report *to, const mica_doctor_line *line, verdict result) {
  cJSON *check = cli_json_object(to->json, to->checks, NULL);
  cli_json_text(to->json, check, "op", line->op);
  cli_json_text(to->json, check, "kernel", line->kernel);
  cli_json_text(to->json, check, "variant", line->variant);
  cli_json_text(to->json, check, "cases", line->cases);
  cli_json_text(to->json, check, "result", result.text);
  cli_json_text(to->json, check, "status", mica_status_name(line->status));
  cli_json_text(to->json, check, "message", line->message);
  cli_json_real(to->json, check, "worst", line->worst);
  cli_progress("%zu checked, %s", ++to->lines, line->kernel);
}

static void print_line(const mica_doctor_line *line, verdict result) {
  printf("%s%-7s%s  %-16s  %-12s  %s", cli_colour_code(result.colour), result.text, cli_colour_code(CLI_PLAIN),
         line->kernel, line->variant, line->cases);
  if (line->status != MICA_OK)
    printf("%s%s\n", *line->cases ? "; " : "", line->message);
  else if (line->worst > 0)
    printf("; error at most %.2f of its bound\n", line->worst);
  else
    puts("; exact");
}

static void report_line(void *user, const mica_doctor_line *line) {
  report *to = user;
  verdict result = verdict_of(line->status);
  if (to->json)
    add_line(to, line, result);
  else
    print_line(line, result);
}

static void add_device(cli_json *json, const mica_device_info *info) {
  cJSON *device = cli_json_object(json, json->root, "device");
  cli_json_text(json, device, "id", info->id);
  cli_json_text(json, device, "name", info->name);
  cli_json_text(json, device, "platform", info->platform);
  cli_json_text(json, device, "driver", info->driver);
}

static void add_summary(cli_json *json, const mica_doctor_summary *summary, bool healthy, mica_stats stats) {
  cli_json_integer(json, json->root, "passed", summary->passed);
  cli_json_integer(json, json->root, "failed", summary->failed);
  cli_json_integer(json, json->root, "skipped", summary->skipped);
  cli_json_bool(json, json->root, "healthy", healthy);
#define ADD_COUNTER(name, text) cli_json_integer(json, json->root, #name, stats.name);
  MICA_STATS_LIST(ADD_COUNTER)
#undef ADD_COUNTER
}

static void print_summary(const mica_doctor_summary *summary, bool healthy, mica_stats stats) {
  printf("%zu ok, %zu failed, %zu skipped; %" PRIu64 " programs compiled, %" PRIu64 " from the cache\n",
         summary->passed, summary->failed, summary->skipped, stats.kernel_builds, stats.cache_hits);
  printf("%s%s%s\n", cli_colour_code(healthy ? CLI_GREEN : CLI_RED),
         healthy           ? "healthy: every kernel that this device can run computes what it should"
         : summary->failed ? "not healthy: kernels that failed compute wrong results or do not build on this device"
                           : "not examined: no kernel could be run",
         cli_colour_code(CLI_PLAIN));
}

static void begin(void *user, const mica_device_info *info) {
  report *to = user;
  if (!to->json) {
    printf("%s  %s, %s %s\n", info->id, info->name, info->platform, info->driver);
    return;
  }
  cli_json_begin(to->json);
  add_device(to->json, info);
  to->checks = cli_json_array(to->json, to->json->root, "checks");
}

static int check_ops(const cli_command *self, const cli_words *ops) {
  for (size_t i = 0; i < ops->count; i++)
    if (mica__doctor_find(ops->words[i]) != MICA_OK) {
      cli_fail_library(self);
      return CLI_USAGE;
    }
  return CLI_OK;
}

static int run(const cli_command *self, const void *given) {
  const struct values *values = given;
  cli_json json = {0};
  report to = {.json = values->json ? &json : NULL};
  cli_examination e = {.device = values->device, .ops = &values->ops, .begin = begin, .line = report_line, .user = &to};
  if (values->worker) return cli_examine_serve(self, values->device, &values->ops);
  if (check_ops(self, &values->ops) != CLI_OK) return CLI_USAGE;
  int status = cli_examine(self, &e);
  const bool healthy = status == CLI_OK && e.summary.failed == 0 && e.summary.passed > 0;
  if (to.json) cli_progress_end();
  if (json.root) {
    add_summary(&json, &e.summary, healthy, e.stats);
    if (cli_json_print(&json, self) != CLI_OK) status = CLI_FAILED;
  }
  if (status != CLI_OK) return status;
  if (!to.json) print_summary(&e.summary, healthy, e.stats);
  return healthy ? CLI_OK : CLI_FAILED;
}

const cli_command cli_command_doctor = {
    .name = "doctor",
    .summary = "check every kernel on a device against a reference",
    .details = "\nPrints one line per set of parameters of each kernel, then a verdict. Errors are\n"
               "relative to the allowed rounding error. If the driver ends the process at a\n"
               "kernel, that kernel fails and the others are still checked. The exit status is 1\n"
               "if a kernel fails.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
