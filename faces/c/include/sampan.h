#ifndef SAMPAN_H
#define SAMPAN_H

/* Made from faces/c by `cargo xtask codegen`. Do not change it here. */

#include <stddef.h>
#include <stdint.h>

/*
 * Sampan as a C library: servers with routes of the program beside scripts, and scripts without a server.
 *
 * Threads: every function may be called on any thread, on several at the same time, unless its comment says otherwise.
 * Memory: what is passed is copied before a function returns, unless its comment says otherwise. What the library gives is never to be
 *   given to free(). Where a pointer comes with a length, the text need not end with NUL; else it does. NULL with length 0 is empty.
 * Handles: servers, scripts, replies and requests are numbers. One that was freed, that was answered, or that is of another kind stands for
 *   nothing: functions say so and do nothing. 0 is never a handle.
 * Errors: functions return a sampan_status. Those with an `error` write there what went wrong; it may be NULL.
 * Faults in scripts and in the library never cross into the program: no signal is raised, nothing unwinds.
 *
 * A program links libsampan.a with -lpthread -ldl -lm -lgcc_s, or libsampan.so alone.
 */

// The tag of an entry of a server: the client has gone that waited for the answer to the request with this id, which
// still counts as to be answered. Its body is "handler_millis_max" if that has passed; it is empty if the client has
// left.
#define SAMPAN_TAG_GONE 4294967295

// The tag of an entry for scripts: answer this request. Headers about its framing are left out, parameters too.
#define SAMPAN_HANDLE 0

// The tag of an entry for scripts: call this function.
#define SAMPAN_CALL 1

// The bytes that the name of a file has room in.
#define SAMPAN_FILE_BYTES 256

// The bytes that a message has room in.
#define SAMPAN_MESSAGE_BYTES 2048

// The result of a function: SAMPAN_OK, what is not done but no fault (positive), or a fault (negative).
typedef int32_t sampan_status;

// A header or a parameter: texts or bytes, without NUL at their ends.
typedef struct {
  // The name.
  const char *name;
  // The length of name, in bytes.
  size_t name_len;
  // The value.
  const char *value;
  // The length of value, in bytes.
  size_t value_len;
} sampan_field;

// An answer. Everything is copied before the function returns that it is passed to.
typedef struct {
  // 200 to 999.
  uint32_t status;
  // The headers. Those about framing (Content-Length, Transfer-Encoding, Connection and the like) are the server's:
  // they are left out.
  const sampan_field *headers;
  // The number of headers.
  size_t header_count;
  // The body.
  const char *body;
  // The length of body, in bytes.
  size_t body_len;
} sampan_response;

// A request. In a callback all pointers are valid until it returns, and no longer: what another thread needs is
// copied.
typedef struct {
  // By which it is answered; of this request only. Not read by sampan_scripts_handle.
  uint64_t id;
  // The method as sent.
  const char *method;
  // The length of method, in bytes.
  size_t method_len;
  // Path and query as sent.
  const char *target;
  // The length of target, in bytes.
  size_t target_len;
  // The path as sent, percent-encoded. Not read by sampan_scripts_handle.
  const char *path;
  // The length of path, in bytes.
  size_t path_len;
  // The part of target after the first '?' of target; NULL if there is none. Not read by sampan_scripts_handle.
  const char *query;
  // The length of query, in bytes.
  size_t query_len;
  // The client's IP address, or "unix:" over a Unix socket; "X-Forwarded-For" of trusted proxies is believed.
  const char *remote;
  // The length of remote, in bytes.
  size_t remote_len;
  // The parameters of the route's pattern, percent-decoded. Not read by sampan_scripts_handle.
  const sampan_field *params;
  // The number of params.
  size_t param_count;
  // The headers in their order, names as sent.
  const sampan_field *headers;
  // The number of headers.
  size_t header_count;
  // The body, whole.
  const char *body;
  // The length of body, in bytes.
  size_t body_len;
} sampan_request;

// Takes one line of the log, without its end; it is valid during the call. level: 0 debug, 1 info, 2 warning, 3 error.
// With "log.format=json" among the settings each line is a JSON object. Called on threads of the library, on several
// at the same time. It must not wait for long, and must not call the library.
typedef void (*sampan_log_fn)(void *user, int32_t level, const char *line, size_t len);

// The options of scripts. Set everything to 0 that is not used.
typedef struct {
  // sizeof(sampan_scripts_options). Later versions add fields at the end.
  size_t size;
  // The file, or the folder of a project; NULL for a text.
  const char *path;
  // The text of the script; NULL for a file.
  const char *text;
  // The length of text, in bytes.
  size_t text_len;
  // The name of the text in errors. Its end tells the language: "hello.lua", "hello.js".
  const char *name;
  // The path of a configuration file; NULL for the sampan.toml beside the script.
  const char *config;
  // Texts like "limits.script_millis_max=100". They win over the file.
  const char *const *settings;
  // The number of settings.
  size_t settings_count;
  // Takes the log; NULL for standard error.
  sampan_log_fn log;
  // The first argument of log.
  void *log_user;
  // The number of isolates, with a thread each; 0 for one for each core.
  uint32_t workers;
  // The maximum number of requests and calls may wait and run at the same time; 0 for 1024 for each isolate.
  uint32_t queue_max;
  // The shortest time between two checks, made when work comes, for changes of the script's file, in milliseconds; 0
  // for each time, -1 for
  // never.
  int32_t reload_millis;
} sampan_scripts_options;

// Scripts: a number. 0 is never one.
typedef uint64_t sampan_scripts;

// A fault, in the caller's memory. Texts end with NUL, and are cut where they are longer than their room.
typedef struct {
  // The status as the function returned it; of sampan_scripts_handle also what failed behind an answer.
  sampan_status code;
  // The line of file, from 1; 0 if it is not known.
  uint32_t line;
  // The file in which it happened, relative to the project; empty if it is not known.
  char file[SAMPAN_FILE_BYTES];
  // The words for people. They may have several lines: of the source, of the stack.
  char message[SAMPAN_MESSAGE_BYTES];
} sampan_error;

// An answer of scripts. Its texts are the library's, until sampan_reply_free.
typedef struct {
  // The handle for sampan_reply_free.
  uint64_t handle;
  // The status; 200 for the result of a call.
  uint32_t status;
  // The headers, in their order.
  const sampan_field *headers;
  // The number of headers.
  size_t header_count;
  // The body; the result of a call as JSON.
  const char *body;
  // The length in bytes.
  size_t body_len;
} sampan_reply;

// The options of a server. Set everything to 0 that is not used.
typedef struct {
  // sizeof(sampan_server_options). Later versions add fields at the end.
  size_t size;
  // The folder, or the file, of a Lua or JavaScript project; NULL for native routes alone.
  const char *project;
  // "127.0.0.1:8080", with port 0 for a free one, "unix:/run/app.sock", or several with commas between; NULL as
  // configured.
  const char *listen;
  // The path of a configuration file; NULL for the project's sampan.toml.
  const char *config;
  // Texts like "limits.body_bytes_max=1MB", as `sampan run --set` takes them. They win over the file.
  const char *const *settings;
  // The number of settings.
  size_t settings_count;
  // Takes the log; NULL for standard error.
  sampan_log_fn log;
  // The first argument of log.
  void *log_user;
  // The number of serving threads; 0 as configured, which is one for each core unless said otherwise.
  uint32_t workers;
} sampan_server_options;

// A server: a number. 0 is never one.
typedef uint64_t sampan_server;

// Answers the requests of a route. It is called on the thread of a worker, which serves no other request meanwhile:
// what takes long is answered later, by another thread, with the id. Each request is to be answered once, also if its
// client has gone; until then the library keeps its place. It may call all functions but sampan_server_stop,
// sampan_server_free and sampan_server_reload, and must not unwind or jump out.
typedef void (*sampan_handler_fn)(void *user, const sampan_request *request);

// An answer that is being written: a number. 0 is never one.
typedef uint64_t sampan_stream;

// The beginning of the entry of an answer. Behind it lie header_count times sampan_lengths, and then the bytes: the
// name and the value of each header, file, message, body.
typedef struct {
  // The id of the request.
  uint64_t id;
  // Of the whole entry in bytes, a multiple of 8.
  uint32_t size;
  // 200 to 999. From scripts it is 200 for a call that returned, and 0 where there is no answer, see code.
  uint32_t status;
  // From scripts: SAMPAN_OK, or the fault; message says it, and file and line are its place. With a status it is
  // what the script has left unhandled, behind an answer that says no more than that something failed. To a server
  // it is written: what came of this answer.
  sampan_status code;
  // The line of file, from 1; 0 if there is none.
  uint32_t line;
  // Of the file's name, in bytes.
  uint32_t file_len;
  // The number of headers.
  uint32_t header_count;
  // Of the body.
  uint32_t body_len;
  // Of the fault's message.
  uint32_t message_len;
} sampan_answer_entry;

// The lengths of a header or a parameter in an entry.
typedef struct {
  // Of the name, in bytes.
  uint32_t name_len;
  // Of the value, in bytes.
  uint32_t value_len;
} sampan_lengths;

// The beginning of the entry of a request. Behind it lie header_count and then param_count times sampan_lengths, and
// then the bytes: method, target, remote, the name and the value of each header, those of each parameter, body.
typedef struct {
  // To a server: by which the request is answered. For scripts: of the caller's choice, of one entry under way.
  uint64_t id;
  // Of the whole entry in bytes, a multiple of 8.
  uint32_t size;
  // From a server: of the route, or SAMPAN_TAG_GONE. For scripts: SAMPAN_HANDLE or SAMPAN_CALL.
  uint32_t tag;
  // Of the method, in bytes.
  uint32_t method_len;
  // Of path and query as sent. For SAMPAN_CALL the name of the function.
  uint32_t target_len;
  // Of the client's address: an IP address, or "unix:"; for scripts with or without a port, or empty.
  uint32_t remote_len;
  // The number of headers.
  uint32_t header_count;
  // The number of parameters of the route's pattern; 0 for scripts.
  uint32_t param_count;
  // Of the body. For SAMPAN_CALL it is a JSON array of the arguments, or empty.
  uint32_t body_len;
} sampan_request_entry;

// Done.
#define SAMPAN_OK 0

// The time was over before anything came.
#define SAMPAN_TIMEOUT 1

// The first entry does not fit into the buffer. *len says how many bytes it needs. Nothing was taken.
#define SAMPAN_SMALL_BUFFER 2

// The handle does not exist, or not any more, or it is of another kind.
#define SAMPAN_ERROR_HANDLE -1

// NULL where it must not be, a text that is not UTF-8, an entry that is none, a header that cannot be sent.
#define SAMPAN_ERROR_ARGUMENT -2

// Not now: a route after the start, a second start, a stop or a reload in a callback.
#define SAMPAN_ERROR_STATE -3

// A setting is wrong.
#define SAMPAN_ERROR_CONFIG -4

// The script does not load, or a route is there twice. File and line are told where there are any.
#define SAMPAN_ERROR_LOAD -5

// The address cannot be listened on: the port is in use, or not allowed.
#define SAMPAN_ERROR_ADDRESS -6

// The request has been answered before.
#define SAMPAN_ERROR_ANSWERED -7

// This answer is not needed any more: the client has gone, the time is over, the server has stopped.
#define SAMPAN_ERROR_GONE -8

// The server or the scripts were stopped: nothing comes any more.
#define SAMPAN_ERROR_STOPPED -9

// The script raised an error. File and line are told where they are known.
#define SAMPAN_ERROR_SCRIPT -10

// A limit was passed: time or memory of the script, the length of the queue.
#define SAMPAN_ERROR_LIMIT -11

// The work was given up: by sampan_scripts_cancel, or because the caller's time was over.
#define SAMPAN_ERROR_CANCELLED -12

// The script has no function of this name; the request has no header or parameter of this name.
#define SAMPAN_ERROR_MISSING -13

// Stopped or freed, but a thread was left behind in a callback or a script: user and log_user must stay.
#define SAMPAN_ERROR_BUSY -14

// A fault of Sampan itself.
#define SAMPAN_ERROR_INTERNAL -99

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Gives back the memory of a reply, by its handle. What the reply points to is gone. Doing so again is
// SAMPAN_ERROR_HANDLE.
sampan_status sampan_reply_free(uint64_t handle);

// Answers a request of a callback. Any thread, during the callback or later. SAMPAN_ERROR_ANSWERED for a second
// answer; SAMPAN_ERROR_GONE if its client has gone; SAMPAN_ERROR_ARGUMENT for a status or a header that cannot be
// sent: then the request is still to be answered. SAMPAN_ERROR_HANDLE for an id that is none.
//
// # Safety
// All memory behind `response` must live as long as the call.
sampan_status sampan_answer(uint64_t request, const sampan_response *response);

// Answers with a body of one content type, which may be NULL: then there is no such header.
//
// # Safety
// The texts must live as long as the call.
sampan_status sampan_answer_text(uint64_t request, uint32_t status, const char *content_type, const char *body, size_t body_len);

// Finds the first header of a name, in any case. SAMPAN_ERROR_MISSING: there is none. Only during the callback.
//
// # Safety
// `request` is that of a callback that has not returned, or one of the caller's own.
sampan_status sampan_request_header(const sampan_request *request, const char *name, const char **value, size_t *len);

// Finds a parameter of the route's pattern. SAMPAN_ERROR_MISSING: there is none. Only during the callback.
//
// # Safety
// As sampan_request_header.
sampan_status sampan_request_param(const sampan_request *request, const char *name, const char **value, size_t *len);

// Loads a script into isolates. It is an app file as for `sampan run`, with routes or a fetch export, or has functions
// to be called by name: global ones, or those of the table that it returns, in Lua; exported ones in JavaScript.
// *scripts is the handle, for sampan_scripts_free.
//
// Errors: SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_CONFIG, SAMPAN_ERROR_ARGUMENT.
//
// # Safety
// All memory behind `options` must live as long as the call; `log` as long as the scripts.
sampan_status sampan_scripts_new(const sampan_scripts_options *options, sampan_scripts *scripts, sampan_error *error);

// Has the script answer a request, and waits for the answer, at most timeout_millis (-1: as long as the limits let
// it). Of request only method, target, remote (which may be empty), headers and body are read. *reply is to be given
// to sampan_reply_free by its handle. The error of a handler is an answer too, with a status from 400. Where the
// script has not handled it and it is no fault of the client, *error says what and where it was, beside SAMPAN_OK: its
// code is that of sampan_scripts_call for such an error.
//
// Errors: SAMPAN_ERROR_CANCELLED if the time is up, SAMPAN_ERROR_LIMIT if the queue is full, SAMPAN_ERROR_STOPPED,
// SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
//
// # Safety
// All memory behind `request` must live as long as the call.
sampan_status sampan_scripts_handle(sampan_scripts scripts,
                                    const sampan_request *request,
                                    int64_t timeout_millis,
                                    sampan_reply *reply,
                                    sampan_error *error);

// Calls a function by its name with the arguments of a JSON array (NULL: none), and waits as sampan_scripts_handle.
// The body of *reply is what it returned, as JSON.
//
// Errors: SAMPAN_ERROR_SCRIPT with file and line, SAMPAN_ERROR_MISSING, and those of sampan_scripts_handle.
//
// # Safety
// The texts must live as long as the call.
sampan_status sampan_scripts_call(sampan_scripts scripts,
                                  const char *function,
                                  const char *arguments,
                                  size_t arguments_len,
                                  int64_t timeout_millis,
                                  sampan_reply *reply,
                                  sampan_error *error);

// Hands over requests and calls: sampan_request_entry, one behind the other. Never waits. *taken is how many of them
// were taken, of which each gets one answer by sampan_scripts_next. The first that cannot be taken ends it, and is
// what the function returns. Those behind it have not been looked at, and can be handed over by another call: behind
// one that was refused with SAMPAN_ERROR_ARGUMENT at once.
//
// Errors: SAMPAN_ERROR_LIMIT if the queue is full, SAMPAN_ERROR_STOPPED, SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
//
// # Safety
// `entries` points to `len` bytes that stay as they are during the call.
sampan_status sampan_scripts_submit(sampan_scripts scripts, const void *entries, size_t len, size_t *taken);

// Moves answers into a buffer, as sampan_server_next does with requests: sampan_answer_entry, in the order in which
// they became ready. Each entry that was taken is answered once, one that was given up too.
//
// # Safety
// `buffer` points to `capacity` bytes of the caller's.
sampan_status sampan_scripts_next(sampan_scripts scripts, int64_t timeout_millis, void *buffer, size_t capacity, size_t *len);

// Gives up an entry by its id: one that waits does not begin, one that runs is stopped. Its answer has
// SAMPAN_ERROR_CANCELLED, and is ready at once. SAMPAN_ERROR_HANDLE: no entry with this id is under way, or there are
// no such scripts.
sampan_status sampan_scripts_cancel(sampan_scripts scripts, uint64_t id);

// Loads the script anew in all isolates. What runs ends in the old ones. On an error those go on.
//
// Errors: SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_HANDLE.
//
// # Safety
// `error` is NULL or the caller's.
sampan_status sampan_scripts_reload(sampan_scripts scripts, sampan_error *error);

// Gives up what waits and runs, ends the threads, and forgets the scripts. Threads in sampan_scripts_next get what is
// left, and then SAMPAN_ERROR_STOPPED or SAMPAN_ERROR_HANDLE. Freeing the handle again is SAMPAN_ERROR_HANDLE.
//
// Errors: SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_BUSY: the scripts are freed, but a thread still runs one of them, so the
// memory behind log_user must stay.
sampan_status sampan_scripts_free(sampan_scripts scripts);

// Makes a server, which does not listen yet. *server is its handle, to be given to sampan_server_free.
//
// Errors: SAMPAN_ERROR_ARGUMENT. Settings are looked at by sampan_server_start.
//
// # Safety
// All memory behind `options` must live as long as the call; `log` as long as the server.
sampan_status sampan_server_new(const sampan_server_options *options, sampan_server *server, sampan_error *error);

// Adds a route that a function answers. method: "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", or NULL for all.
// pattern: as in scripts, with :name for a part and *name for the rest at the end. Only before the start. What user
// points to must live as long as the server.
//
// Errors: SAMPAN_ERROR_HANDLE, SAMPAN_ERROR_ARGUMENT, also for a pattern that cannot be and a route that is there
// twice, SAMPAN_ERROR_STATE. A route that a script has too is an error of sampan_server_start.
//
// # Safety
// `handler` may be called on any thread, on several at the same time, until the server has stopped.
sampan_status sampan_server_route(sampan_server server,
                                  const char *method,
                                  const char *pattern,
                                  sampan_handler_fn handler,
                                  void *user,
                                  sampan_error *error);

// Adds a route whose requests are taken in batches, by sampan_server_next. Each has the tag, which must not be
// SAMPAN_TAG_GONE. Else as sampan_server_route.
//
// # Safety
// The texts must live as long as the call.
sampan_status sampan_server_queue_route(sampan_server server,
                                        const char *method,
                                        const char *pattern,
                                        uint32_t tag,
                                        sampan_error *error);

// Loads the project on each worker, listens, and serves on threads of the library. Returns when it serves. A server
// starts once: after an error it can only be freed.
//
// Errors: SAMPAN_ERROR_CONFIG, SAMPAN_ERROR_LOAD with file and line, SAMPAN_ERROR_ADDRESS, SAMPAN_ERROR_STATE,
// SAMPAN_ERROR_HANDLE.
//
// # Safety
// `error` is NULL or the caller's.
sampan_status sampan_server_start(sampan_server server, sampan_error *error);

// Writes an address that the server listens on, as "127.0.0.1:8080" and NUL. at counts from 0.
//
// Errors: SAMPAN_ERROR_ARGUMENT if there is no such address or it does not fit, SAMPAN_ERROR_STATE,
// SAMPAN_ERROR_HANDLE.
//
// # Safety
// `text` points to `size` bytes of the caller's.
sampan_status sampan_server_address(sampan_server server, size_t at, char *text, size_t size);

// Loads the project anew, with its configuration. Requests in flight end in the old one. On an error that goes on.
//
// Errors: SAMPAN_ERROR_LOAD, SAMPAN_ERROR_CONFIG; SAMPAN_ERROR_STATE if it does not run, and in a callback;
// SAMPAN_ERROR_HANDLE.
//
// # Safety
// `error` is NULL or the caller's.
sampan_status sampan_server_reload(sampan_server server, sampan_error *error);

// Stops accepting, lets requests in flight end within limits.shutdown_millis_max, and ends the threads; blocks until
// then. Threads in sampan_server_next get what is left, and then SAMPAN_ERROR_STOPPED. Requests that are not answered
// by then need no answer any more.
//
// Errors: SAMPAN_ERROR_STATE if it does not run, and in a callback; SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_BUSY: it has
// stopped, but a thread still runs a callback or a script, so the memory behind each user and log_user must stay.
//
// # Safety
// `error` is NULL or the caller's.
sampan_status sampan_server_stop(sampan_server server, sampan_error *error);

// Stops a server if it runs, and forgets it. The handle stands for nothing from then on: freeing it again is
// SAMPAN_ERROR_HANDLE.
//
// Errors: SAMPAN_ERROR_HANDLE; SAMPAN_ERROR_STATE in a callback, and while another thread starts or stops it;
// SAMPAN_ERROR_BUSY: it is freed, but a thread still runs a callback or a script, so the memory behind each user and
// log_user must stay.
sampan_status sampan_server_free(sampan_server server);

// Moves requests of the routes of sampan_server_queue_route into a buffer: sampan_request_entry, one behind the other,
// as many as there are and fit. *len is what they have in bytes. Waits for the first, at most timeout_millis: any
// negative number is for ever, 0 not at all. Several threads may do so at the same time. Each request is to be
// answered once, by sampan_server_answer; also one that an entry with SAMPAN_TAG_GONE names.
//
// Gives SAMPAN_TIMEOUT; SAMPAN_SMALL_BUFFER: *len is what the first entry needs, nothing is taken;
// SAMPAN_ERROR_STOPPED: none comes any more; SAMPAN_ERROR_ARGUMENT, SAMPAN_ERROR_HANDLE.
//
// # Safety
// `buffer` points to `capacity` bytes of the caller's.
sampan_status sampan_server_next(sampan_server server, int64_t timeout_millis, void *buffer, size_t capacity, size_t *len);

// Answers requests by entries, sampan_answer_entry one behind the other. Never waits. The code of each entry is
// overwritten with what came of it: SAMPAN_OK, SAMPAN_ERROR_ANSWERED, SAMPAN_ERROR_GONE, SAMPAN_ERROR_HANDLE, or
// SAMPAN_ERROR_ARGUMENT for a status or a header that cannot be sent: such a request is still to be answered.
//
// Errors: SAMPAN_ERROR_ARGUMENT for bytes that are no entry: those before it have been answered. SAMPAN_ERROR_HANDLE.
//
// # Safety
// `entries` points to `len` bytes of the caller's.
sampan_status sampan_server_answer(sampan_server server, void *entries, size_t len);

// The version of Sampan, as "0.1.0". The text is there for ever.
const char *sampan_version(void);

// Answers a request as sampan_answer does, and goes on with the body: it begins with that of *response, and
// sampan_stream_write adds to it.
// *stream is the answer's number, which is to be given to sampan_stream_end once, also after errors. It is 0 if this
// fails.
//
// Errors: as sampan_answer.
//
// # Safety
// All memory behind `response` must live as long as the call.
sampan_status sampan_answer_begin(uint64_t request, const sampan_response *response, sampan_stream *stream);

// Adds to the body of an answer. While a quarter of a megabyte waits for the client, this waits too, at most
// timeout_millis: -1 is for ever, 0 not at all, as in a callback. Any thread; of several that write at the same time,
// none knows which is first. With no bytes it reports whether the client still reads.
//
// Gives SAMPAN_TIMEOUT: nothing was added. SAMPAN_ERROR_GONE: it has no reader, as the client has left, has asked with
// HEAD, or got nothing for limits.stream_idle_millis_max. SAMPAN_ERROR_HANDLE.
//
// # Safety
// `bytes` points to `len` bytes that stay as they are during the call.
sampan_status sampan_stream_write(sampan_stream stream, const void *bytes, size_t len, int64_t timeout_millis);

// Ends the body of an answer. With is_whole 0 the connection is cut, so that the client sees that something is
// missing, and the log says so. The number stands for nothing from then on: ending again is SAMPAN_ERROR_HANDLE.
// SAMPAN_ERROR_GONE: the client did not read to the end.
sampan_status sampan_stream_end(sampan_stream stream, int32_t is_whole);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAMPAN_H */
