/* Scripts without a server: waited for, and in batches. */
#define _GNU_SOURCE
#include "check.h"

static sampan_error error;
static uint64_t buffer[1 << 13];

static const char *LUA =
    "local app = require 'sampan'\n"
    "function add(a, b) return a + b end\n"
    "function fails()\n"
    "  error('on purpose')\n"
    "end\n"
    "function forever() while true do end end\n"
    "function sleeps() app.time.sleep(60000) end\n"
    "app.post('/echo/:x', function(req) return app.text(req.params.x .. req:text() .. req.ip, { headers = { ['X-A'] = 'b' } }) end)\n"
    "app.get('/fails', fails)\n";

static const char *JS =
    "import { app, text, time } from 'sampan';\n"
    "export const add = (a, b) => a + b;\n"
    "export function fails() {\n"
    "  throw new Error('on purpose');\n"
    "}\n"
    "export function forever() { for (;;); }\n"
    "export const sleeps = () => time.sleep(60000);\n"
    "app.post('/echo/:x', async (req) => text(req.params.x + (await req.text()) + req.ip, { headers: { 'X-A': 'b' } }));\n"
    "app.get('/fails', fails);\n";

static sampan_scripts load(const char *name, const char *text) {
  sampan_scripts scripts;
  const char *setting = "limits.script_millis_max=60000";
  sampan_scripts_options options = {.size = sizeof options, .text = text, .text_len = strlen(text), .name = name,
                                    .workers = 2, .reload_millis = -1, .log = quiet,
                                    .settings = &setting, .settings_count = 1};
  if (sampan_scripts_new(&options, &scripts, &error) != SAMPAN_OK) fprintf(stderr, "%s\n", error.message);
  CHECK(scripts != 0);
  return scripts;
}

static sampan_status call(sampan_scripts scripts, const char *function, const char *arguments, int64_t timeout,
                          sampan_reply *reply) {
  return sampan_scripts_call(scripts, function, arguments, arguments ? strlen(arguments) : 0, timeout, reply, &error);
}

static void waited_for(const char *name, const char *text, unsigned line) {
  sampan_scripts scripts = load(name, text);
  sampan_reply reply;
  SAME(call(scripts, "add", "[20, 22]", -1, &reply), SAMPAN_OK);
  SAME(reply.status, 200);
  CHECK(reply.body_len == 2 && memcmp(reply.body, "42", 2) == 0);
  SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  SAME(sampan_reply_free(reply.handle), SAMPAN_ERROR_HANDLE);
  SAME(call(scripts, "fails", NULL, -1, &reply), SAMPAN_ERROR_SCRIPT);
  SAME(error.line, line);
  CHECK(strcmp(error.file, name) == 0 && strstr(error.message, "on purpose"));
  SAME(error.code, SAMPAN_ERROR_SCRIPT);
  SAME(call(scripts, "nothing", NULL, -1, &reply), SAMPAN_ERROR_MISSING);
  SAME(call(scripts, "add", "{}", -1, &reply), SAMPAN_ERROR_ARGUMENT);
  SAME(call(scripts, "add", "[", -1, &reply), SAMPAN_ERROR_ARGUMENT);
  SAME(call(scripts, NULL, "[]", -1, &reply), SAMPAN_ERROR_ARGUMENT);
  SAME(call(scripts, "forever", NULL, 50, &reply), SAMPAN_ERROR_CANCELLED);
  SAME(call(scripts, "sleeps", NULL, 50, &reply), SAMPAN_ERROR_CANCELLED);
  sampan_field header = {"X-B", 3, "c", 1};
  sampan_request request = {.method = "POST", .method_len = 4, .target = "/echo/a%20b", .target_len = 11,
                            .remote = "10.1.2.3", .remote_len = 8, .headers = &header, .header_count = 1,
                            .body = "body", .body_len = 4};
  SAME(sampan_scripts_handle(scripts, &request, -1, &reply, &error), SAMPAN_OK);
  SAME(reply.status, 200);
  SAME(error.code, SAMPAN_OK);
  CHECK(reply.body_len == 15 && memcmp(reply.body, "a bbody10.1.2.3", 15) == 0);
  int has_header = 0;
  for (size_t at = 0; at < reply.header_count; at++) {
    const sampan_field *field = &reply.headers[at];
    has_header |= field->name_len == 3 && strncasecmp(field->name, "X-A", 3) == 0 && field->value[0] == 'b';
  }
  CHECK(has_header);
  SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  /* An error that the script leaves unhandled is told behind its answer. */
  sampan_request failing = {.method = "GET", .method_len = 3, .target = "/fails", .target_len = 6};
  SAME(sampan_scripts_handle(scripts, &failing, -1, &reply, &error), SAMPAN_OK);
  SAME(reply.status, 500);
  SAME(error.code, SAMPAN_ERROR_SCRIPT);
  CHECK(error.line == line && strcmp(error.file, name) == 0 && strncmp(error.message, "on purpose", 10) == 0);
  SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  SAME(sampan_scripts_handle(scripts, &failing, -1, &reply, NULL), SAMPAN_OK);
  SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  header.value = "c\r\nX: y", header.value_len = 7;
  SAME(sampan_scripts_handle(scripts, &request, -1, &reply, &error), SAMPAN_ERROR_ARGUMENT);
  header.value_len = 1;
  /* As a server has it for the client of a Unix socket. */
  request.remote = "unix:", request.remote_len = 5;
  SAME(sampan_scripts_handle(scripts, &request, -1, &reply, &error), SAMPAN_OK);
  CHECK(reply.body_len == 16 && memcmp(reply.body, "a bbody127.0.0.1", 16) == 0);
  SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  request.remote = "nobody", request.remote_len = 6;
  SAME(sampan_scripts_handle(scripts, &request, -1, &reply, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_scripts_handle(scripts, NULL, -1, &reply, &error), SAMPAN_ERROR_ARGUMENT);
  /* NULL is empty with length 0 only. */
  SAME(sampan_scripts_call(scripts, "add", NULL, 5, -1, &reply, &error), SAMPAN_ERROR_ARGUMENT);
  CHECK(strstr(error.message, "arguments is NULL"));
  sampan_request hollow = failing;
  hollow.body_len = 4;
  SAME(sampan_scripts_handle(scripts, &hollow, -1, &reply, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_scripts_reload(scripts, &error), SAMPAN_OK);
  SAME(sampan_scripts_free(scripts), SAMPAN_OK);
  SAME(sampan_scripts_free(scripts), SAMPAN_ERROR_HANDLE);
  SAME(call(scripts, "add", "[1, 1]", -1, &reply), SAMPAN_ERROR_HANDLE);
}

/* An entry of a request without headers. */
static size_t put(char *to, uint64_t id, uint32_t tag, const char *method, const char *target, const char *body) {
  sampan_request_entry entry = {.id = id, .tag = tag, .method_len = (uint32_t)strlen(method),
                                .target_len = (uint32_t)strlen(target), .body_len = (uint32_t)strlen(body)};
  size_t used = sizeof entry + entry.method_len + entry.target_len + entry.body_len;
  entry.size = (uint32_t)((used + 7) / 8 * 8);
  memset(to, 0, entry.size);
  memcpy(to, &entry, sizeof entry);
  memcpy(to + sizeof entry, method, entry.method_len);
  memcpy(to + sizeof entry + entry.method_len, target, entry.target_len);
  memcpy(to + sizeof entry + entry.method_len + entry.target_len, body, entry.body_len);
  return entry.size;
}

/* The next answer. */
static sampan_answer_entry next_answer(sampan_scripts scripts, const char **body, const char **message) {
  size_t len;
  static uint64_t answer[1 << 12];
  sampan_answer_entry entry;
  static char text[1 << 14], told[1 << 14];
  SAME(sampan_scripts_next(scripts, 20000, answer, 1, &len), SAMPAN_SMALL_BUFFER);
  SAME(sampan_scripts_next(scripts, 20000, answer, len, &len), SAMPAN_OK);
  memcpy(&entry, answer, sizeof entry);
  const sampan_lengths *lengths = (const sampan_lengths *)((sampan_answer_entry *)answer + 1);
  const char *at = (const char *)(lengths + entry.header_count);
  for (size_t header = 0; header < entry.header_count; header++) at += lengths[header].name_len + lengths[header].value_len;
  at += entry.file_len;
  snprintf(told, sizeof told, "%.*s", (int)entry.message_len, at);
  snprintf(text, sizeof text, "%.*s", (int)entry.body_len, at + entry.message_len);
  *body = text;
  *message = told;
  return entry;
}

static void wait_until_it_waits(sampan_scripts scripts) {
  size_t len;
  while (sampan_scripts_next(scripts, 0, buffer, 1, &len) != SAMPAN_SMALL_BUFFER) usleep(1000);
}

static void batches(const char *name, const char *text, unsigned line) {
  sampan_scripts scripts = load(name, text);
  char *at = (char *)buffer;
  const char *body, *message;
  size_t len = 0, taken;
  len += put(at + len, 1, SAMPAN_CALL, "", "add", "[1, 2]");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_OK);
  SAME(taken, 1);
  wait_until_it_waits(scripts);
  sampan_answer_entry entry = next_answer(scripts, &body, &message);
  CHECK(entry.id == 1 && entry.code == SAMPAN_OK && entry.status == 200 && strcmp(body, "3") == 0);
  len = put(at, 2, SAMPAN_CALL, "", "fails", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_OK);
  wait_until_it_waits(scripts);
  entry = next_answer(scripts, &body, &message);
  CHECK(entry.id == 2 && entry.code == SAMPAN_ERROR_SCRIPT && entry.line == line && strstr(message, "on purpose"));
  CHECK(entry.status == 0 && entry.body_len == 0);
  SAME(entry.file_len, strlen(name));
  len = put(at, 2, SAMPAN_HANDLE, "GET", "/fails", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_OK);
  wait_until_it_waits(scripts);
  entry = next_answer(scripts, &body, &message);
  CHECK(entry.id == 2 && entry.status == 500 && entry.code == SAMPAN_ERROR_SCRIPT && entry.line == line);
  CHECK(strncmp(message, "on purpose", 10) == 0 && strstr(body, "{\"error\""));
  len = put(at, 3, SAMPAN_HANDLE, "POST", "/echo/x", "body");
  len += put(at + len, 3, SAMPAN_HANDLE, "POST", "/echo/x", "body");
  sampan_status status = sampan_scripts_submit(scripts, buffer, len, &taken);
  /* The second has the id of one that may be under way. */
  CHECK((status == SAMPAN_ERROR_ARGUMENT && taken == 1) || (status == SAMPAN_OK && taken == 2));
  wait_until_it_waits(scripts);
  for (size_t left = taken; left > 0; left--) {
    wait_until_it_waits(scripts);
    entry = next_answer(scripts, &body, &message);
    CHECK(entry.id == 3 && entry.status == 200 && strcmp(body, "xbody127.0.0.1") == 0);
  }
  /* Given up: one that runs, one that waits. */
  len = put(at, 4, SAMPAN_CALL, "", "forever", "");
  len += put(at + len, 5, SAMPAN_CALL, "", "sleeps", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_OK);
  usleep(50000);
  for (uint64_t id = 4; id < 6; id++) {
    SAME(sampan_scripts_cancel(scripts, id), SAMPAN_OK);
    wait_until_it_waits(scripts);
    entry = next_answer(scripts, &body, &message);
    CHECK(entry.id == id && entry.code == SAMPAN_ERROR_CANCELLED);
    SAME(sampan_scripts_cancel(scripts, id), SAMPAN_ERROR_HANDLE);
  }
  SAME(sampan_scripts_cancel(scripts, 99), SAMPAN_ERROR_HANDLE);
  /* What is no entry. */
  SAME(sampan_scripts_submit(scripts, NULL, 0, &taken), SAMPAN_OK);
  SAME(sampan_scripts_submit(scripts, NULL, 40, &taken), SAMPAN_ERROR_ARGUMENT);
  memset(buffer, 0xff, 256);
  SAME(sampan_scripts_submit(scripts, buffer, 256, &taken), SAMPAN_ERROR_ARGUMENT);
  SAME(taken, 0);
  len = put(at, 6, 9, "", "add", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_ERROR_ARGUMENT);
  len = put(at, 6, SAMPAN_HANDLE, "G T", "/", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_ERROR_ARGUMENT);
  /* Behind what is refused the rest can be handed over. */
  size_t refused = put(at, 6, SAMPAN_HANDLE, "G T", "/", "");
  len = refused + put(at + refused, 8, SAMPAN_CALL, "", "add", "[1, 2]");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_ERROR_ARGUMENT);
  SAME(taken, 0);
  SAME(sampan_scripts_submit(scripts, at + refused, len - refused, &taken), SAMPAN_OK);
  SAME(taken, 1);
  wait_until_it_waits(scripts);
  entry = next_answer(scripts, &body, &message);
  CHECK(entry.id == 8 && strcmp(body, "3") == 0);
  /* What is under way at the end is answered too. */
  len = put(at, 7, SAMPAN_CALL, "", "sleeps", "");
  SAME(sampan_scripts_submit(scripts, buffer, len, &taken), SAMPAN_OK);
  SAME(sampan_scripts_free(scripts), SAMPAN_OK);
}

static void *handle_many(void *given) {
  sampan_scripts scripts = *(sampan_scripts *)given;
  for (int at = 0; at < 50; at++) {
    sampan_reply reply;
    sampan_error own;
    SAME(sampan_scripts_call(scripts, "add", "[1, 2]", 6, -1, &reply, &own), SAMPAN_OK);
    CHECK(reply.body[0] == '3');
    SAME(sampan_reply_free(reply.handle), SAMPAN_OK);
  }
  return NULL;
}

static void many_threads(const char *name, const char *text) {
  pthread_t threads[4];
  sampan_scripts scripts = load(name, text);
  for (int at = 0; at < 4; at++) CHECK(pthread_create(&threads[at], NULL, handle_many, &scripts) == 0);
  for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
  SAME(sampan_scripts_free(scripts), SAMPAN_OK);
}

static void faults_of_loading(void) {
  sampan_scripts scripts = 1;
  sampan_scripts_options options = {.size = sizeof options, .log = quiet};
  SAME(sampan_scripts_new(NULL, &scripts, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(sampan_scripts_new(&options, &scripts, &error), SAMPAN_ERROR_ARGUMENT);
  SAME(scripts, 0);
  CHECK(strcmp(error.message, "path and text are NULL: there is no script") == 0);
  options.name = "a.lua", options.text = "local x = 1\nx = = 2", options.text_len = 19;
  SAME(sampan_scripts_new(&options, &scripts, &error), SAMPAN_ERROR_LOAD);
  CHECK(error.line == 2 && strcmp(error.file, "a.lua") == 0);
  CHECK(strstr(error.message, "call.lua") == NULL);
  options.path = "/nowhere/at/all.lua";
  SAME(sampan_scripts_new(&options, &scripts, NULL), SAMPAN_ERROR_ARGUMENT);
  options.text = NULL;
  SAME(sampan_scripts_new(&options, &scripts, NULL), SAMPAN_ERROR_LOAD);
}

static int log_began, log_ended;
static void slow_log(void *user, int32_t level, const char *line, size_t len) {
  (void)user, (void)level;
  if (memmem(line, len, "not reloaded", 12) == NULL) return;
  __atomic_store_n(&log_began, 1, __ATOMIC_SEQ_CST);
  usleep(300000);
  __atomic_store_n(&log_ended, 1, __ATOMIC_SEQ_CST);
}

static void *reload_it(void *scripts) {
  sampan_error own;
  SAME(sampan_scripts_reload(*(sampan_scripts *)scripts, &own), SAMPAN_ERROR_LOAD);
  return NULL;
}

static void write_script(const char *file, const char *text) {
  FILE *script = fopen(file, "w");
  CHECK(script != NULL && fputs(text, script) >= 0);
  fclose(script);
}

/* The end of scripts waits for a reload on another thread, which still uses the log. */
static void freed_during_a_reload(void) {
  char folder[] = "/tmp/sampan-c-XXXXXX", file[64];
  sampan_scripts scripts = 0;
  pthread_t reloading;
  CHECK(mkdtemp(folder) != NULL);
  snprintf(file, sizeof file, "%s/app.lua", folder);
  write_script(file, "function add(a, b) return a + b end\n");
  sampan_scripts_options options = {.size = sizeof options, .path = file, .workers = 1, .reload_millis = -1,
                                    .log = slow_log};
  SAME(sampan_scripts_new(&options, &scripts, &error), SAMPAN_OK);
  write_script(file, "function add(a, b) return = end\n");
  CHECK(pthread_create(&reloading, NULL, reload_it, &scripts) == 0);
  while (!__atomic_load_n(&log_began, __ATOMIC_SEQ_CST)) usleep(1000);
  SAME(sampan_scripts_free(scripts), SAMPAN_OK);
  CHECK(__atomic_load_n(&log_ended, __ATOMIC_SEQ_CST));
  pthread_join(reloading, NULL);
  remove(file), rmdir(folder);
}

int main(void) {
  waited_for("app.lua", LUA, 4);
  batches("app.lua", LUA, 4);
  many_threads("app.lua", LUA);
  waited_for("app.js", JS, 4);
  batches("app.js", JS, 4);
  many_threads("app.js", JS);
  faults_of_loading();
  freed_during_a_reload();
  puts("ok");
  return 0;
}
