/* http_client PORT [--slow MS] [--leave BYTES] [--idle N] <REQUEST: sends the bytes of standard input to this machine
 * and writes what comes back until the server closes the connection, or 60 seconds are over.
 *
 * --slow MS      waits that long after each byte that it sends
 * --leave BYTES  closes the connection when that many bytes have come
 * --half         sends, then ends its own side of the connection
 * --idle N       opens N further connections first, sends nothing on them, and says how many are open at the end */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int connect_to(int port) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (s >= 0 && connect(s, (struct sockaddr *)&name, sizeof name) != 0) {
    close(s);
    return -1;
  }
  return s;
}

static void send_all(int s, const char *data, size_t bytes, long pause) {
  while (bytes > 0) {
    const ssize_t n = send(s, data, pause ? 1 : bytes, MSG_NOSIGNAL);
    if (n <= 0) return;
    data += n;
    bytes -= (size_t)n;
    if (pause) nanosleep(&(struct timespec){.tv_sec = pause / 1000, .tv_nsec = pause % 1000 * 1000000}, NULL);
  }
}

static void print_answer(int s, size_t leave) {
  static char buffer[65536];
  size_t got = 0;
  struct pollfd one = {.fd = s, .events = POLLIN};
  while (poll(&one, 1, 60000) > 0) {
    const ssize_t n = recv(s, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    fwrite(buffer, 1, (size_t)n, stdout);
    got += (size_t)n;
    if (leave && got >= leave) break;
  }
  fflush(stdout);
}

static bool is_open(int s) {
  char byte;
  return s >= 0 && recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

int main(int argc, char **argv) {
  static char request[8 << 20];
  static int idle[8192];
  const int port = argc > 1 ? atoi(argv[1]) : 0;
  long pause = 0, leave = 0, count = 0, open = 0;
  bool half = false;
  for (int i = 2; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "0";
    if (!strcmp(argv[i], "--slow")) pause = atol(value);
    if (!strcmp(argv[i], "--leave")) leave = atol(value);
    if (!strcmp(argv[i], "--idle")) count = atol(value);
    if (!strcmp(argv[i], "--half")) half = true;
  }
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (count > 8192) count = 8192;
  for (long i = 0; i < count; i++) idle[i] = connect_to(port);
  const size_t bytes = fread(request, 1, sizeof request, stdin);
  const int s = connect_to(port);
  if (s < 0) {
    perror("http_client");
    return 1;
  }
  send_all(s, request, bytes, pause);
  if (half) shutdown(s, SHUT_WR);
  print_answer(s, (size_t)leave);
  close(s);
  for (long i = 0; i < count; i++) open += is_open(idle[i]);
  if (count) printf("%ld open\n", open);
  return 0;
}
