/* Servers: what callbacks get and give, and what goes wrong around them. */
#include "check.h"

static sampan_error error;

static sampan_server make(const char *setting) {
  sampan_server server = 0;
  sampan_server_options options = {.size = sizeof options, .listen = "127.0.0.1:0", .workers = 1, .log = quiet};
  options.settings = &setting;
  options.settings_count = setting != NULL;
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_OK);
  CHECK(server != 0);
  return server;
}

static void echo(void *user, const sampan_request *request) {
  sampan_field headers[] = {{"X-Method", 8, request->method, request->method_len},
                            {"X-Remote", 8, request->remote, request->remote_len},
                            {"Content-Type", 12, user, strlen(user)}};
  sampan_response response = {201, headers, 3, request->body, request->body_len};
  SAME(sampan_answer(request->id, &response), SAMPAN_OK);
  SAME(sampan_answer(request->id, &response), SAMPAN_ERROR_ANSWERED);
}

static void show(void *user, const sampan_request *request) {
  const char *value;
  char text[512];
  size_t len;
  (void)user;
  SAME(sampan_request_header(request, "x-NAME", &value, &len), SAMPAN_OK);
  int written = snprintf(text, sizeof text, "%.*s|%.*s|%.*s|", (int)len, value, (int)request->path_len, request->path,
                         (int)request->query_len, request->query);
  SAME(sampan_request_param(request, "id", &value, &len), SAMPAN_OK);
  written += snprintf(text + written, sizeof text - (size_t)written, "%.*s", (int)len, value);
  SAME(sampan_request_param(request, "no", &value, &len), SAMPAN_ERROR_MISSING);
  SAME(sampan_request_header(request, "no", &value, &len), SAMPAN_ERROR_MISSING);
  SAME(sampan_answer_text(request->id, 200, "text/plain", text, (size_t)written), SAMPAN_OK);
}

static void bad_answers(void *user, const sampan_request *request) {
  sampan_field header = {"a b", 3, "c", 1};
  sampan_response response = {200, &header, 1, NULL, 0};
  (void)user;
  SAME(sampan_answer(request->id, NULL), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_answer(request->id, &response), SAMPAN_ERROR_ARGUMENT);
  header = (sampan_field){"a", 1, "b\r\nc: d", 7};
  SAME(sampan_answer(request->id, &response), SAMPAN_ERROR_ARGUMENT);
  response = (sampan_response){99, NULL, 0, NULL, 0};
  SAME(sampan_answer(request->id, &response), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_answer(request->id + 1, &response), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_answer_text(request->id ^ 1, 200, NULL, NULL, 0), SAMPAN_ERROR_HANDLE);
  SAME(sampan_answer_text(0, 200, NULL, NULL, 0), SAMPAN_ERROR_HANDLE);
  SAME(sampan_answer_text(request->id, 204, NULL, NULL, 0), SAMPAN_OK);
}

static void stops(void *user, const sampan_request *request) {
  sampan_server server = *(sampan_server *)user;
  SAME(sampan_server_stop(server, NULL), SAMPAN_ERROR_STATE);
  SAME(sampan_server_free(server), SAMPAN_ERROR_STATE);
  SAME(sampan_server_reload(server, NULL), SAMPAN_ERROR_STATE);
  CHECK(port_of(server) > 0);
  sampan_answer_text(request->id, 200, NULL, "still here", 10);
}

/* Requests that other threads answer. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kept[16384];
static size_t kept_count;

static void keep(void *user, const sampan_request *request) {
  (void)user;
  pthread_mutex_lock(&lock);
  kept[kept_count++] = request->id;
  pthread_mutex_unlock(&lock);
}

static uint64_t wait_for(size_t count) {
  for (int tries = 0; tries < 100000; tries++) {
    pthread_mutex_lock(&lock);
    size_t now = kept_count;
    uint64_t last = now > 0 ? kept[now - 1] : 0;
    pthread_mutex_unlock(&lock);
    if (now >= count) return last;
    usleep(200);
  }
  CHECK(!"a request came");
  return 0;
}

static sampan_status answer_on_thread_status;
static void *answer_on_thread(void *id) {
  answer_on_thread_status = sampan_answer_text(*(uint64_t *)id, 200, NULL, "from another thread", 19);
  return NULL;
}

static sampan_status answered_elsewhere(uint64_t id) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, answer_on_thread, &id) == 0);
  pthread_join(thread, NULL);
  return answer_on_thread_status;
}

static void *stop_it(void *server) {
  SAME(sampan_server_stop(*(sampan_server *)server, NULL), SAMPAN_OK);
  return NULL;
}

static void answers(void) {
  sampan_server server = make("limits.body_bytes_max=10");
  SAME(sampan_server_route(server, "POST", "/echo", echo, "text/x-own", &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/show/:id", show, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, NULL, "/bad", bad_answers, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/stops", stops, &server, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/keep", keep, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int port = port_of(server);
  const char *answer = ask(port, "POST /echo", "Content-Length: 4\r\n\r\nbody");
  SAME(status_of(answer), 201);
  CHECK(strstr(answer, "X-Method: POST\r\n") && strstr(answer, "X-Remote: 127.0.0.1\r\n"));
  CHECK(strstr(answer, "Content-Type: text/x-own\r\n") && strstr(answer, "\r\n\r\nbody"));
  answer = ask(port, "GET /show/a%20b?q=1", "X-Name: n\r\n\r\n");
  CHECK(strstr(answer, "\r\n\r\nn|/show/a%20b|q=1|a b"));
  SAME(status_of(ask(port, "PUT /bad", "Content-Length: 0\r\n\r\n")), 204);
  CHECK(strstr(ask(port, "GET /stops", "\r\n"), "still here"));
  SAME(status_of(ask(port, "POST /echo", "Content-Length: 11\r\n\r\n01234567890")), 413);
  SAME(status_of(ask(port, "GET /nowhere", "\r\n")), 404);
  /* An upload that is broken off never reaches its handler. */
  int client = dial(port);
  say(client, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf");
  close(client);
  /* Answered later, by a thread that the library has never seen. */
  client = dial(port);
  say(client, "GET /keep HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  uint64_t id = wait_for(1);
  SAME(answered_elsewhere(id), SAMPAN_OK);
  SAME(answered_elsewhere(id), SAMPAN_ERROR_ANSWERED);
  CHECK(strstr(hear(client), "from another thread"));
  /* After the client has gone. */
  client = dial(port);
  say(client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
  id = wait_for(2);
  close(client);
  usleep(100000);
  SAME(answered_elsewhere(id), SAMPAN_ERROR_GONE);
  SAME(answered_elsewhere(id), SAMPAN_ERROR_ANSWERED);
  /* A stop waits for requests in flight. */
  client = dial(port);
  say(client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
  id = wait_for(3);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, stop_it, &server) == 0);
  usleep(100000);
  SAME(answered_elsewhere(id), SAMPAN_OK);
  pthread_join(thread, NULL);
  CHECK(strstr(hear(client), "from another thread"));
  SAME(sampan_server_stop(server, &error), SAMPAN_ERROR_STATE);
  SAME(sampan_server_start(server, &error), SAMPAN_ERROR_STATE);
  SAME(sampan_server_free(server), SAMPAN_OK);
  SAME(sampan_server_free(server), SAMPAN_ERROR_HANDLE);
  SAME(sampan_server_stop(server, &error), SAMPAN_ERROR_HANDLE);
  CHECK(strlen(error.message) > 0);
}

/* An answer of a foreign thread after the stop. */
static void after_the_stop(void) {
  sampan_server server = make("limits.shutdown_millis_max=50");
  kept_count = 0;
  SAME(sampan_server_route(server, "GET", "/keep", keep, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int client = dial(port_of(server));
  say(client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
  uint64_t id = wait_for(1);
  SAME(sampan_server_stop(server, &error), SAMPAN_OK);
  SAME(answered_elsewhere(id), SAMPAN_ERROR_GONE);
  SAME(sampan_server_free(server), SAMPAN_OK);
  SAME(answered_elsewhere(id), SAMPAN_ERROR_GONE);
  close(client);
}

static void address_later(void *user, const sampan_request *request) {
  usleep(20000);
  CHECK(port_of(*(sampan_server *)user) > 0);
  sampan_answer_text(request->id, 200, NULL, "known", 5);
}

static void *ask_for_addresses(void *port) {
  for (int at = 0; at < 20; at++) CHECK(strstr(ask(*(int *)port, "GET /address", "\r\n"), "known"));
  return NULL;
}

/* A reload waits for the worker, whose callback asks for the address meanwhile. */
static void reloads_beside_callbacks(void) {
  char folder[] = "/tmp/sampan-c-XXXXXX", file[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(file, sizeof file, "%s/app.lua", folder);
  FILE *script = fopen(file, "w");
  CHECK(script != NULL && fputs("require('sampan').get('/lua', function() return 'Lua' end)\n", script) >= 0);
  fclose(script);
  sampan_server server = 0;
  sampan_server_options options = {.size = sizeof options, .listen = "127.0.0.1:0", .workers = 1, .log = quiet};
  options.project = folder;
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/address", address_later, &server, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int port = port_of(server);
  pthread_t asking;
  CHECK(pthread_create(&asking, NULL, ask_for_addresses, &port) == 0);
  for (int at = 0; at < 5; at++) {
    usleep(30000);
    SAME(sampan_server_reload(server, &error), SAMPAN_OK);
  }
  pthread_join(asking, NULL);
  SAME(sampan_server_free(server), SAMPAN_OK);
  remove(file), rmdir(folder);
}

static int is_inside, may_end;
static void stays(void *user, const sampan_request *request) {
  (void)user;
  __atomic_store_n(&is_inside, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&may_end, __ATOMIC_SEQ_CST)) usleep(200);
  sampan_answer_text(request->id, 200, NULL, "late", 4);
  __atomic_store_n(&is_inside, 0, __ATOMIC_SEQ_CST);
}

/* A stop that cannot wait for a callback any longer says so, and the free after it. */
static void threads_left_behind(void) {
  sampan_server server = make("limits.shutdown_millis_max=50");
  SAME(sampan_server_route(server, "GET", "/stays", stays, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int client = dial(port_of(server));
  say(client, "GET /stays HTTP/1.1\r\nHost: h\r\n\r\n");
  while (!__atomic_load_n(&is_inside, __ATOMIC_SEQ_CST)) usleep(200);
  SAME(sampan_server_stop(server, &error), SAMPAN_ERROR_BUSY);
  CHECK(strcmp(error.message, "a thread was left behind: user and log_user must stay") == 0);
  SAME(sampan_server_free(server), SAMPAN_ERROR_BUSY);
  SAME(sampan_server_free(server), SAMPAN_ERROR_HANDLE);
  __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&is_inside, __ATOMIC_SEQ_CST)) usleep(200);
  close(client);
}

static void wrong_arguments(void) {
  sampan_server server;
  sampan_server_options options = {.size = 1};
  char text[4];
  SAME(sampan_server_new(NULL, &server, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(server, 0);
  SAME(sampan_server_new(&options, NULL, NULL), SAMPAN_ERROR_ARGUMENT);
  server = make(NULL);
  SAME(sampan_server_route(server, "FETCH", "/", echo, "", &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_route(server, "GET", NULL, echo, "", &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_route(server, "GET", "/\xff", echo, "", &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_route(server, "GET", "/", NULL, "", &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_queue_route(server, "GET", "/", SAMPAN_TAG_GONE, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_address(server, 0, text, sizeof text), SAMPAN_ERROR_STATE);
  SAME(sampan_server_reload(server, NULL), SAMPAN_ERROR_STATE);
  SAME(sampan_server_stop(server, NULL), SAMPAN_ERROR_STATE);
  SAME(sampan_server_route(server, "GET", "/a/:b", echo, "", &error), SAMPAN_OK);
  SAME(sampan_server_route(server, "GET", "/a/:c", echo, "", &error), SAMPAN_ERROR_ARGUMENT);
  CHECK(strcmp(error.message, "GET /a/:c is already declared as /a/:b") == 0);
  SAME(sampan_server_route(server, NULL, "a", echo, "", &error), SAMPAN_ERROR_ARGUMENT);
  CHECK(strncmp(error.message, "ALL a: the pattern must begin with '/'", 38) == 0);
  SAME(sampan_server_free(server), SAMPAN_OK);
  /* What faults call the options. */
  options = (sampan_server_options){.size = sizeof options, .listen = ":8080", .log = quiet};
  SAME(sampan_server_new(&options, &server, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_ERROR_CONFIG);
  CHECK(strncmp(error.message, "listen: [server] listen: ", 25) == 0);
  SAME(sampan_server_start(server, &error), SAMPAN_ERROR_STATE);
  SAME(sampan_server_free(server), SAMPAN_OK);
  server = make(NULL);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  SAME(sampan_server_address(server, 0, text, sizeof text), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_address(server, 1, text, sizeof text), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_server_route(server, "GET", "/x", echo, "", &error), SAMPAN_ERROR_STATE);
  /* The port of one is taken for another. */
  char listen[64];
  sampan_server second;
  SAME(sampan_server_address(server, 0, listen, sizeof listen), SAMPAN_OK);
  options = (sampan_server_options){.size = sizeof options, .listen = listen, .log = quiet};
  SAME(sampan_server_new(&options, &second, &error), SAMPAN_OK);
  SAME(sampan_server_start(second, &error), SAMPAN_ERROR_ADDRESS);
  CHECK(strstr(error.message, "is in use"));
  SAME(sampan_server_free(second), SAMPAN_OK);
  SAME(sampan_server_free(server), SAMPAN_OK);
  options.project = "/nowhere/at/all";
  SAME(sampan_server_new(&options, &second, &error), SAMPAN_OK);
  SAME(sampan_server_start(second, &error), SAMPAN_ERROR_CONFIG);
  SAME(sampan_server_free(second), SAMPAN_OK);
  for (uint64_t handle = 0; handle < 100; handle++) {
    SAME(sampan_server_free(handle * 0x123456789abcdefull), SAMPAN_ERROR_HANDLE);
    SAME(sampan_scripts_free(handle << 56 | 1), SAMPAN_ERROR_HANDLE);
    SAME(sampan_reply_free(handle << 56), SAMPAN_ERROR_HANDLE);
  }
}

/* Clients that leave before their answer: nothing may pile up. */
static void clients_that_leave(int count) {
  sampan_server server = make(NULL);
  kept_count = 0;
  SAME(sampan_server_route(server, "GET", "/keep", keep, NULL, &error), SAMPAN_OK);
  SAME(sampan_server_start(server, &error), SAMPAN_OK);
  int port = port_of(server);
  size_t files = 0, memory = 0;
  for (int at = 0; at < count; at++) {
    int client = dial(port);
    say(client, "GET /keep HTTP/1.1\r\nHost: h\r\n\r\n");
    uint64_t id = wait_for((size_t)at + 1);
    close(client);
    sampan_status status = sampan_answer_text(id, 200, NULL, "late", 4);
    CHECK(status == SAMPAN_OK || status == SAMPAN_ERROR_GONE);
    if (at == count / 2) files = count_of("fd"), memory = resident_kib();
  }
  usleep(100000);
  CHECK(count_of("fd") <= files + 1);
  /* valgrind keeps freed blocks and translated code: only many clients say something of memory. */
  if (count >= 1000) CHECK(resident_kib() <= memory + 4096);
  SAME(sampan_server_free(server), SAMPAN_OK);
}

static void cycles(int count) {
  size_t threads = 0, files = 0;
  for (int at = 0; at < count; at++) {
    sampan_server server = make(NULL);
    SAME(sampan_server_route(server, "POST", "/echo", echo, "text/plain", &error), SAMPAN_OK);
    SAME(sampan_server_start(server, &error), SAMPAN_OK);
    SAME(status_of(ask(port_of(server), "POST /echo", "Content-Length: 1\r\n\r\nx")), 201);
    SAME(sampan_server_free(server), SAMPAN_OK);
    if (at == count / 2) threads = count_of("task"), files = count_of("fd");
  }
  usleep(200000);
  CHECK(count_of("task") <= threads + 1);
  CHECK(count_of("fd") <= files + 1);
}

int main(int count, char **arguments) {
  int times = count > 1 ? atoi(arguments[1]) : 10;
  answers();
  after_the_stop();
  reloads_beside_callbacks();
  threads_left_behind();
  wrong_arguments();
  clients_that_leave(10 * times);
  cycles(times);
  CHECK(strlen(sampan_version()) > 0);
  puts("ok");
  return 0;
}
