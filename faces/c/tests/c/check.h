/* What the C tests share: checks, and a client of a few lines. */
#ifndef CHECK_H
#define CHECK_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampan.h"

#define CHECK(is_so)                                                  \
  do {                                                                \
    if (!(is_so)) {                                                   \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is_so);     \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

#define SAME(given, wanted)                                                                                        \
  do {                                                                                                             \
    long long given_ = (given), wanted_ = (wanted);                                                                \
    if (given_ != wanted_) {                                                                                       \
      fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #given, given_, wanted_);               \
      exit(1);                                                                                                     \
    }                                                                                                              \
  } while (0)

static void quiet(void *user, int32_t level, const char *line, size_t len) {
  (void)user, (void)level, (void)line, (void)len;
}

static inline int port_of(sampan_server server) {
  char text[64];
  SAME(sampan_server_address(server, 0, text, sizeof text), SAMPAN_OK);
  return atoi(strrchr(text, ':') + 1);
}

static inline int dial(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  int client = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(client >= 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
  return client;
}

static inline void say(int client, const char *text) {
  size_t len = strlen(text);
  CHECK(send(client, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* Reads to the end of the connection, and closes it. */
static inline const char *hear(int client) {
  static char text[1 << 16];
  size_t len = 0;
  ssize_t read;
  while ((read = recv(client, text + len, sizeof text - len - 1, 0)) > 0) len += (size_t)read;
  text[len] = 0;
  close(client);
  return text;
}

static inline const char *ask(int port, const char *line, const char *more) {
  char request[4096];
  int client = dial(port);
  snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s", line, more);
  say(client, request);
  return hear(client);
}

static inline int status_of(const char *answer) { return strlen(answer) > 12 ? atoi(answer + 9) : 0; }

static inline size_t count_of(const char *folder) {
  char command[128];
  size_t count = 0;
  FILE *list;
  snprintf(command, sizeof command, "ls /proc/%d/%s | wc -l", (int)getpid(), folder);
  list = popen(command, "r");
  CHECK(list != NULL && fscanf(list, "%zu", &count) == 1);
  pclose(list);
  return count;
}

/* The memory that this process has resident, in KiB. */
static inline size_t resident_kib(void) {
  char line[256];
  size_t kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmRSS: %zu", &kib);
  fclose(status);
  return kib;
}

#endif
