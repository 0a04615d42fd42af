/* Runs a script without a server: calls a function by its name, and has a request answered.
 *
 *   cc -o scripts scripts.c libsampan.a -lpthread -ldl -lm -lgcc_s
 *   ./scripts FILE            a script with a function add(a, b) and a route GET /hi/:name
 */
#include <stdio.h>
#include <string.h>

#include "sampan.h"

int main(int count, char **arguments) {
  static sampan_error error;
  sampan_scripts scripts;
  sampan_reply reply;
  sampan_scripts_options options = {
      .size = sizeof options,
      .path = count > 1 ? arguments[1] : "app.lua",
      .workers = 2,
      .reload_millis = -1,
  };
  if (sampan_scripts_new(&options, &scripts, &error) != SAMPAN_OK) {
    fprintf(stderr, "%s:%u: %s\n", error.file, error.line, error.message);
    return 1;
  }
  const char *two_numbers = "[20, 22]";
  if (sampan_scripts_call(scripts, "add", two_numbers, strlen(two_numbers), 1000, &reply, &error) != SAMPAN_OK) {
    fprintf(stderr, "add: %s:%u: %s\n", error.file, error.line, error.message);
    return 2;
  }
  printf("add: %.*s\n", (int)reply.body_len, reply.body);
  sampan_reply_free(reply.handle);

  sampan_request request = {
      .method = "GET", .method_len = 3, .target = "/hi/Ada", .target_len = 7,
  };
  if (sampan_scripts_handle(scripts, &request, 1000, &reply, &error) != SAMPAN_OK) {
    fprintf(stderr, "GET /hi/Ada: %s\n", error.message);
    return 3;
  }
  printf("GET /hi/Ada: %u %.*s\n", reply.status, (int)reply.body_len, reply.body);
  sampan_reply_free(reply.handle);
  return sampan_scripts_free(scripts);
}
