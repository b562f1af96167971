/* Access control: keys, hosts and origins. */
#include "cli/serve/server.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_KEY 512

/* --- keys --- */

bool serve_keys_read(const char *path, serve_keys *keys, char text[256]) {
  char line[MOST_KEY + 2];
  FILE *file = fopen(path, "r");
  *keys = (serve_keys){0};
  snprintf(text, 256, "%.200s cannot be read", path);
  if (!file) return false;
  bool good = true;
  for (int number = 1; good && fgets(line, sizeof line, file); number++) {
    size_t n = strlen(line);
    const bool whole = n < sizeof line - 1 || line[n - 1] == '\n';
    while (n > 0 && isspace((unsigned char)line[n - 1])) line[--n] = '\0';
    if (!whole) snprintf(text, 256, "%.180s: line %d has more than %d bytes", path, number, MOST_KEY);
    good = whole;
    if (!good || n == 0 || line[0] == '#') continue;
    if (keys->count == SERVE_MOST_KEYS) snprintf(text, 256, "%.180s has more than %d keys", path, SERVE_MOST_KEYS);
    good = keys->count < SERVE_MOST_KEYS && (keys->texts[keys->count] = strdup(line)) != NULL;
    if (good) keys->count++;
  }
  good = good && !ferror(file);
  fclose(file);
  if (!good || keys->count > 0) return good;
  snprintf(text, 256, "%.200s has no key; write one per line", path);
  return false;
}

void serve_keys_free(serve_keys *keys) {
  for (size_t k = 0; k < keys->count; k++) free(keys->texts[k]);
  *keys = (serve_keys){0};
}

/* Compares all bytes; the time does not depend on where they differ. */
static bool same_key(const char *key, const char *sent, size_t bytes) {
  const size_t length = strlen(key);
  volatile unsigned char differs = length != bytes;
  for (size_t i = 0; i < bytes; i++) differs |= (unsigned char)(sent[i] ^ key[i % length]);
  return differs == 0;
}

bool serve_keys_accept(const serve_keys *keys, const char *authorization) {
  if (keys->count == 0) return true;
  if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) return false;
  const char *sent = authorization + 7;
  while (*sent == ' ') sent++;
  const size_t bytes = strlen(sent);
  bool accepted = false;
  for (size_t k = 0; k < keys->count; k++) accepted |= same_key(keys->texts[k], sent, bytes);
  return accepted;
}

/* --- hosts and origins --- */

bool serve_is_loopback(const char *host) {
  size_t n = strlen(host);
  if (host[0] == '[') {
    const char *end = strchr(host, ']');
    return end && (end[1] == '\0' || end[1] == ':') && !strncmp(host, "[::1]", 5);
  }
  if (!strcmp(host, "::1")) return true;
  const char *colon = strchr(host, ':');
  if (colon) n = (size_t)(colon - host);
  if (n == 9 && !strncasecmp(host, "localhost", 9)) return true;
  int part[4], read = 0;
  char name[16];
  if (n == 0 || n >= sizeof name) return false;
  memcpy(name, host, n);
  name[n] = '\0';
  return sscanf(name, "%3d.%3d.%3d.%3d%n", &part[0], &part[1], &part[2], &part[3], &read) == 4 && (size_t)read == n &&
         part[0] == 127 && part[1] >= 0 && part[2] >= 0 && part[3] >= 0;
}

bool serve_origin_accept(const serve_server *server, const char *origin) {
  const char *allowed = server->config.origin;
  if (allowed && (!strcmp(allowed, "*") || !strcmp(allowed, origin))) return true;
  const char *host = strstr(origin, "://");
  return server->loopback && host && serve_is_loopback(host + 3);
}
