/* Answers that are written piece by piece. */
#include "check.h"

static sampan_error error;
static char piece[64 << 10];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sampan_stream open_stream;

static sampan_stream begin(const sampan_request *request) {
  sampan_field type = {"Content-Type", 12, "text/x-own", 10};
  sampan_response response = {200, &type, 1, "begun ", 6};
  sampan_stream stream = 1;
  SAME(sampan_answer_begin(request->id, &response, &stream), SAMPAN_OK);
  CHECK(stream != 0);
  sampan_stream second = 1;
  SAME(sampan_answer_begin(request->id, &response, &second), SAMPAN_ERROR_ANSWERED);
  SAME(second, 0);
  SAME(sampan_answer(request->id, &response), SAMPAN_ERROR_ANSWERED);
  return stream;
}

/* Leaves the stream to another thread. */
static void leave(void *user, const sampan_request *request) {
  sampan_stream stream = begin(request);
  (void)user;
  pthread_mutex_lock(&lock);
  open_stream = stream;
  pthread_mutex_unlock(&lock);
}

static void at_once(void *user, const sampan_request *request) {
  sampan_stream stream = begin(request);
  (void)user;
  SAME(sampan_stream_write(stream, "and ended", 9, -1), SAMPAN_OK);
  SAME(sampan_stream_end(stream, 1), SAMPAN_OK);
  SAME(sampan_stream_end(stream, 1), SAMPAN_ERROR_HANDLE);
  SAME(sampan_stream_write(stream, "x", 1, -1), SAMPAN_ERROR_HANDLE);
}

/* In a callback nothing waits: nobody would make room. */
static void fills(void *user, const sampan_request *request) {
  sampan_stream stream = begin(request);
  sampan_status status = SAMPAN_OK;
  (void)user;
  for (int at = 0; at < 100 && status == SAMPAN_OK; at++) status = sampan_stream_write(stream, piece, sizeof piece, -1);
  SAME(status, SAMPAN_TIMEOUT);
  SAME(sampan_stream_end(stream, 1), SAMPAN_OK);
}

static sampan_stream next_stream(void) {
  for (int tries = 0; tries < 100000; tries++) {
    pthread_mutex_lock(&lock);
    sampan_stream stream = open_stream;
    open_stream = 0;
    pthread_mutex_unlock(&lock);
    if (stream != 0) return stream;
    usleep(200);
  }
  CHECK(!"a request came");
  return 0;
}

static int asking(int port, const char *method) {
  char request[128];
  int client = dial(port);
  snprintf(request, sizeof request, "%s /leave HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", method);
  say(client, request);
  return client;
}

static void until_gone(sampan_stream stream) {
  sampan_status status = SAMPAN_OK;
  for (int tries = 0; tries < 100000 && status == SAMPAN_OK; tries++) {
    status = sampan_stream_write(stream, "", 0, -1);
    usleep(200);
  }
  SAME(status, SAMPAN_ERROR_GONE);
  SAME(sampan_stream_end(stream, 1), SAMPAN_ERROR_GONE);
}

static void *write_much(void *given) {
  sampan_stream stream = *(sampan_stream *)given;
  for (int at = 0; at < 1600; at++) SAME(sampan_stream_write(stream, piece, sizeof piece, -1), SAMPAN_OK);
  SAME(sampan_stream_end(stream, 1), SAMPAN_OK);
  return NULL;
}

int main(void) {
  sampan_server server = 0;
  sampan_server_options options = {.size = sizeof options, .listen = "127.0.0.1:0", .workers = 1, .log = quiet};
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/leave", leave, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/at-once", at_once, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/fills", fills, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int port = port_of(server);

  const char *answer = ask(port, "GET /at-once", "\r\n");
  CHECK(strstr(answer, "Content-Type: text/x-own\r\n") && strstr(answer, "begun ") && strstr(answer, "and ended"));
  CHECK(strstr(answer, "0\r\n\r\n"));
  CHECK(status_of(ask(port, "GET /fills", "\r\n")) == 200);

  /* Each piece is sent as soon as it is there. */
  int client = asking(port, "GET");
  sampan_stream stream = next_stream();
  char text[4096] = "";
  size_t len = 0;
  SAME(sampan_stream_write(stream, "now", 3, -1), SAMPAN_OK);
  while (strstr(text, "now") == NULL) {
    ssize_t read = recv(client, text + len, sizeof text - len - 1, 0);
    CHECK(read > 0);
    len += (size_t)read;
    text[len] = 0;
  }
  SAME(sampan_stream_end(stream, 1), SAMPAN_OK);
  CHECK(strstr(hear(client), "0\r\n\r\n"));

  /* One that is given up has no end. */
  client = asking(port, "GET");
  stream = next_stream();
  SAME(sampan_stream_end(stream, 0), SAMPAN_OK);
  answer = hear(client);
  CHECK(status_of(answer) == 200 && strstr(answer, "0\r\n\r\n") == NULL);

  /* A client that reads slowly slows the writer down, and gets all of it in the end. */
  client = asking(port, "GET");
  stream = next_stream();
  size_t before = resident_kib();
  sampan_status status = SAMPAN_OK;
  while (status == SAMPAN_OK) status = sampan_stream_write(stream, piece, sizeof piece, 200);
  SAME(status, SAMPAN_TIMEOUT);
  pthread_t writer;
  CHECK(pthread_create(&writer, NULL, write_much, &stream) == 0);
  size_t received = 0;
  static char sink[1 << 16];
  for (ssize_t read; (read = recv(client, sink, sizeof sink, 0)) > 0;) received += (size_t)read;
  close(client);
  pthread_join(writer, NULL);
  CHECK(received > 1600 * sizeof piece);
  /* Valgrind keeps 20 MB that was freed. */
  CHECK(resident_kib() < before + 48 * 1024);

  /* A client that leaves, and one that asks for the head alone. */
  client = asking(port, "GET");
  stream = next_stream();
  close(client);
  until_gone(stream);
  client = asking(port, "HEAD");
  stream = next_stream();
  until_gone(stream);
  answer = hear(client);
  CHECK(status_of(answer) == 200 && strstr(answer, "begun") == NULL);

  /* What is open at the end is nobody's any more. */
  client = asking(port, "GET");
  stream = next_stream();
  SAME(sampan_server_free(server), SAMPAN_OK);
  until_gone(stream);
  close(client);
  puts("ok");
  return 0;
}
