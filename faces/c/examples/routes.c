/* Serves routes in C: one answered at once, one later by another thread, and those of a project if one is named.
 *
 *   cc -o routes routes.c libsampan.a -lpthread -ldl -lm -lgcc_s
 *   ./routes [PROJECT]        prints its address, serves until standard input ends
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampan.h"

/* Answers GET /hello/:name at once. */
static void hello(void *user, const sampan_request *request) {
  const char *name;
  size_t len;
  char body[256];
  (void)user;
  if (sampan_request_param(request, "name", &name, &len) != SAMPAN_OK) len = 0;
  int written = snprintf(body, sizeof body, "Hello, %.*s", (int)(len < 200 ? len : 200), name);
  sampan_answer_text(request->id, 200, "text/plain; charset=utf-8", body, (size_t)written);
}

/* Something to be done on a thread of its own. */
struct work {
  uint64_t request;
  size_t len;
  char body[];
};

static void *shout(void *given) {
  struct work *work = given;
  for (size_t at = 0; at < work->len; at++) {
    if (work->body[at] >= 'a' && work->body[at] <= 'z') work->body[at] -= 32;
  }
  sampan_field type = {"Content-Type", 12, "text/plain", 10};
  sampan_response response = {200, &type, 1, work->body, work->len};
  /* The client may have gone meanwhile; there is nothing to be done about it. */
  sampan_answer(work->request, &response);
  free(work);
  return NULL;
}

/* Answers POST /shout later. What the request points to ends with the callback, so the body is copied. */
static void later(void *user, const sampan_request *request) {
  pthread_t thread;
  struct work *work = malloc(sizeof *work + request->body_len);
  (void)user;
  if (work == NULL) {
    sampan_answer_text(request->id, 503, NULL, NULL, 0);
    return;
  }
  work->request = request->id;
  work->len = request->body_len;
  if (work->len > 0) memcpy(work->body, request->body, work->len);
  if (pthread_create(&thread, NULL, shout, work) != 0) {
    free(work);
    sampan_answer_text(request->id, 503, NULL, NULL, 0);
    return;
  }
  pthread_detach(thread);
}

int main(int count, char **arguments) {
  static sampan_error error;
  sampan_server server;
  char address[64], line[16];
  sampan_server_options options = {
      .size = sizeof options,
      .project = count > 1 ? arguments[1] : NULL,
      .listen = "127.0.0.1:0",
      .workers = 1,
  };
  if (sampan_server_new(&options, &server, &error) != SAMPAN_OK ||
      sampan_server_route(server, "GET", "/hello/:name", hello, NULL, &error) != SAMPAN_OK ||
      sampan_server_route(server, "POST", "/shout", later, NULL, &error) != SAMPAN_OK ||
      sampan_server_start(server, &error) != SAMPAN_OK) {
    fprintf(stderr, "%s:%u: %s\n", error.file, error.line, error.message);
    return 1;
  }
  sampan_server_address(server, 0, address, sizeof address);
  printf("%s\n", address);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
  }
  sampan_server_stop(server, NULL);
  sampan_server_free(server);
  return 0;
}
