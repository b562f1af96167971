#include "cli/json.h"
#include "cli/serve/server.h"

#include <stdio.h>
#include <string.h>

static void add_json(serve_text *text, cli_json *json) {
  char *printed = json->failed ? NULL : cJSON_PrintUnformatted(json->root);
  if (printed)
    serve_text_add(text, printed, strlen(printed));
  else
    text->failed = true;
  cJSON_free(printed);
  cJSON_Delete(json->root);
}

static bool write_health(serve_server *server, const char *item, serve_text *text) {
  (void)server, (void)item;
  serve_text_add(text, "{\"status\":\"ok\"}", 15);
  return true;
}

static void add_model(cli_json *json, cJSON *item, const serve_model *model, size_t name) {
  cli_json_text(json, item, "id", model->names[name]);
  cli_json_text(json, item, "object", "model");
  cli_json_integer(json, item, "created", 0);
  cli_json_text(json, item, "owned_by", "mica");
  cli_json_integer(json, item, "context_length", (uint64_t)model->context);
}

static bool write_models(serve_server *server, const char *item, serve_text *text) {
  const serve_model *model = server->work->model;
  cli_json json;
  (void)item;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "object", "list");
  cJSON *list = cli_json_array(&json, json.root, "data");
  for (size_t n = 0; n < model->name_count; n++) add_model(&json, cli_json_object(&json, list, NULL), model, n);
  add_json(text, &json);
  return true;
}

static bool write_model(serve_server *server, const char *item, serve_text *text) {
  const serve_model *model = server->work->model;
  for (size_t n = 0; n < model->name_count; n++) {
    if (strcmp(item, model->names[n]) != 0) continue;
    cli_json json;
    cli_json_begin(&json);
    add_model(&json, json.root, model, n);
    add_json(text, &json);
    return true;
  }
  return false;
}

static bool write_metrics(serve_server *server, const char *item, serve_text *text) {
  (void)item;
  serve_work *work = server->work;
  serve_counters *c = &work->counters;
  pthread_mutex_lock(&work->lock);
  const size_t running = work->count;
  pthread_mutex_unlock(&work->lock);
  pthread_mutex_lock(&server->lock);
  const size_t connections = server->connection_count;
  pthread_mutex_unlock(&server->lock);
  const struct {
    const char *name, *type, *help;
    double value;
  } rows[] = {
      {"mica_requests_total", "counter", "Requests, refused ones included.", (double)atomic_load(&c->requests)},
      {"mica_requests_refused_total", "counter", "Requests that ended in an error.", (double)atomic_load(&c->refused)},
      {"mica_requests_running", "gauge", "Requests for the model that are not answered yet.", (double)running},
      {"mica_request_seconds_sum", "counter", "Seconds of requests for the model.",
       (double)atomic_load(&c->microseconds) * 1e-6},
      {"mica_request_seconds_count", "counter", "Requests for the model that have ended.",
       (double)atomic_load(&c->done)},
      {"mica_prompt_tokens_total", "counter", "Tokens of prompts.", (double)atomic_load(&c->prompt_tokens)},
      {"mica_tokens_total", "counter", "Tokens that the model wrote.", (double)atomic_load(&c->tokens)},
      {"mica_slots", "gauge", "Requests that are decoded at once.", (double)work->model->slots},
      {"mica_connections", "gauge", "Open connections.", (double)connections},
      {"mica_uptime_seconds", "gauge", "Seconds since the server began.", serve_now() - server->began},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    char line[320];
    const int n = snprintf(line, sizeof line, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", rows[r].name, rows[r].help,
                           rows[r].name, rows[r].type, rows[r].name, rows[r].value);
    serve_text_add(text, line, (size_t)n);
  }
  return true;
}

static const serve_route routes[] = {
#define GET_ROUTE(path_, open_, write, type_)                                                                          \
  {.method = "GET", .path = path_, .open = open_, .get = write, .type = type_},
#define POST_ROUTE(path_, kind_) {.method = "POST", .path = path_, .kind = kind_},
#include "cli/serve/routes.def"
#undef GET_ROUTE
#undef POST_ROUTE
};

const char *serve_route_item(const serve_route *route, const char *path) {
  const size_t length = strlen(route->path);
  const bool items = route->path[length - 1] == '/';
  return !strncmp(route->path, path, length) && (items ? path[length] != '\0' : path[length] == '\0') ? path + length
                                                                                                      : NULL;
}

const serve_route *serve_route_find(const char *method, const char *path, const char **allowed,
                                    serve_problem *problem) {
  const char *asked = strcmp(method, "HEAD") == 0 ? "GET" : method;
  *allowed = NULL;
  for (size_t r = 0; r < sizeof routes / sizeof *routes; r++) {
    if (!serve_route_item(&routes[r], path)) continue;
    if (!strcmp(routes[r].method, asked)) return &routes[r];
    *allowed = routes[r].method;
  }
  if (*allowed)
    serve_refuse(problem, 405, "method_not_allowed", "the method must be %s", *allowed);
  else
    serve_refuse(problem, 404, "not_found", "there is no such route; /v1/chat/completions is one");
  return NULL;
}
