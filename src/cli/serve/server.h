/* cli/serve/server.h: the HTTP side of `mica serve`: connections, routes, access and limits. */
#ifndef MICA_CLI_SERVE_SERVER_H
#define MICA_CLI_SERVE_SERVER_H

#include "cli/serve/job.h"

#define SERVE_MOST_KEYS 64

typedef struct serve_keys {
  char *texts[SERVE_MOST_KEYS];
  size_t count; /* 0: no key is needed */
} serve_keys;

typedef struct serve_config {
  const char *host;
  int64_t port; /* 0: any free port */
  /* Web pages of this origin may send requests; "*": of any. Pages of localhost may as well if host is a loopback
   * address. NULL: no others. */
  const char *origin;
  int64_t connections, per_address;
  int64_t body_bytes;
  double request_seconds; /* a connection is closed if it sends no complete request for this number of seconds */
  serve_keys keys;
} serve_config;

/* An open connection. */
typedef struct serve_connection {
  struct serve_connection *before, *after;
  int socket;
  bool busy;    /* a complete request has arrived and is not answered yet */
  double since; /* when it was opened, or busy last changed */
} serve_connection;

typedef struct serve_server {
  serve_config config;
  serve_work *work;
  bool loopback;
  double began;
  atomic_bool draining;
  struct MHD_Daemon *daemon;
  pthread_mutex_t lock; /* protects the following members */
  serve_connection *connections;
  size_t connection_count;
  bool stop;
  pthread_t watch;
  bool watched;
} serve_server;

/* Binds and begins to answer; *port is the bound port. On failure returns false, with the reason in text. */
bool serve_server_begin(serve_server *server, int *port, char text[256]);
/* Accepts no more connections, and refuses new requests. */
void serve_server_drain(serve_server *server);
/* Call it after serve_work_end. */
void serve_server_end(serve_server *server);
void serve_resume(serve_job *job);

/* --- access control, in serve/guard.c --- */

/* Reads keys, one per line; skips blank lines and lines that begin with #. False: text says why. */
bool serve_keys_read(const char *path, serve_keys *keys, char text[256]);
void serve_keys_free(serve_keys *keys);
/* Checks "Authorization: Bearer KEY". The time does not depend on how much of a key is right. */
bool serve_keys_accept(const serve_keys *keys, const char *authorization);
/* True for an address or name of only this machine, with or without a port: 127.0.0.0/8, ::1, localhost. */
bool serve_is_loopback(const char *host);
/* True if a page of this origin has access. */
bool serve_origin_accept(const serve_server *server, const char *origin);

/* --- routes, in serve/routes.c --- */

typedef struct serve_route {
  const char *method, *path;
  bool open;       /* needs no key */
  serve_kind kind; /* for POST */
  /* Writes the answer to a GET. item: the rest of the path if the route ends in a slash. False: no such item. */
  bool (*get)(serve_server *, const char *item, serve_text *);
  const char *type;
} serve_route;

/* Finds a route; HEAD is like GET. If no route matches, returns NULL and sets *problem to 404, or to 405 if the path
 * exists for another method, which *allowed receives. */
const serve_route *serve_route_find(const char *method, const char *path, const char **allowed, serve_problem *problem);
/* Returns the part of `path` after the route's path, "" if both are equal; NULL if path is not of this route. */
const char *serve_route_item(const serve_route *route, const char *path);

#endif
