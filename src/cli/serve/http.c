/* Connections and requests, with libmicrohttpd. The library's single thread answers all requests. run_watch has its own
 * thread, and any thread may call serve_resume. */
#ifdef MICA_WITH_MICROHTTPD
#include "cli/serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTION_BYTES 24576 /* memory per connection, which must hold the request line and the headers */
#define SILENT_SECONDS 60      /* a connection without traffic for this long is closed */
#define EVENTS_BYTES 16384     /* maximum bytes of a stream that are written at a time */

/* --- connections --- */

static void notify_connection(void *user, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code) {
  serve_server *server = user;
  serve_connection *c = *context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info || !(c = calloc(1, sizeof *c))) return;
    c->socket = info->connect_fd;
    c->since = serve_now();
    pthread_mutex_lock(&server->lock);
    c->after = server->connections;
    if (c->after) c->after->before = c;
    server->connections = c;
    server->connection_count++;
    pthread_mutex_unlock(&server->lock);
    *context = c;
  } else if (c) {
    pthread_mutex_lock(&server->lock);
    if (c->after) c->after->before = c->before;
    if (c->before)
      c->before->after = c->after;
    else
      server->connections = c->after;
    server->connection_count--;
    pthread_mutex_unlock(&server->lock);
    free(c);
    *context = NULL;
  }
}

static serve_connection *connection_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

static void set_busy(serve_server *server, struct MHD_Connection *connection, bool busy) {
  serve_connection *c = connection_of(connection);
  if (!c) return;
  pthread_mutex_lock(&server->lock);
  c->busy = busy;
  c->since = serve_now();
  pthread_mutex_unlock(&server->lock);
}

/* Closes connections that have not sent a complete request in time. No part of an answer is written yet, so the status
 * can be written here. */
static void *run_watch(void *user) {
  static const char late[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  serve_server *server = user;
  for (bool stop = false; !stop;) {
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
    const double now = serve_now();
    pthread_mutex_lock(&server->lock);
    stop = server->stop;
    for (serve_connection *c = server->connections; c; c = c->after) {
      if (c->busy || now - c->since < server->config.request_seconds) continue;
      c->busy = true; /* so that it is closed only once */
      (void)!send(c->socket, late, sizeof late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
      shutdown(c->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
  }
  return NULL;
}

/* --- answers --- */

static void add_headers(serve_server *server, struct MHD_Connection *connection, struct MHD_Response *response,
                        const char *type) {
  const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  if (!origin || !server->config.origin || !serve_origin_accept(server, origin)) return;
  MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
  MHD_add_response_header(response, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  MHD_add_response_header(response, "Access-Control-Allow-Headers", "Authorization, Content-Type");
  MHD_add_response_header(response, "Vary", "Origin");
}

static enum MHD_Result send_bytes(serve_server *server, struct MHD_Connection *connection, int status, const char *type,
                                  const char *data, size_t bytes, const char *allowed) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  add_headers(server, connection, response, type);
  if (allowed) MHD_add_response_header(response, "Allow", allowed);
  if (status == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
  if (status == 429) MHD_add_response_header(response, "Retry-After", "1");
  const enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result send_problem(serve_server *server, struct MHD_Connection *connection,
                                    const serve_problem *problem, const char *allowed) {
  char *json = serve_error_json(problem);
  const char *text = json ? json : "{}";
  const enum MHD_Result result =
      send_bytes(server, connection, problem->status, "application/json", text, strlen(text), allowed);
  free(json);
  atomic_fetch_add(&server->work->counters.refused, 1);
  return result;
}

/* --- streams --- */

/* Suspends the connection. The caller holds the job's lock, so that no thread can resume the connection before it is
 * suspended. */
static void suspend(serve_job *job) {
  job->suspended = true;
  MHD_suspend_connection(job->connection);
}

void serve_resume(serve_job *job) { MHD_resume_connection(job->connection); }

static ssize_t read_events(void *user, uint64_t at, char *buffer, size_t room) {
  serve_job *job = user;
  (void)at;
  pthread_mutex_lock(&job->lock);
  const size_t left = job->output.bytes - job->output_read, n = left < room ? left : room;
  ssize_t result = (ssize_t)n;
  if (n > 0) {
    memcpy(buffer, job->output.data + job->output_read, n);
    job->output_read += n;
  } else if (job->output.failed) {
    result = MHD_CONTENT_READER_END_WITH_ERROR;
  } else if (job->ended || !job->connection) {
    result = MHD_CONTENT_READER_END_OF_STREAM;
  } else {
    suspend(job);
  }
  pthread_mutex_unlock(&job->lock);
  return result;
}

static void free_stream(void *user) { serve_job_release(user); }

static enum MHD_Result send_stream(serve_server *server, struct MHD_Connection *connection, serve_job *job) {
  atomic_fetch_add(&job->uses, 1); /* the response uses the job until free_stream */
  struct MHD_Response *response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENTS_BYTES, read_events, job, free_stream);
  if (!response) {
    serve_job_release(job);
    return MHD_NO;
  }
  add_headers(server, connection, response, "text/event-stream; charset=utf-8");
  MHD_add_response_header(response, "X-Accel-Buffering", "no");
  const enum MHD_Result result = MHD_queue_response(connection, 200, response);
  MHD_destroy_response(response);
  return result;
}

/* Sends the answer of a job, or suspends the connection until there is one. */
static enum MHD_Result send_job(serve_server *server, struct MHD_Connection *connection, serve_job *job) {
  pthread_mutex_lock(&job->lock);
  const bool ready = job->status != 0, stream = job->status == 200 && job->asked.stream;
  if (!ready) suspend(job);
  const int status = job->status;
  pthread_mutex_unlock(&job->lock);
  if (!ready) return MHD_YES;
  if (stream) return send_stream(server, connection, job);
  /* The output is complete: no thread writes to it any more. */
  return send_bytes(server, connection, status, "application/json", job->output.data ? job->output.data : "",
                    job->output.bytes, NULL);
}

/* --- requests --- */

static bool check_caller(serve_server *server, struct MHD_Connection *connection, serve_problem *problem) {
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
  if (server->loopback && host && !serve_is_loopback(host))
    return serve_refuse(problem, 403, "wrong_host",
                        "the Host of a request must be localhost: the server is for this "
                        "machine alone");
  if (origin && !serve_origin_accept(server, origin))
    return serve_refuse(problem, 403, "wrong_origin",
                        "web pages of this origin may not send requests; start mica serve with --origin to allow it");
  return true;
}

static bool check_key(serve_server *server, struct MHD_Connection *connection, serve_problem *problem) {
  if (serve_keys_accept(&server->config.keys,
                        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization")))
    return true;
  return serve_refuse(problem, 401, "invalid_api_key",
                      "the request has no valid API key; send it in the header Authorization: Bearer KEY");
}

static bool check_size(serve_server *server, struct MHD_Connection *connection, serve_problem *problem) {
  const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
  const unsigned long long bytes = length ? strtoull(length, NULL, 10) : 0;
  if (bytes <= (unsigned long long)server->config.body_bytes) return true;
  return serve_refuse(problem, 413, "body_too_large", "the body has %llu bytes, but may have at most %lld", bytes,
                      (long long)server->config.body_bytes);
}

/* Answers a GET. */
static enum MHD_Result send_item(serve_server *server, struct MHD_Connection *connection, const serve_route *route,
                                 const char *item) {
  serve_text text = {0};
  serve_problem problem = {0};
  if (!route->get(server, item, &text)) {
    serve_refuse(&problem, 404, "model_not_found", "there is no model \"%.200s\"; /v1/models lists them", item);
    return send_problem(server, connection, &problem, NULL);
  }
  const enum MHD_Result result =
      text.failed ? MHD_NO : send_bytes(server, connection, 200, route->type, text.data, text.bytes, NULL);
  serve_text_free(&text);
  return result;
}

/* Begins a request when its line and headers have arrived. */
static enum MHD_Result begin_request(serve_server *server, struct MHD_Connection *connection, const char *url,
                                     const char *method, void **context) {
  serve_problem problem = {0};
  const char *allowed = NULL;
  atomic_fetch_add(&server->work->counters.requests, 1);
  bool good = check_caller(server, connection, &problem);
  if (good && server->config.origin && !strcmp(method, "OPTIONS")) {
    set_busy(server, connection, true);
    return send_bytes(server, connection, 204, "text/plain", "", 0, "GET, POST, OPTIONS");
  }
  const serve_route *route = good ? serve_route_find(method, url, &allowed, &problem) : NULL;
  good = good && route && (route->open || check_key(server, connection, &problem));
  good = good && check_size(server, connection, &problem);
  if (good && atomic_load(&server->draining))
    good = serve_refuse(&problem, 503, "shutting_down", "the server is shutting down");
  const bool waits = good && !route->get;
  if (!waits) set_busy(server, connection, true);
  if (!good) return send_problem(server, connection, &problem, allowed);
  if (route->get) return send_item(server, connection, route, serve_route_item(route, url));
  const serve_connection *c = connection_of(connection);
  serve_job *job = c ? serve_job_create(server->work, route->kind, connection, c->socket) : NULL;
  *context = job;
  return job ? MHD_YES : MHD_NO;
}

/* Adds bytes of a body. Bytes above the limit are dropped; the error is sent after the last byte. */
static enum MHD_Result add_body(serve_server *server, serve_job *job, const char *data, size_t *bytes) {
  if (job->body.bytes + *bytes > (size_t)server->config.body_bytes) job->too_large = true;
  if (!job->too_large) serve_text_add(&job->body, data, *bytes);
  *bytes = 0;
  return job->body.failed ? MHD_NO : MHD_YES;
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *bytes, void **context) {
  serve_server *server = user;
  serve_job *job = *context; /* of a POST; for other methods only a mark that the call is not the first one */
  (void)version;
  /* Requests other than POST are answered after their end. If they were answered at the first call, libmicrohttpd would
   * close the connection afterwards. */
  const bool simple = strcmp(method, "POST") != 0;
  if (simple && !job) {
    *context = server;
    return MHD_YES;
  }
  if (simple && *bytes) {
    *bytes = 0;
    return MHD_YES;
  }
  if (simple || !job) return begin_request(server, connection, url, method, context);
  if (*bytes) return add_body(server, job, data, bytes);
  if (job->submitted) return send_job(server, connection, job);
  set_busy(server, connection, true);
  if (job->too_large) {
    serve_problem problem = {0};
    serve_refuse(&problem, 413, "body_too_large", "the body has more than %lld bytes",
                 (long long)server->config.body_bytes);
    return send_problem(server, connection, &problem, NULL);
  }
  serve_job_submit(job);
  return send_job(server, connection, job);
}

static void complete(void *user, struct MHD_Connection *connection, void **context,
                     enum MHD_RequestTerminationCode code) {
  (void)code;
  if (*context && *context != user) serve_job_leave(*context);
  *context = NULL;
  set_busy(user, connection, false);
}

/* --- the server --- */

/* Raises the process's limit of open files to the number of connections plus 128, or to its hard limit if that is
 * lower. */
static void allow_files(int64_t connections) {
  struct rlimit limit;
  const rlim_t wanted = (rlim_t)connections + 128;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int listen_on(const struct addrinfo *address) {
  const int on = 1, s = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
  if (s < 0) return -1;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(s, address->ai_addr, address->ai_addrlen) == 0 && listen(s, 1024) == 0) return s;
  const int why = errno;
  close(s);
  errno = why;
  return -1;
}

static int port_of(int s) {
  struct sockaddr_storage name = {0};
  socklen_t size = sizeof name;
  if (getsockname(s, (struct sockaddr *)&name, &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                          : ((struct sockaddr_in *)&name)->sin_port);
}

static int bind_host(const serve_config *config, char text[256]) {
  const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *found = NULL;
  char port[24];
  snprintf(port, sizeof port, "%lld", (long long)config->port);
  const int failed = getaddrinfo(config->host, port, &wanted, &found);
  if (failed) {
    snprintf(text, 256, "--host %.100s: %s", config->host, gai_strerror(failed));
    return -1;
  }
  const int s = listen_on(found);
  if (s < 0) snprintf(text, 256, "%.100s:%s: %s", config->host, port, strerror(errno));
  freeaddrinfo(found);
  return s;
}

bool serve_server_begin(serve_server *server, int *port, char text[256]) {
  const serve_config *config = &server->config;
  pthread_mutex_init(&server->lock, NULL);
  server->loopback = serve_is_loopback(config->host);
  server->began = serve_now();
  allow_files(config->connections);
  const int s = bind_host(config, text);
  if (s < 0) return false;
  *port = port_of(s);
  server->daemon =
      MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)*port, NULL, NULL, answer,
                       server, MHD_OPTION_LISTEN_SOCKET, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->connections,
                       MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)config->per_address, MHD_OPTION_CONNECTION_TIMEOUT,
                       (unsigned)SILENT_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                       MHD_OPTION_NOTIFY_COMPLETED, complete, server, MHD_OPTION_NOTIFY_CONNECTION, notify_connection,
                       server, MHD_OPTION_END);
  if (!server->daemon) {
    close(s);
    snprintf(text, 256, "the HTTP server cannot be started");
    return false;
  }
  server->watched = pthread_create(&server->watch, NULL, run_watch, server) == 0;
  if (!server->watched) snprintf(text, 256, "no thread can be started");
  return server->watched;
}

void serve_server_drain(serve_server *server) {
  atomic_store(&server->draining, true);
  const MHD_socket s = server->daemon ? MHD_quiesce_daemon(server->daemon) : MHD_INVALID_SOCKET;
  if (s != MHD_INVALID_SOCKET) close(s);
}

void serve_server_end(serve_server *server) {
  if (server->watched) {
    pthread_mutex_lock(&server->lock);
    server->stop = true;
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->watch, NULL);
  }
  if (server->daemon) MHD_stop_daemon(server->daemon);
  pthread_mutex_destroy(&server->lock);
}
#else
/* C does not allow a translation unit without declarations. */
typedef int serve_without_http;
#endif
