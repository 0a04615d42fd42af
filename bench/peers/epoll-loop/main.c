// The least that an answer over HTTP can cost: one epoll loop that reads whatever arrives, parses nothing, and writes
// the same bytes each time. It counts requests by the reads, so a client must not pipeline.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char ANSWER[] =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 49\r\n"
    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    "\r\n"
    "{\"status\":\"ok\",\"runtime\":\"epoll\",\"version\":\"1.0\"}";

enum { EVENTS_MAX = 256, HEAD_BYTES_MAX = 16384, BACKLOG = 4096 };

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void watch(int epoll, int socket) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) < 0) fail("epoll_ctl");
}

int main(void) {
  const char *port = getenv("PORT");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  address.sin_port = htons((unsigned short)atoi(port ? port : "8080"));
  int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
  if (listener < 0 || epoll < 0) fail("socket");
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
  if (listen(listener, BACKLOG) < 0) fail("listen");
  watch(epoll, listener);
  for (;;) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
    for (int at = 0; at < count; at++) {
      int socket = events[at].data.fd;
      if (socket == listener) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) continue;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(epoll, client);
        continue;
      }
      static char head[HEAD_BYTES_MAX];
      if (read(socket, head, sizeof head) <= 0) {
        close(socket);
      } else if (write(socket, ANSWER, sizeof ANSWER - 1) < 0) {
        close(socket);
      }
    }
  }
}
