/* Requests and answers in batches. */
#include "check.h"

static sampan_error error;
static uint64_t buffer[1 << 15];

static sampan_server serve(const char *setting) {
  sampan_server server = 0;
  sampan_server_options options = {.size = sizeof options, .listen = "127.0.0.1:0", .workers = 2, .log = quiet};
  options.settings = &setting;
  options.settings_count = setting != NULL;
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_OK);
  SAME(sampan_server_queue_route(server, "POST", "/q/:id", 7, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  return server;
}

/* An entry of an answer with a header and a body. */
static size_t put(char *to, uint64_t id, uint32_t status, const char *name, const char *value, const char *body) {
  sampan_lengths lengths = {(uint32_t)strlen(name), (uint32_t)strlen(value)};
  sampan_answer_entry entry = {.id = id, .status = status, .header_count = 1, .body_len = (uint32_t)strlen(body)};
  size_t used = sizeof entry + sizeof lengths + lengths.name_len + lengths.value_len + entry.body_len;
  char *at = to;
  entry.size = (uint32_t)((used + 7) / 8 * 8);
  memset(to, 0, entry.size);
  memcpy(at, &entry, sizeof entry), at += sizeof entry;
  memcpy(at, &lengths, sizeof lengths), at += sizeof lengths;
  memcpy(at, name, lengths.name_len), at += lengths.name_len;
  memcpy(at, value, lengths.value_len), at += lengths.value_len;
  memcpy(at, body, entry.body_len);
  return entry.size;
}

static sampan_status code_of(const void *entry) { return ((const sampan_answer_entry *)entry)->code; }

static sampan_request_entry next_entry(sampan_server server) {
  size_t len = 0;
  sampan_request_entry entry;
  SAME(sampan_server_next(server, 20000, buffer, sizeof buffer, &len), SAMPAN_OK);
  memcpy(&entry, buffer, sizeof entry);
  SAME(entry.size, len);
  return entry;
}

static void one_at_a_time(void) {
  static uint64_t answers[256];
  char *at = (char *)answers;
  size_t len = 99;
  sampan_server server = serve(NULL);
  int port = port_of(server);
  SAME(sampan_server_next(server, 0, buffer, sizeof buffer, &len), SAMPAN_TIMEOUT);
  SAME(len, 0);
  SAME(sampan_server_next(server, 30, buffer, sizeof buffer, &len), SAMPAN_TIMEOUT);
  SAME(sampan_server_next(server, 0, NULL, 9, &len), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_next(server, 0, buffer, sizeof buffer, NULL), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_next(server + 1, 0, buffer, sizeof buffer, &len), SAMPAN_ERROR_HANDLE);
  int client = dial(port);
  say(client, "POST /q/a%20b?x HTTP/1.1\r\nHost: h\r\nX-A: v\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody");
  while (sampan_server_next(server, 20, buffer, 16, &len) == SAMPAN_TIMEOUT) {
  }
  CHECK(len > 40 && len % 8 == 0);
  sampan_request_entry entry = next_entry(server);
  SAME(entry.tag, 7);
  SAME(entry.header_count, 4);
  SAME(entry.param_count, 1);
  const sampan_lengths *lengths = (const sampan_lengths *)((sampan_request_entry *)buffer + 1);
  const char *text = (const char *)(lengths + 5);
  const char *wanted = "POST/q/a%20b?x127.0.0.1HosthX-AvConnectioncloseContent-Length4ida bbody";
  CHECK(memcmp(text, wanted, strlen(wanted)) == 0);
  /* What cannot be sent is still to be answered. */
  size_t used = put(at, entry.id, 200, "bad name", "v", "");
  SAME(sampan_server_answer(server, answers, used), SAMPAN_OK);
  SAME(code_of(answers), SAMPAN_ERROR_ARGUMENT);
  used = put(at, entry.id, 202, "X-B", "w", "the answer");
  used += put(at + used, entry.id, 200, "X-B", "w", "again");
  size_t third = used;
  used += put(at + used, 12345, 200, "X-B", "w", "unknown");
  SAME(sampan_server_answer(server, answers, used), SAMPAN_OK);
  SAME(code_of(at), SAMPAN_OK);
  SAME(code_of(at + ((sampan_answer_entry *)at)->size), SAMPAN_ERROR_ANSWERED);
  SAME(code_of(at + third), SAMPAN_ERROR_HANDLE);
  const char *answer = hear(client);
  SAME(status_of(answer), 202);
  CHECK(strstr(answer, "X-B: w\r\n") && strstr(answer, "\r\n\r\nthe answer"));
  /* Bytes that are no entries. */
  memset(answers, 0xff, sizeof answers);
  SAME(sampan_server_answer(server, answers, sizeof answers), SAMPAN_ERROR_ARGUMENT);
  memset(answers, 0, sizeof answers);
  SAME(sampan_server_answer(server, answers, sizeof answers), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_answer(server, answers, 7), SAMPAN_ERROR_ARGUMENT);
  used = put(at, 1, 200, "a", "b", "c");
  ((sampan_answer_entry *)at)->body_len = 0xfffffff0;
  SAME(sampan_server_answer(server, answers, used), SAMPAN_ERROR_ARGUMENT);
  ((sampan_answer_entry *)at)->header_count = 0xffffffff;
  SAME(sampan_server_answer(server, answers, used), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_answer(server, NULL, 0), SAMPAN_OK);
  SAME(sampan_server_answer(server, NULL, 40), SAMPAN_ERROR_ARGUMENT);
  /* A client that leaves is told of, once. */
  client = dial(port);
  say(client, "POST /q/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  entry = next_entry(server);
  close(client);
  sampan_request_entry gone = next_entry(server);
  SAME(gone.tag, SAMPAN_TAG_GONE);
  SAME(gone.size, 40);
  CHECK(gone.id == entry.id);
  used = put(at, entry.id, 200, "a", "b", "c");
  SAME(sampan_server_answer(server, answers, used), SAMPAN_OK);
  SAME(code_of(answers), SAMPAN_ERROR_GONE);
  SAME(sampan_server_next(server, 20, buffer, sizeof buffer, &len), SAMPAN_TIMEOUT);
  SAME(sampan_server_free(server), SAMPAN_OK);
}

/* A client whose time is up is told of with the name of the limit. */
static void too_late(void) {
  sampan_server server = serve("limits.handler_millis_max=50");
  int client = dial(port_of(server));
  say(client, "POST /q/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  sampan_request_entry entry = next_entry(server), gone = next_entry(server);
  SAME(gone.tag, SAMPAN_TAG_GONE);
  CHECK(gone.id == entry.id);
  SAME(gone.body_len, strlen("handler_millis_max"));
  CHECK(memcmp((char *)buffer + sizeof gone, "handler_millis_max", gone.body_len) == 0);
  close(client);
  SAME(sampan_server_free(server), SAMPAN_OK);
}

static int answered;
static void *answer_all(void *given) {
  sampan_server server = *(sampan_server *)given;
  uint64_t *requests = malloc(1 << 16), *answers = malloc(1 << 20);
  for (;;) {
    size_t len, used = 0;
    sampan_status status = sampan_server_next(server, -1, requests, 1 << 16, &len);
    if (status == SAMPAN_ERROR_STOPPED) break;
    SAME(status, SAMPAN_OK);
    for (char *at = (char *)requests; at < (char *)requests + len;) {
      sampan_request_entry entry;
      memcpy(&entry, at, sizeof entry);
      if (entry.tag != SAMPAN_TAG_GONE) {
        used += put((char *)answers + used, entry.id, 200, "X-B", "w", "many");
        __atomic_fetch_add(&answered, 1, __ATOMIC_SEQ_CST);
      }
      at += entry.size;
    }
    SAME(sampan_server_answer(server, answers, used), SAMPAN_OK);
  }
  free(requests), free(answers);
  return NULL;
}

/* Many clients, several threads that answer, and a stop that ends them. */
static void many(int count) {
  pthread_t threads[3];
  sampan_server server = serve(NULL);
  int port = port_of(server), clients[8];
  for (int at = 0; at < 3; at++) CHECK(pthread_create(&threads[at], NULL, answer_all, &server) == 0);
  for (int round = 0; round < count; round++) {
    for (int at = 0; at < 8; at++) {
      clients[at] = dial(port);
      say(clients[at], "POST /q/1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
    for (int at = 0; at < 8; at++) CHECK(strstr(hear(clients[at]), "\r\n\r\nmany"));
  }
  SAME(sampan_server_stop(server, NULL), SAMPAN_OK);
  for (int at = 0; at < 3; at++) pthread_join(threads[at], NULL);
  SAME(answered, count * 8);
  SAME(sampan_server_free(server), SAMPAN_OK);
}

/* Requests that nobody takes or answers end with the server. */
static void unanswered(void) {
  size_t len;
  static uint64_t answers[64];
  sampan_server server = serve("limits.shutdown_millis_max=50");
  int first = dial(port_of(server)), second = dial(port_of(server));
  say(first, "POST /q/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  sampan_request_entry entry = next_entry(server);
  say(second, "POST /q/2 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  SAME(sampan_server_stop(server, &error), SAMPAN_OK);
  size_t used = put((char *)answers, entry.id, 200, "a", "b", "c");
  SAME(sampan_server_answer(server, answers, used), SAMPAN_OK);
  SAME(code_of(answers), SAMPAN_ERROR_GONE);
  while (sampan_server_next(server, -1, buffer, sizeof buffer, &len) == SAMPAN_OK) {
  }
  SAME(sampan_server_next(server, -1, buffer, sizeof buffer, &len), SAMPAN_ERROR_STOPPED);
  SAME(sampan_server_free(server), SAMPAN_OK);
  SAME(sampan_server_next(server, -1, buffer, sizeof buffer, &len), SAMPAN_ERROR_HANDLE);
  close(first), close(second);
}

int main(int count, char **arguments) {
  one_at_a_time();
  too_late();
  many(count > 1 ? atoi(arguments[1]) : 20);
  unanswered();
  puts("ok");
  return 0;
}
