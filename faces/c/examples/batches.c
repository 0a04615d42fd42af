/* Serves a route whose requests are taken and answered in batches: the form for programs in which each call of a C function costs.
 *
 *   cc -o batches batches.c libsampan.a -lpthread -ldl -lm -lgcc_s
 *   ./batches COUNT           prints its address, answers that many requests with their bodies, and ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampan.h"

enum { BYTES = 1 << 20 };

/* Writes the answer to one request behind what is there. Returns the bytes of its entry. */
static size_t answer(char *to, const sampan_request_entry *request) {
  const char *bytes = (const char *)(request + 1);
  const char *body = (const char *)request + request->size;
  size_t used, padding;
  /* The body lies behind everything else; its end is known from the lengths before it. */
  const sampan_lengths *lengths = (const sampan_lengths *)bytes;
  used = (request->header_count + request->param_count) * sizeof *lengths + request->method_len + request->target_len +
         request->remote_len;
  for (size_t at = 0; at < request->header_count + request->param_count; at++) {
    used += lengths[at].name_len + lengths[at].value_len;
  }
  body = bytes + used;
  sampan_answer_entry entry = {.id = request->id, .status = 200, .body_len = request->body_len};
  used = sizeof entry + request->body_len;
  padding = (8 - used % 8) % 8;
  entry.size = (uint32_t)(used + padding);
  memcpy(to, &entry, sizeof entry);
  memcpy(to + sizeof entry, body, request->body_len);
  memset(to + used, 0, padding);
  return used + padding;
}

int main(int count, char **arguments) {
  static sampan_error error;
  static uint64_t requests[BYTES / 8], answers[BYTES / 4];
  sampan_server server;
  char address[64];
  long left = count > 1 ? atol(arguments[1]) : 1;
  sampan_server_options options = {.size = sizeof options, .listen = "127.0.0.1:0", .workers = 1};
  if (sampan_server_new(&options, &server, &error) != SAMPAN_OK ||
      sampan_server_queue_route(server, NULL, "/*rest", 0, &error) != SAMPAN_OK ||
      sampan_server_start(server, &error) != SAMPAN_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  sampan_server_address(server, 0, address, sizeof address);
  printf("%s\n", address);
  fflush(stdout);
  while (left > 0) {
    size_t len, written = 0;
    if (sampan_server_next(server, 20000, requests, sizeof requests, &len) != SAMPAN_OK) return 2;
    for (char *at = (char *)requests; at < (char *)requests + len; at += ((sampan_request_entry *)at)->size) {
      written += answer((char *)answers + written, (const sampan_request_entry *)at);
      if (((sampan_request_entry *)at)->tag != SAMPAN_TAG_GONE) left--;
    }
    if (sampan_server_answer(server, answers, written) != SAMPAN_OK) return 3;
  }
  return sampan_server_free(server);
}
