---@meta sampan
-- What `require "sampan"` gives. Made by `cargo xtask codegen`; do not edit.

---@class sampan.Request
---@field method string the method
---@field path string the path as sent, without the query
---@field url string the whole URL
---@field params table<string, string> the parameters of the route, decoded
---@field query table<string, string|string[]> the query, decoded; a key given twice is a list
---@field headers table<string, string> the field lines, looked up whatever the case
---@field cookies table<string, string> the cookies
---@field ip string the client's address
---@field tls ({ version: string, cipher: string, sni: string?, subject: string?, fingerprint: string? })? The TLS of the connection: nothing on a plain one, also where a proxy in front has it. `version` is `TLSv1.3` or `TLSv1.2`, `cipher` the name of the cipher suite, `sni` the host name that the client asked for. `subject`, such as `CN=alice,O=Example`, and `fingerprint`, the SHA-256 digest in hexadecimal, are those of the client's certificate.
---@field id string The id of the request: `x-request-id`, or one of the server's. It stands on every line of the log that the request causes.
---@field auth any Who was let in by `app.basic_auth` or `app.bearer_auth`: what `verify` returned, or a name.
---@field csp_nonce string? The nonce in the `Content-Security-Policy` of this request, for the attribute `nonce` of its scripts and styles. Nothing where no `csp` of `app.secure_headers` has `{nonce}`.
---@field session sampan.Session What the app remembers of this browser.
---@field locale string The locale of the request: by `?lang=`, which a cookie remembers; by that cookie; by `Accept-Language`; else the app's own. One of the app's locales can be assigned, for the rest of the request.
---@field text_direction string In which direction that locale is written, for the attribute `dir`: `ltr` or `rtl`.
---@field body string the bytes of the body
---@field state table a table of this request's own
local request = {}

--- The body as JSON; malformed JSON is an error that answers 400.
---@return any
function request:json() end
--- The body as text.
---@return string
function request:text() end
--- The fields of a form; a key given twice is a list. A file of `multipart/form-data` is a `sampan.UploadedFile`.
---@return table<string, any>
function request:form() end
--- The bytes of the body.
---@return string
function request:bytes() end
--- The body in pieces: `for chunk in req:chunks() do`. On a route with `stream = true` they are read as they come.
---@return fun(): string?
function request:chunks() end

--- Tells the browser what the page will need, while the handler still waits for the database or for another server: an answer 103 with these `Link` fields leaves at the next wait, once nothing is left to be committed. The answer itself does not get them. A client of HTTP/1.0 gets no hints. Those of a request have at most 64 KiB together.
---@param links table Values of the field `Link`, such as `</app.css>; rel=preload; as=style`.
function request:early_hints(links) end

--- As `app.render`, with what belongs to the request in reach of the template: `request`, `session` and `flashes`.
---@param name string A file in `templates/`: `page.html`. `page.html#rows` is the block `rows` of it alone.
---@param data? any The variables of the template, by their names.
---@param options? sampan.Options
---@return sampan.Response
function request:render(name, data, options) end

--- The answer sets a cookie, for every result of the handler. Name and value have at most 4096 bytes. What browsers would ignore is an error.
---@param name string The name of the cookie.
---@param value string ASCII without spaces, quotes, commas, semicolons and backslashes; of an encrypted cookie any text.
---@param options? table `max_age`: how many seconds it lasts; until the browser ends unless given. `path`, `/` unless given. `domain`. `same_site`: `"lax"` (default), `"strict"` or `"none"`. `http_only`, true unless given. `secure`, true over TLS unless given. `partitioned`. `signed = true`: `req:signed_cookie` gives it back. `encrypted = true`: `req:encrypted_cookie` does.
function request:set_cookie(name, value, options) end

--- The answer deletes a cookie of the browser.
---@param name string The name of the cookie.
---@param options? table As when it was set: `path`, `domain`, `same_site`, `secure` and `partitioned`.
function request:delete_cookie(name, options) end

--- The value of a cookie that was set with `signed`. Nothing if there is none, if it was changed, or if its `max_age` has passed.
---@param name string The name of the cookie.
---@return string?
function request:signed_cookie(name) end

--- The same for a cookie that was set with `encrypted`.
---@param name string The name of the cookie.
---@return string?
function request:encrypted_cookie(name) end

--- Checks that another service signed this request, over its body as it was sent. For one that does not count it is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`.
---@param scheme string `"stripe"`, `"github"`, or `"standard"` for Standard Webhooks, which many services use.
---@param secrets any The secret of the webhook, or a list of secrets while they are replaced. For `"standard"` a secret (`whsec_`) or a public key (`whpk_`).
---@param options? table `tolerance`: by how many seconds the time of the webhook may differ, before or after; 300 unless given. GitHub's webhooks have no time.
function request:verify_webhook(scheme, secrets, options) end

--- Leaves a message for the next page of this browser, in its session.
---@param kind string The kind of the message: `notice`, `error`.
---@param message any A text, or anything else that JSON has.
function request:flash(kind, message) end

--- The messages that earlier requests left, each with `kind` and `message`. No later request gets them.
---@return table
function request:flashes() end

--- The text of a key in the locale of the request. Where that has none, it is the text of a more general locale or of the app's own, else the key. Values are not escaped: templates do that.
---@param key string The key of the text, with dots between its parts: `owner.pets`.
---@param values? table The values for `{name}` in the text, by name. `n` decides the form of a text that has several.
---@return string
function request:t(key, values) end

--- A number as the locale of the request writes it: `1.234,5`.
---@param number number The number.
---@param options? table `decimals`: how many digits stand behind the point. At most three unless given, as many as are needed. `currency`: the code of a currency, such as `EUR`: the number is an amount of it.
---@return string
function request:format_number(number, options) end

--- A date as the locale of the request writes it, by the Gregorian calendar.
---@param date any A text such as `2026-11-22` or `2026-11-22 14:05:09`, which is shown as it stands, or seconds since 1970, in UTC.
---@param options? table `style`: `"short"`, `"medium"` (unless given), `"long"` or `"full"`, which has the day of the week. `time`: whether the time is shown too. `tz`: the time zone to show it in, such as `Europe/Berlin`; a text without an offset is in UTC then.
---@return string
function request:format_date(date, options) end

--- The same as `app.validate`, with messages in the language of the request.
---@param data any A form, a query, or what JSON gave.
---@param schema any The fields by their names: each the name of a type, or options with `type`, `required`, `trim`, `min`, `max`, `length`, `tz`, `pattern`, `enum`, `items`, `fields`, `default`, `check` and `message`.
---@return table? data
---@return table? errors
function request:validate(data, schema) end

--- Calls the function with each record of the body. On a route with `stream` they are read as they come. Returns how many there were. A body that is no CSV is an error that answers 400, a form one that answers 415.
---@param fn function Gets a record, its fields by the names in the header. It cannot wait. If it returns `false`, no more are read.
---@param options? table `header = false`: the first record is one like the others, and records are lists. `separator`: what stands between fields, `,` unless given.
---@return integer
function request:csv_records(fn, options) end

--- The answer is saved as a file of this name. Text and streams get the type `text/csv`, unless they have one.
---@param name string The name of the file: `visits.csv`.
function request:csv_download(name) end

---@class sampan.Response
---@field status integer
---@field headers table<string, string|number|string[]>
---@field body any

---@alias sampan.Options integer|{ status?: integer, headers?: table<string, string|number|string[]> }
---@alias sampan.Answer table|string|number|boolean an answer that is made once, when the file loads
--- `stream`: the handler runs when the head is here, and reads the body as it comes.
---@alias sampan.RouteOptions { body_bytes_max?: integer|string, compress?: boolean, etag?: boolean, name?: string, priority?: "high"|"normal", slow?: boolean, stream?: boolean }
---@alias sampan.Next fun(req?: sampan.Request): sampan.Response

---@class sampan.Group
local group = {}

--- A route of GET, and of HEAD. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.get(pattern, handler) end
--- A route of POST. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.post(pattern, handler) end
--- A route of PUT. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.put(pattern, handler) end
--- A route of PATCH. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.patch(pattern, handler) end
--- A route of DELETE. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.delete(pattern, handler) end
--- A route of OPTIONS. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.options(pattern, handler) end
--- A route of every method. Between the pattern and the handler may stand options.
---@param pattern string like "/users/:id" or "/files/*path"
---@param handler fun(req: sampan.Request): any
---@overload fun(pattern: string, options: sampan.RouteOptions, handler: fun(req: sampan.Request): any)
---@overload fun(pattern: string, answer: sampan.Answer)
---@overload fun(pattern: string, options: sampan.RouteOptions, answer: sampan.Answer)
function group.all(pattern, handler) end
--- The functions of a WebSocket's events, and what differs from `[sockets]`. `upgrade` runs before the handshake: an answer refuses it, a
--- table is the socket's `data`.
---@class sampan.SocketDeclaration
---@field upgrade? fun(req: sampan.Request): any
---@field open? fun(ws: sampan.WebSocket)
---@field message? fun(ws: sampan.WebSocket, message: string, is_text: boolean)
---@field drain? fun(ws: sampan.WebSocket)
---@field close? fun(ws: sampan.WebSocket, code: integer, reason: string)
---@field origins? string|string[]
---@field protocols? string|string[]
---@field message_bytes_max? integer|string
---@field backpressure_bytes_max? integer|string
---@field on_backpressure? "close"|"drop"
---@field idle_millis_max? integer
---@field ping_millis? integer
---@field compress? boolean
--- Declares an address for WebSockets.
---@param pattern string like "/chat/:room"
---@param declaration sampan.SocketDeclaration
function group.ws(pattern, declaration) end
--- A stream of server-sent events that a function feeds. `compress` asks for gzip.
---@class sampan.EventOptions
---@field compress? boolean
--- The route of such a stream. Between the pattern and the function may stand options.
---@param pattern string like "/rooms/:id/events"
---@param feed fun(req: sampan.Request, events: sampan.EventStream): any
---@overload fun(pattern: string, options: sampan.EventOptions|{ name?: string }, feed: fun(req: sampan.Request, events: sampan.EventStream): any)
---@overload fun(feed: fun(events: sampan.EventStream): any, options?: sampan.EventOptions|{ headers?: table<string, string> }): sampan.Response
function group.sse(pattern, feed) end
--- Wraps the paths of a pattern, or every path.
---@param pattern string
---@param middleware fun(req: sampan.Request, next: sampan.Next): any
---@overload fun(middleware: fun(req: sampan.Request, next: sampan.Next): any)
---@overload fun(pattern: string, middleware: sampan.NativeMiddleware)
---@overload fun(middleware: sampan.NativeMiddleware)
function group.use(pattern, middleware) end
--- Patterns that are declared in the group begin with the prefix.
---@param prefix string
---@param declare fun(group: sampan.Group)
function group.group(prefix, declare) end

---@class sampan.RaisedError
---@field message string
---@field status integer
---@field file? string
---@field line? integer
---@field stack? string
---@field value any what was raised

---@class sampan.App: sampan.Group
---@field runtime string "lua"
---@field version string the version of Sampan
---@field worker { index: integer, count: integer } which worker runs this file: 1 to `count`
---@field null lightuserdata JSON's null
local app = {}

---@alias sampan.Row table<string, any> a row of a query: its columns by name

--- The first value under a name of `req.query` or `req:form()`, where a name given twice has a list.
---@param value string|string[]|nil
---@return string|nil
function app.first(value) end
--- What names with brackets mean: `owner[name]` is the field `name` of the table `owner`, `pets[]` an item of the list `pets`. At most eight parts.
---@param fields table<string, any>
---@return table<string, any>
function app.nested(fields) end
--- Runs functions that wait at the same time: the first result of each, in order. If one fails, the waits of the others fail with the code
--- `cancelled`, and then its error is raised. At most 64 functions. JavaScript has `Promise.all`.
---@param ... fun(): any
---@return any ...
function app.gather(...) end
--- Routes and middleware that are declared in the group are for requests to one host, or to the names below a domain: those of `:tenant.example.org`
--- have one label in front of it, the parameter `tenant`; those of `*.example.org` have one or more.
---@param name string like "api.example.org", ":tenant.example.org" or "*.example.org"
---@param declare fun(group: sampan.Group)
function app.host(name, declare) end
--- Answers what no route answers.
---@param handler fun(req: sampan.Request): any
function app.not_found(handler) end
--- Answers when a handler failed.
---@param handler fun(req: sampan.Request, err: sampan.RaisedError): any
function app.on_error(handler) end
---@param body string
---@param options? sampan.Options
---@return sampan.Response
function app.html(body, options) end
---@param body string
---@param options? sampan.Options
---@return sampan.Response
function app.text(body, options) end
--- 302 unless a status is given.
---@param location string
---@param status? integer
---@return sampan.Response
function app.redirect(location, status) end
--- A body that is produced while it is sent.
---@param produce fun(write: fun(chunk: string))
---@param options? sampan.Options
---@return sampan.Response
function app.stream(produce, options) end

--- The answer of another server.
---@class sampan.FetchAnswer: sampan.Response
---@field status integer
---@field status_text string
---@field headers table<string, string|string[]> looked up whatever the case; `set-cookie` is a list where it comes several times
---@field body string the whole body; with `stream` a function for the answer that it is passed on as
---@field url string the URL that answered
---@field redirected boolean
local fetched = {}
--- The body as JSON.
---@return any
function fetched:json() end
--- The body as text.
---@return string
function fetched:text() end
--- The body in pieces: `for chunk in res:chunks() do`. With `stream` they are read as they come.
---@return fun(): string?
function fetched:chunks() end

--- Seconds, or a text such as "500ms".
---@alias sampan.Seconds number|string
---@class sampan.FetchOptions
---@field method? string GET, or POST with a body
---@field headers? table<string, string|number|string[]>
---@field query? table<string, any> is added to that of the URL
---@field json? any a body as JSON
---@field form? table<string, any> a body as a form
---@field body? string|fun(write: fun(chunk: string)): string? a text; or a function that writes, or gives, its pieces
---@field timeout? sampan.Seconds|{ connect?: sampan.Seconds, head?: sampan.Seconds, total?: sampan.Seconds, idle?: sampan.Seconds }
---@field redirect? "follow"|"manual"|"error"
---@field stream? boolean the body of the answer is read as it comes
---@field body_bytes_max? integer|string the largest body of an answer
---@field decompress? boolean
--- Sends a request to another server and waits for its answer.
---@param url string
---@param options? sampan.FetchOptions
---@return sampan.FetchAnswer
function app.fetch(url, options) end

--- Runs the function before the isolate serves: in each worker, and again in an isolate that replaces another. It may wait, for at most `handler_millis_max`, and write. If it fails, the server does not start. Only while the project loads.
---@param fn function A function without parameters.
---@param options? table `once = true`: once for the process, not in each isolate.
function app.on_start(fn, options) end

--- Runs the function when the server shuts down or a reload has replaced the isolate: in each worker, after its last answer, within `shutdown_millis_max`. Only while the project loads.
---@param fn function A function without parameters.
function app.on_stop(fn) end

--- Declares a check of the app, beside those of the server. When the server is asked whether it is ready, one worker calls the function, at most once a second. It may wait, and has 2 seconds. If it throws an error or returns `false`, the answer has the status 503. Only while the project loads.
---@param name string The name of the check, as the answer shows it: ASCII letters, digits, `_`, `-` and `.`.
---@param fn function A function without parameters. It throws an error, or returns `false`, if the app is not ready.
function app.health(name, fn) end

--- The path of a route, with its query. Not while the project loads.
---@param name string The option `name` of a route.
---@param params? table The parameters of its path. What is no parameter becomes the query; a list is a name that comes several times.
---@return string
function app.url_for(name, params) end

--- Calls the function in each worker, again and again: `seconds` after the worker has started, and then `seconds` after each run has ended. It may wait, for at most `handler_millis_max`, and write. An error is logged, and the timer goes on. A reload ends the timer. Only while the project loads.
---@param seconds number The pause between two runs: fractions count; from 0.001 to 2592000 (30 days).
---@param fn function A function without parameters.
function app.every(seconds, fn) end

--- Lines on standard error: time, level, message, fields and the id of the request. They accept any value, and never throw.
---@class sampan.modules.log
app.log = {}

--- Writes a line of level DEBUG; left out unless `level = "debug"` is set under `[log]`.
---@param message? any The message: text as it is, an error with its stack and its causes, anything else as JSON.
---@param fields? any Named values, written as `key=value` after the message. An error is written with its stack, any other value as `value=...`.
function app.log.debug(message, fields) end

--- Writes a line of level INFO.
---@param message? any The message: text as it is, an error with its stack and its causes, anything else as JSON.
---@param fields? any Named values, written as `key=value` after the message. An error is written with its stack, any other value as `value=...`.
function app.log.info(message, fields) end

--- Writes a line of level WARN.
---@param message? any The message: text as it is, an error with its stack and its causes, anything else as JSON.
---@param fields? any Named values, written as `key=value` after the message. An error is written with its stack, any other value as `value=...`.
function app.log.warn(message, fields) end

--- Writes a line of level ERROR.
---@param message? any The message: text as it is, an error with its stack and its causes, anything else as JSON.
---@param fields? any Named values, written as `key=value` after the message. An error is written with its stack, any other value as `value=...`.
function app.log.error(message, fields) end

--- The app's database. All writes of the requests that run together are committed together, and no answer leaves before its commit.
---@class sampan.modules.db
app.db = {}

--- The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. Inside a request it sees what the request wrote. Runs in place up to `query_inline_millis_max`; beyond that it waits for a reader thread where a script can wait in the middle of a call, and fails elsewhere: `query_async` always waits.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row[]
function app.db.query(sql, params) end

--- The first row of a statement, or nothing.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row?
function app.db.one(sql, params) end

--- Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return { changes: integer, last_id: integer }
function app.db.exec(sql, params) end

--- Calls the function in a transaction: all that it writes is kept, or, if it throws, nothing, and the error is passed on. Batches nest. Nothing inside may wait.
---@return any
function app.db.batch(fn) end

--- Calls the function, which may wait, with a transaction of its own: what it does with `tx` is kept when it has ended, or, if it fails, nothing, and the error is passed on. It is rolled back too when it takes longer than `transaction_millis_max` and when the client leaves. Others who write wait meanwhile; use `batch` for functions that do not wait.
---@param fn fun(tx: sampan.Transaction): any
---@return any
function app.db.transaction(fn) end

--- The rows of a long read, on a reader thread, without blocking the worker, after what this request wrote was committed. At most `statement_millis_max`.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row[]
function app.db.query_async(sql, params) end

--- The first row of a long read, or nothing; see `query_async`.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row?
function app.db.one_async(sql, params) end

--- A query for a full-text search that finds the rows with all words of a text: for `MATCH ?` of FTS5, or for `to_tsquery('simple', ?)` on PostgreSQL. No text is an error; one without words finds nothing.
---@param text string The text that a user typed. Of more than 32 words the first count, of a word the first 64 letters.
---@param options? table `prefix = true`: each word may be the beginning of a longer one.
---@return string
function app.db.fts_query(text, options) end

--- The SQL that the database speaks: `sqlite` or `postgres`.
---@return string
function app.db.dialect() end

--- A transaction that is open, in the function of `db.transaction`. It is over when that has ended; from then on its methods fail.
---@class sampan.Transaction
local Transaction = {}

--- The rows of a statement; of an INSERT, UPDATE or DELETE what its RETURNING says. It sees what the transaction wrote.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row[]
function Transaction:query(sql, params) end

--- The first row of a statement, or nothing.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return sampan.Row?
function Transaction:one(sql, params) end

--- Runs a statement. `changes` is the number of rows that it changed, `last_id` the rowid of the last row that was inserted.
---@param sql string One statement, with `?` or `:name` where a parameter goes.
---@param params? any A list for `?`, or a table or object for `:name`. Text, numbers, booleans (as 0 and 1), bytes, nothing (as NULL).
---@return { changes: integer, last_id: integer }
function Transaction:exec(sql, params) end

--- Adds a job in the transaction: it runs if that is committed. Returns its number, as `app.enqueue` does.
---@param name string The name of the job.
---@param args? any The arguments: anything that JSON has.
---@param options? table As for `app.enqueue`.
---@return integer
function Transaction:enqueue(name, args, options) end

--- Calls the function, which must not wait: all that it writes with `tx` is kept, or, if it throws, nothing, and the error is passed on. Batches nest.
---@return any
function Transaction:batch(fn) end

--- An answer with what the template prints. Its content type is that of the file's extension. In a file that ends in `.html`, `.htm`, `.xml` or `.svg` printed values are escaped.
---@param name string A file in `templates/`: `page.html`. `page.html#rows` is the block `rows` of it alone.
---@param data? any The variables of the template, by their names.
---@param options? sampan.Options
---@return sampan.Response
function app.render(name, data, options) end

--- What a template prints that is no file.
---@param template string The text of a template, which should be a constant. Printed values are not escaped.
---@param data? any The variables of the template, by their names.
---@return string
function app.render_string(template, data) end

--- What templates can use beside what Jinja2 has.
---@class sampan.modules.template
app.template = {}

--- Gives templates a filter: `{{ price|money }}` calls the function with the value and the filter's arguments. What it returns is escaped like any value. Only while the project loads.
---@param name string The name of the filter.
---@param fn function The function. It cannot wait.
function app.template.filter(name, fn) end

--- Gives templates a function: `{{ link(owner) }}` calls it. Named arguments come as a map behind the others. Only while the project loads.
---@param name string The name of the function.
---@param fn function The function. It cannot wait.
function app.template.func(name, fn) end

--- Digests, signatures, encryption and random bytes.
---@class sampan.modules.crypto
app.crypto = {}

--- The SHA-256 digest: 32 bytes.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.sha256(data) end

--- The SHA-384 digest: 48 bytes.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.sha384(data) end

--- The SHA-512 digest: 64 bytes.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.sha512(data) end

--- The SHA-1 digest: 20 bytes. Only for old protocols that ask for it: it is broken.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.sha1(data) end

--- The MD5 digest: 16 bytes. Only for old protocols that ask for it: it is broken.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.md5(data) end

--- The HMAC of data. Compare it by `crypto.equal`.
---@param algorithm string `"sha256"`, `"sha384"`, `"sha512"`, or for old protocols `"sha1"`.
---@param key string Bytes, or text as UTF-8.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.crypto.hmac(algorithm, key, data) end

--- Whether two secrets are equal. The time it takes depends on their length only, so it does not tell where they differ.
---@param a string Bytes or text.
---@param b string Bytes or text.
---@return boolean
function app.crypto.equal(a, b) end

--- Random bytes that cannot be guessed.
---@param count integer The number of bytes: 1 to 65536.
---@return string
function app.crypto.random_bytes(count) end

--- A random text that cannot be guessed, for links and keys: letters, digits, `-` and `_`.
---@param count? integer The number of random bytes: 32 unless given, 16 to 1024.
---@return string
function app.crypto.token(count) end

--- Encrypts data with the project's secret keys, so that a client can keep it. The text has letters, digits, `-` and `_`.
---@param data string Bytes, or text as UTF-8.
---@param purpose string What it is for: `"unsubscribe"`. A text that was sealed for another purpose does not open.
---@param options? table `max_age`: how many seconds it can be opened; for ever unless given.
---@return string
function app.crypto.seal(data, purpose, options) end

--- The data of a sealed text. Nothing if it was changed, sealed by other keys or for another purpose, or if its `max_age` has passed.
---@param text string What `crypto.seal` gave.
---@param purpose string What it is for: `"unsubscribe"`. A text that was sealed for another purpose does not open.
---@return string?
function app.crypto.open(text, purpose) end

--- Encrypts data with AES-256-GCM: a random nonce of 12 bytes, the encrypted data, a tag of 16 bytes. One key is good for 2^32 calls.
---@param data string Bytes, or text as UTF-8.
---@param key string 32 bytes, as `crypto.random_bytes(32)` gives them.
---@param extra? string Bytes that are not part of the result, but must be the same again to decrypt.
---@return string
function app.crypto.encrypt(data, key, extra) end

--- The data again. Nothing if anything was changed, or the key or `extra` is another.
---@param data string What `crypto.encrypt` gave.
---@param key string 32 bytes, as `crypto.random_bytes(32)` gives them.
---@param extra? string Bytes that are not part of the result, but must be the same again to decrypt.
---@return string?
function app.crypto.decrypt(data, key, extra) end

--- A new pair of keys that sign and verify, as PEM texts.
---@return { private_key: string, public_key: string }
function app.crypto.ed25519_keypair() end

--- The signature of data: 64 bytes.
---@param data string Bytes, or text as UTF-8.
---@param private_key string A PEM text, or 32 bytes.
---@return string
function app.crypto.ed25519_sign(data, private_key) end

--- Whether the key's other half signed this data.
---@param data string Bytes, or text as UTF-8.
---@param signature string The signature.
---@param public_key string A PEM text, or 32 bytes.
---@return boolean
function app.crypto.ed25519_verify(data, signature, public_key) end

--- The signature of data by RSA, ECDSA or Ed25519.
---@param algorithm string `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512` or `EdDSA`.
---@param key any A private key: a PEM text, or a JWK. For `EdDSA` also 32 bytes.
---@param data string Bytes, or text as UTF-8.
---@param options? table `der = true`: a signature of ES is a DER sequence, as OpenSSL writes it. Without it, it is two numbers of a fixed size, as in tokens.
---@return string
function app.crypto.sign(algorithm, key, data, options) end

--- True if the key's other half signed this data by this algorithm.
---@param algorithm string `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512` or `EdDSA`.
---@param key any A public key: a PEM text "PUBLIC KEY" or "CERTIFICATE", or a JWK. For `EdDSA` also 32 bytes. Of a certificate only the key is used: neither its dates nor who issued it are checked.
---@param data string Bytes, or text as UTF-8.
---@param signature string The signature.
---@param options? table `der = true`: a signature of ES is a DER sequence, as OpenSSL writes it. Without it, it is two numbers of a fixed size, as in tokens.
---@return boolean
function app.crypto.verify(algorithm, key, data, signature, options) end

--- A key that is derived from another by HKDF.
---@param hash string `"sha256"`, `"sha384"`, `"sha512"`, or for old protocols `"sha1"`.
---@param key string A key that cannot be guessed, not empty. For a password there is `crypto.pbkdf2`.
---@param options? table `salt` and `info`: bytes or text, empty unless given; keys of another `info` are independent. `length`: the number of bytes, 32 unless given.
---@return string
function app.crypto.hkdf(hash, key, options) end

--- A key that is derived from a password by PBKDF2, on a thread of its own. It is for other systems that ask for it: passwords of users are for the module `password`. Long derivations delay the others: limit the rate of a route that has one.
---@param hash string `"sha256"`, `"sha384"`, `"sha512"`, or for old protocols `"sha1"`.
---@param password string The password, as bytes or text.
---@param options table `salt`: bytes or text. `iterations`: 1 to 5000000, for all blocks of the digest's size in the result together. `length`: the number of bytes, 32 unless given, 1024 at most.
---@return string
function app.crypto.pbkdf2(hash, password, options) end

--- A new secret for an authenticator app: 20 random bytes in base32. Keep it sealed, by `crypto.seal`.
---@return string
function app.crypto.totp_secret() end

--- The `otpauth:` URI of a secret. Shown as a QR code, an authenticator app can read it.
---@param names table `secret`: what `crypto.totp_secret` gave. `account`: the user, such as a mail address. `issuer`: the name of your app.
---@return string
function app.crypto.totp_uri(names) end

--- The number of the code's 30 seconds, which grows with time, if the code is right; else nothing. Keep the number for `after`, so that a code counts once.
---@param secret string What `crypto.totp_secret` gave.
---@param code string The six digits that the user typed.
---@param options? table `after`: what this function returned the last time; codes that are not newer do not count. `window`: how many codes before and after the current one count too, 1 unless given, 10 at most. `time`: seconds since 1970, now unless given.
---@return any
function app.crypto.totp_verify(secret, code, options) end

--- A JSON Web Token.
---@param claims any The claims of the token: `{ sub = "7" }`.
---@param key table `algorithm`: `HS256`, `HS384`, `HS512`, `RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384`, `ES512` or `EdDSA`. `key`: a secret of 32 bytes at least for HS, else a private key as a PEM text, or a JWK. `kid`: what the token calls it. A JWK with its `alg` can stand for all of it.
---@param options? table `expires_in`: how many seconds it is valid; writes `iat` and `exp`.
---@return string
function app.crypto.jwt_sign(claims, key, options) end

--- The claims of a token. One that does not count is an error that answers 401, with a `code`: `jwt_malformed`, `jwt_key`, `jwt_algorithm`, `jwt_signature`, `jwt_expired`, `jwt_not_yet_valid`, `jwt_audience`, `jwt_issuer`. A token for an audience is refused unless `audience` names it.
---@param token string What the client sent.
---@param keys any A key as in `crypto.jwt_sign`, with a public key for RS, PS, ES and EdDSA: a PEM text, also of a certificate, or a JWK; a list of keys; or a JWK Set, of which keys that are not for signatures or cannot be read are left out.
---@param options? table `algorithms`: the only ones that are accepted; needed for a JWK without `alg` of the type RSA or oct. `audience` and `issuer`: a name, or a list of accepted ones. `leeway`: how many seconds clocks may differ, 0 unless given.
---@return any
function app.crypto.jwt_verify(token, keys, options) end

--- Header and claims of a token WITHOUT any check, neither of its signature nor of its times. Everybody can write such a token: use this to look, or to choose a key, and `crypto.jwt_verify` to trust. A text that is no token is an error that answers 401, with the `code` `jwt_malformed`.
---@param token string A token from anybody.
---@return { header: table, claims: table }
function app.crypto.jwt_decode(token) end

--- Checks that another service signed a webhook. For one that does not count it is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`. `req:verify_webhook` takes body and header fields from a request.
---@param scheme string `"stripe"`, `"github"`, or `"standard"` for Standard Webhooks, which many services use.
---@param secrets any The secret of the webhook, or a list of secrets while they are replaced. For `"standard"` a secret (`whsec_`) or a public key (`whpk_`).
---@param body string The body as it was sent, before it is parsed.
---@param headers table The header fields, by their names in any case.
---@param options? table `tolerance`: by how many seconds the time of the webhook may differ, before or after; 300 unless given. GitHub's webhooks have no time.
function app.crypto.verify_webhook(scheme, secrets, body, headers, options) end

--- Files in the project's storage folder, and those of the project itself to read.
---@class sampan.modules.files
app.files = {}

--- The text of a file, of at most 256 KiB unless the script can wait in the middle of a call.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return string
function app.files.read(path, options) end

--- The text of a file of any size that fits into memory.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return string
function app.files.read_async(path, options) end

--- The bytes of a file, as `read_async` gives the text.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return string
function app.files.bytes(path, options) end

--- Calls the function with each line of a file. Returns how many there were. A line has at most 1 MiB.
---@param path string Names with `/` between them, below the storage folder.
---@param fn function Gets a line, without its end. It cannot wait. If it returns `false`, no more are read.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return integer
function app.files.lines(path, fn, options) end

--- Opens a file to be read piece by piece.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return sampan.FileStream
function app.files.open(path, options) end

--- Writes a file, and makes its folders. A reader sees the old content or the new one, whole.
---@param path string Names with `/` between them, below the storage folder.
---@param data string The content.
function app.files.write(path, data) end

--- Adds to the end of a file, and makes it and its folders.
---@param path string Names with `/` between them, below the storage folder.
---@param data string The content.
function app.files.append(path, data) end

--- Begins a file that is written piece by piece. It is there under its path once it is closed.
---@param path string Names with `/` between them, below the storage folder.
---@return sampan.FileWriter
function app.files.create(path) end

--- The names in a folder, sorted, at most 10,000; those of folders end with `/`.
---@param path? string A folder below the storage folder; that folder itself unless given.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return table
function app.files.list(path, options) end

--- What there is: `type` (`file`, `folder` or `other`), `size` in bytes, `modified` in seconds since 1970. Nothing if there is nothing.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return any
function app.files.stat(path, options) end

--- Whether there is a file or a folder.
---@param path string Names with `/` between them, below the storage folder.
---@param options? table `from = "project"`: the path is below the project's folder.
---@return boolean
function app.files.exists(path, options) end

--- Removes a file or an empty folder. Tells whether there was one.
---@param path string Names with `/` between them, below the storage folder.
---@return boolean
function app.files.remove(path) end

--- Gives a file or folder another path. A file that is there is replaced.
---@param path string Names with `/` between them, below the storage folder.
---@param to string The new path, whose folders are made.
function app.files.rename(path, to) end

--- Makes a folder, and those around it.
---@param path string Names with `/` between them, below the storage folder.
function app.files.mkdir(path) end

--- Reads a file piece by piece, for answers that are streamed. It goes with its request.
---@class sampan.FileStream
local FileStream = {}

--- The next bytes, at most 64 KiB; nothing at the end.
---@return any
function FileStream:read() end

--- Closes the file, which the end of the request does too.
function FileStream:close() end

--- Writes a file piece by piece. Without `close` nothing is kept of it. It goes with its request.
---@class sampan.FileWriter
local FileWriter = {}

--- Writes the next bytes.
---@param data string The next bytes.
function FileWriter:write(data) end

--- Ends the file, and gives it its path. A file that is there is replaced.
function FileWriter:close() end

--- A file of a form. It has a `name`, which is safe to use for a file, a `type` as the client says, and a `size` in bytes. It goes with its request unless it is saved.
---@class sampan.UploadedFile
---@field [string] any
local UploadedFile = {}

--- Keeps the file, and makes its folders. A file that is there is replaced.
---@param path string A path below the storage folder, as for `files.write`.
function UploadedFile:save(path) end

--- The text of the file.
---@return string
function UploadedFile:text() end

--- The bytes of the file.
---@return string
function UploadedFile:bytes() end

--- The next bytes, at most 64 KiB; nothing at the end.
---@return any
function UploadedFile:read() end

--- What `file.name` and the like give.
---@param key string `name`, `type` or `size`.
---@return any
function UploadedFile:get(key) end

--- An error: a file that was sent cannot be changed.
---@param key string Which it is makes no difference: nothing of a file can be set.
---@param value? any Which it is makes no difference: nothing of a file can be set.
function UploadedFile:set(key, value) end

--- The keys.
---@return table
function UploadedFile:keys() end

--- Lets scripts of other sites call these paths. Answers preflight requests itself. It does not open the protection against requests of other sites, see `[csrf]`.
---@param options any `origins`: `"*"` or a list such as `"https://app.example"`. `methods`: those that a script of another site may use (GET, HEAD, POST, PUT, PATCH and DELETE unless given). `headers`: the header fields that it may send (`content-type` unless given). `expose`: those of the answer that it may read. `credentials`: whether the browser sends cookies. `max_age`: for how many seconds it may remember the permission.
---@return sampan.NativeMiddleware
function app.cors(options) end

--- Refuses with 429 what is above the limit, with `Retry-After`. The window slides. All workers count together. The fields `RateLimit` and `RateLimit-Policy` say what is left. With a function as its key it runs among the script's own middleware, in its order.
---@param options any `limit` requests in `per` seconds. `key`: what is counted together. `"ip"` (unless given): the client's address, of IPv6 its /64. The name of a header field: its value, or the address where it is missing. A function: what it returns for the request; it may wait, and what it returns nothing for is not counted. `name`: what the fields of the answer call the limit (`default` unless given). `shared`: all processes on one PostgreSQL server count together; not with a function as the key.
---@return sampan.NativeMiddleware
function app.rate_limit(options) end

--- Lets only people in who know a password (RFC 7617): 401 for all others. With `verify` it runs among the script's own middleware, in its order.
---@param options any `verify`: a function that is called with user, password and request, and may wait. What it returns is `req.auth`; nothing, `false`, 0, NaN and an empty text refuse. Or `users`: passwords by user; then `req.auth` is the user. `realm`: what the browser shows.
---@return sampan.NativeMiddleware
function app.basic_auth(options) end

--- Lets only requests in that have a token (RFC 6750): 401 for all others. With `verify` it runs among the script's own middleware, in its order.
---@param options any `verify`: a function that is called with the token and the request, and may wait. What it returns is `req.auth`; nothing, `false`, 0, NaN and an empty text refuse. Or `tokens`: tokens by name; then `req.auth` is the name. `realm`: what the answer calls the site.
---@return sampan.NativeMiddleware
function app.bearer_auth(options) end

--- Gives the answer to the first POST, PATCH, PUT or DELETE with an `Idempotency-Key` again to each repetition by the same user, with `Idempotent-Replayed: true` and without calling a handler. It is recorded in the app's database together with what the handler has written last. Another request with the same key is refused with 422, and one while the first still runs with 409. It runs among the script's own middleware, in its order. It works with SQLite.
---@param options any `user`: a function that is called with each request of these paths, and may wait. What it returns says who asks: text or a whole number; only this user gets the answer again. `hours`: how long an answer is given again (24 unless given). `required`: whether POST, PATCH, PUT and DELETE need a key (false unless given).
---@return sampan.NativeMiddleware
function app.idempotency(options) end

--- Admits only clients whose addresses are in these networks: 403 for all others. The address is that of `req.ip`: behind a proxy set `trusted_proxies`, and let the proxy send `X-Forwarded-For`. Where only the proxy is known, the answer is 403 too.
---@param options any `networks`: addresses and networks such as `"10.0.0.0/8"`; `"unix:"` stands for all clients over a Unix socket.
---@return sampan.NativeMiddleware
function app.allow_ips(options) end

--- Adds header fields that make browsers more careful: `X-Content-Type-Options: nosniff` and those of the options. A field that the answer has already stays as it is.
---@param options? any `csp`: a `Content-Security-Policy`; `{nonce}` in it stands for a random value of each request, `req.csp_nonce`. `frame_ancestors`: who may show the page in a frame, `"none"` (unless given), `"self"` or sources such as `"https://app.example"`; `false` for all sites. `referrer_policy`: `strict-origin-when-cross-origin` unless given, `false` for none. `hsts`: for how many seconds browsers come back by HTTPS only (a year unless given), `false` for none; sent only over HTTPS.
---@return sampan.NativeMiddleware
function app.secure_headers(options) end

--- Ready middleware, for `app.use`.
---@class sampan.NativeMiddleware
local NativeMiddleware = {}

--- What an app remembers of a browser from request to request.
---@class sampan.modules.session
app.session = {}

--- Ends all sessions that have a value under a key, as after a change of the password. That of this request ends too, unless it is given as `except`: then call its `regenerate` too, or a copy of its cookie stays logged in. Returns how many there were. On PostgreSQL it waits.
---@param values table One key of the sessions and its value, such as `{ user_id = 7 }`. At most four keys may be used in an app, each with an index.
---@param except? sampan.Session A session that stays, such as `req.session`: that of the request.
---@return integer
function app.session.end_all(values, except) end

--- Ends one of the sessions that have a value under a key. Returns whether it was there: the id of a session with another value ends none. On PostgreSQL it waits. With `store = "cookie"` it is an error, as `list` and `end_all` are.
---@param values table One key of the sessions and its value, such as `{ user_id = 7 }`. At most four keys may be used in an app, each with an index.
---@param id string The `id` of a session in `list`.
---@return boolean
function app.session.end_one(values, id) end

--- Lists the sessions that have a value under a key, the newest first, at most 100. Each has `id` for `end_one`, from which no cookie can be made, `began` and `ends`, in seconds since 1970, and `current`. On PostgreSQL it waits.
---@param values table One key of the sessions and its value, such as `{ user_id = 7 }`. At most four keys may be used in an app, each with an index.
---@param current? sampan.Session The session to mark, such as `req.session`: that of the request.
---@return table
function app.session.list(values, current) end

--- What the app remembers of a browser, by keys. Values are what JSON has; what is read is a copy, so assign it again after a change inside. It is written once, at the end of the handler, together with what the handler wrote to the database; not if that fails. That of a socket, `ws.req.session`, is read anew each time, and written at once. A socket cannot set a cookie: it neither begins a session nor gives it a new id, and it changes none with `store = "cookie"`.
---@class sampan.Session
---@field [string] any
local Session = {}

--- The value under a key, or nothing: the same as `session.key`.
---@param key string Any text but the name of a method.
---@return any
function Session:get(key) end

--- Puts a value under a key: the same as `session.key = value`.
---@param key string Any text but the name of a method.
---@param value? any What JSON has; nothing removes the key.
function Session:set(key, value) end

--- The keys that have a value.
---@return table
function Session:keys() end

--- Ends the session, as for a logout: everything in it goes, and its cookie finds nothing any more. With `store = "cookie"` only this browser forgets it: a copy of the cookie works until it ends. What is set after this begins a new session.
function Session:clear() end

--- Gives the session a new id and keeps what is in it. Call it at login: a visitor who knew the old id is not logged in.
function Session:regenerate() end

--- Sends a message to all functions that `app.subscribe` gave for a topic, on all workers. It leaves when the writes of the request so far are on disk, and not at all if they fail or the `db.batch` around it is rolled back. Messages of one worker on one topic arrive in their order.
---@param topic string The name of the topic: `room:7`.
---@param message any Text, bytes, or anything else that JSON has: it is sent as JSON.
function app.publish(topic, message) end

--- Calls the function with each message of a topic, in each worker, one after the other. Each call is a run of its own, with the limits of a handler; its errors are logged. Only while the project loads.
---@param topic string The name of the topic: `room:7`.
---@param fn function Called with the message, as it was published, and with its `topic`, `id` and `event`, which is `message`.
---@param options? table `once = true`: called on one worker only. `presence = true`: called when members join and leave too, with `event` `join` or `leave` and the member.
function app.subscribe(topic, fn, options) end

--- Has a topic keep its last messages, so that an event stream whose client connects again gets those that it missed. The first declaration that names a topic counts. Only while the project loads.
---@param name string The name of a topic; with `*` at its end of all that begin so.
---@param options table `history`: the number of messages that the topic keeps, 1 to 10000.
function app.topic(name, options) end

--- The members of a topic, in the order in which they joined: those of all workers. Each has `id` and the `data` that it joined with.
---@param topic string The name of the topic: `room:7`.
---@return table
function app.presence(topic) end

--- An answer with a file. The server sends it as it sends those in `public/`: in parts if the client asks for parts, and not at all if the client has it. An error with the status 404 if there is none. A path leads out of the folder neither by `..` nor by a link, and has no names that begin with a dot. The database and the files beside it are never sent.
---@param path string The file, relative to the option `folder`. Without that option it is a file of `public/` or of `storage/`, and begins with one of these: `storage/report.pdf`. `storage/` is the storage folder, wherever `[files]` has it.
---@param how? table `folder`: a folder of the project, or `storage` or one below it. The path begins in it and stays in it, so that a client may choose the path. `download`: the name under which a browser saves the file, or true for its own. `type`: its content type, instead of the one that its name tells.
---@param options? sampan.Options
---@return sampan.Response
function app.file(path, how, options) end

--- The URL of a file in `public/` with the version of its content: `/css/app.css?v=9f86d081884c7d65`. Clients keep what they get there for a year, because a file that changes has another URL. Templates have the same function.
---@param name string A file in `public/`: `css/app.css`.
---@return string
function app.asset(name) end

--- Texts in the languages of an app, from `locales/*.toml`.
---@class sampan.modules.i18n
app.i18n = {}

--- The text of a key in a locale, for what no request asks for, such as mails. In a handler use `req:t`.
---@param locale string One of the app's locales: `de`.
---@param key string The key of the text, with dots between its parts: `owner.pets`.
---@param values? table The values for `{name}` in the text, by name. `n` decides the form of a text that has several.
---@return string
function app.i18n.t(locale, key, values) end

--- The names of the app's locales.
---@return table
function app.i18n.locales() end

--- Checks and converts data. Gives the values of the schema's fields if all are valid, else messages by the names of fields.
---@param data any A form, a query, or what JSON gave.
---@param schema any The fields by their names: each the name of a type, or options with `type`, `required`, `trim`, `min`, `max`, `length`, `tz`, `pattern`, `enum`, `items`, `fields`, `default`, `check` and `message`.
---@return table? data
---@return table? errors
function app.validate(data, schema) end

--- The clock, waiting, and dates in time zones.
---@class sampan.modules.time
app.time = {}

--- The time in seconds since 1970-01-01 00:00 UTC, with fractions of a second.
---@return number
function app.time.now() end

--- The time in whole milliseconds since 1970-01-01 00:00 UTC.
---@return integer
function app.time.now_ms() end

--- Waits without blocking other requests. A negative, too long or NaN duration is an error.
---@param seconds number The duration: fractions count; from 0 to 86400 (one day).
function app.time.sleep(seconds) end

--- The date and the time of day in a time zone. `weekday` is 1 for Monday to 7 for Sunday, `yearday` begins with 1, `offset` is how many seconds the zone is ahead of UTC then.
---@param seconds? number The time in seconds since 1970-01-01 00:00 UTC; now unless given.
---@param options? table `tz`: the time zone by its IANA name, such as `Europe/Berlin`; `UTC` unless given.
---@return { year: integer, month: integer, day: integer, hour: integer, minute: integer, second: integer, weekday: integer, yearday: integer, offset: integer }
function app.time.date(seconds, options) end

--- A later or an earlier time. A day is one of the calendar, so it keeps the time of day when the clocks change. Where a month has no such day, it is its last one.
---@param seconds number The time in seconds since 1970-01-01 00:00 UTC.
---@param span table `years`, `months`, `weeks`, `days`, `hours`, `minutes`, `seconds`: whole numbers, also below zero. `tz`: the time zone of the calendar; `UTC` unless given.
---@return number
function app.time.add(seconds, span) end

--- The time of a date in seconds since 1970-01-01 00:00 UTC. A date without a time is its midnight. What is not a date is an error.
---@param text string The date.
---@param format? string How it is written, as in C's `strptime`: `%d.%m.%Y %H:%M`. Unless given, as in `2026-11-22`, `2026-11-22 14:05` or `2026-11-22T14:05:09.5+02:00`, or as HTTP has it: `Sun, 22 Nov 2026 14:05:09 GMT`.
---@param options? table `tz`: the time zone of a text that names neither an offset nor a time zone; `UTC` unless given.
---@return number
function app.time.parse(text, format, options) end

--- A date as text. Names of months and days are English: `req:format_date` writes those of other languages.
---@param seconds number The time in seconds since 1970-01-01 00:00 UTC.
---@param format? string What is written, as in C's `strftime`: `%d.%m.%Y %H:%M`. Unless given, the date as ISO 8601 writes it: `2026-11-22T14:05:09Z`, or with the offset of the time zone. `%c` and `%x` are those of the locale `C`.
---@param options? table `tz`: the time zone by its IANA name, such as `Europe/Berlin`; `UTC` unless given.
---@return string
function app.time.format(seconds, format, options) end

--- The date for a header field such as `Expires` (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Parts of a second are left out. Years before 1970 and after 9999 are errors. `time.parse` reads it.
---@param seconds? number The time in seconds since 1970-01-01 00:00 UTC; now unless given.
---@return string
function app.time.http_date(seconds) end

--- Environment variables.
---@class sampan.modules.env
app.env = {}

--- The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced. Variables that hold secrets of the server, such as `SAMPAN_SECRETS_KEYS` and `SAMPAN_DB_URL`, are as if they were not set.
---@param name string The variable's name.
---@return string?
function app.env.get(name) end

--- JSON text from values and values from JSON text.
--- Called, it makes a JSON answer.
---@class sampan.Json
---@overload fun(body: any, options?: sampan.Options): sampan.Response
---@field array fun(list?: table): table marks a table as a list, so that it is `[]` if it is empty
---@field object fun(map?: table): table marks a table as an object
app.json = {}

--- The JSON text of a value, as an answer has it. What JSON does not have is an error: bytes that are not UTF-8, cycles, nesting beyond `json_depth_max`.
---@param value any The value to write.
---@param options? table `pretty`: each member and each item on a line of its own, indented by two spaces, as `JSON.stringify(value, null, 2)` has it.
---@return string
function app.json.encode(value, options) end

--- The value of a JSON text. Text that is not JSON is an error that names the line and column.
---@param text string The JSON text.
---@return any
function app.json.decode(text) end

--- Comma-separated values, as spreadsheets and databases exchange them.
---@class sampan.modules.csv
app.csv = {}

--- The CSV text of rows. The first row names the columns of the header; lists have none.
---@param rows any A list of rows: each a list, or a table or object whose keys are the columns.
---@param options? table `columns`: the names of those to write, in order. `separator`: what stands between fields, `,` unless given. `spreadsheet = true`: a spreadsheet opens it, so a text that begins like a formula gets a `'` in front.
---@return string
function app.csv.encode(rows, options) end

--- A writer for rows that come one after the other.
---@param options? table `columns`: the names of those to write, in order. `separator`: what stands between fields, `,` unless given. `spreadsheet = true`: a spreadsheet opens it, so a text that begins like a formula gets a `'` in front.
---@return sampan.CsvWriter
function app.csv.writer(options) end

--- Calls the function with each record of a text. Returns how many there were. Text that is no CSV is an error that names the line.
---@param text string The CSV text.
---@param fn function Gets a record, its fields by the names in the header. It cannot wait. If it returns `false`, no more are read.
---@param options? table `header = false`: the first record is one like the others, and records are lists. `separator`: what stands between fields, `,` unless given.
---@return integer
function app.csv.each(text, fn, options) end

--- Writes CSV piece by piece, for answers that are streamed. It goes with its request.
---@class sampan.CsvWriter
local CsvWriter = {}

--- Writes a row, and the header before the first one. At most 1 MiB is kept until it is taken.
---@param row any A row as in `csv.encode`.
function CsvWriter:add(row) end

--- The text that was written since the last time.
---@return string
function CsvWriter:take() end

--- Regular expressions in linear time, whatever the pattern and the text. `RegExp` backtracks, so some of its patterns take exponential time over a text that a client chose; these cannot. They have no look-around and no backreferences. The syntax is that of Rust's crate `regex`: `\d`, `\w`, `\p{L}`, `(?<name>...)`, `a|b`, `a*?`.
---@class sampan.modules.regex
app.regex = {}

--- Whether the pattern matches anywhere in the text.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return boolean
function app.regex.test(text, pattern) end

--- The text of the first match, or nothing.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return string?
function app.regex.find(text, pattern) end

--- The texts of all matches, one behind the other.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return table
function app.regex.find_all(text, pattern) end

--- The first match, or nothing: its `text`, its `groups` in order, and those that have a name in `named`. A group that took no part is null.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return any
function app.regex.match(text, pattern) end

--- All matches, each as `match` gives it.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return table
function app.regex.match_all(text, pattern) end

--- The text with another one in the place of each match.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@param replacement string | function Text in which `$1` and `${name}` are groups and `$$` is a dollar sign, or a function that gets the match and returns the text. It cannot wait.
---@return string
function app.regex.replace(text, pattern, replacement) end

--- The pieces of the text between the matches.
---@param text string The text that is searched, at most 1 MiB.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@return table
function app.regex.split(text, pattern) end

--- A pattern that matches this text and nothing else.
---@param text string Any text.
---@return string
function app.regex.escape(text) end

--- A compiled pattern, which can be used again and again.
---@param pattern string The pattern. Flags can stand in front: `(?i)`. Each isolate keeps the 64 that were used last, compiled.
---@param options? table `flags`: any of `i` (ignore case), `m` (`^` and `$` match at lines), `s` (a dot matches line ends too) and `x` (spaces and comments in the pattern).
---@return sampan.Regex
function app.regex.new(pattern, options) end

--- A compiled pattern of `regex.new`.
---@class sampan.Regex
local Regex = {}

--- Whether the pattern matches anywhere in the text.
---@param text string The text that is searched, at most 1 MiB.
---@return boolean
function Regex:test(text) end

--- The text of the first match, or nothing.
---@param text string The text that is searched, at most 1 MiB.
---@return string?
function Regex:find(text) end

--- The texts of all matches, one behind the other.
---@param text string The text that is searched, at most 1 MiB.
---@return table
function Regex:find_all(text) end

--- The first match, or nothing: its `text`, its `groups` in order, and those that have a name in `named`. A group that took no part is null.
---@param text string The text that is searched, at most 1 MiB.
---@return any
function Regex:match(text) end

--- All matches, each as `match` gives it.
---@param text string The text that is searched, at most 1 MiB.
---@return table
function Regex:match_all(text) end

--- The text with another one in the place of each match.
---@param text string The text that is searched, at most 1 MiB.
---@param replacement string | function Text in which `$1` and `${name}` are groups and `$$` is a dollar sign, or a function that gets the match and returns the text. It cannot wait.
---@return string
function Regex:replace(text, replacement) end

--- The pieces of the text between the matches.
---@param text string The text that is searched, at most 1 MiB.
---@return table
function Regex:split(text) end

--- The page of a list that a request asks for: a page that is not there is the nearest that is. `limit` and `offset` are for `LIMIT ? OFFSET ?`. `first` and `last` number the rows of the page, from 1. `prev` and `next` are URLs with the rest of the query. `links` has the first and the last page and those around this one, each with `page`, `url` and `current`; where pages are left out stands one with `gap`.
---@param total number The number of rows.
---@param options? table `query`: that of the request. `per_page`: how many rows a page has, 20 unless given. `param`: the name of the page in the query, `page` unless given.
---@return { page: integer, pages: integer, limit: integer, total: integer, offset: integer, first: integer, last: integer, prev: string?, next: string?, links: table }
function app.paginate(total, options) end

--- Encodes and decodes texts: base64, base32, hex, URLs, HTML, UUIDs. Compresses data. Finds IP addresses in networks.
---@class sampan.modules.codec
app.codec = {}

--- The base64 of data, padded with `=` (RFC 4648 section 4).
---@param data string Bytes, or text as UTF-8.
---@return string
function app.codec.base64_encode(data) end

--- The data of base64, padded or not. Nothing if the text is no base64; line ends are none.
---@param text string The text.
---@return string?
function app.codec.base64_decode(text) end

--- The base64 of data that can stand in URLs and names, with `-` and `_` and without padding (RFC 4648 section 5).
---@param data string Bytes, or text as UTF-8.
---@return string
function app.codec.base64url_encode(data) end

--- The data of such a text, padded or not. Nothing if it is none.
---@param text string The text.
---@return string?
function app.codec.base64url_decode(text) end

--- The base32 of data, padded with `=` (RFC 4648 section 6).
---@param data string Bytes, or text as UTF-8.
---@return string
function app.codec.base32_encode(data) end

--- The data of base32, padded or not, in either case. Nothing if the text is not base32; spaces are not.
---@param text string The text.
---@return string?
function app.codec.base32_decode(text) end

--- Two digits for each byte, in lower case.
---@param data string Bytes, or text as UTF-8.
---@return string
function app.codec.hex_encode(data) end

--- The data of such a text, in either case. Nothing if it is none.
---@param text string The text.
---@return string?
function app.codec.hex_decode(text) end

--- Data as a part of a URL: all but letters, digits and `-._~` becomes `%XX` (RFC 3986 section 2.1).
---@param data string Bytes, or text as UTF-8.
---@return string
function app.codec.url_encode(data) end

--- The parts of a URL, as browsers read it (WHATWG). `username` and `password` are decoded; `path`, `query` and `fragment` are as in the URL. `host` is in small letters and Punycode, an IPv6 address without brackets. `port` is that of the scheme if the URL has none. Parts that are not there are nothing. Nothing if the text is not a URL with a scheme, or longer than 65536 bytes.
---@param text string The text.
---@return ({ scheme: string, username: string?, password: string?, host: string?, port: any, path: string, query: string?, fragment: string? })?
function app.codec.url_parse(text) end

--- The URL of parts, as `url_parse` gives them. Characters that cannot stand in a part are encoded; no part can reach into the next. `%XX` in `path`, `query` and `fragment` stays as it is.
---@param parts table `scheme`, `host`, and what else the URL has of `username`, `password`, `port`, `path`, `query` (without `?`) and `fragment` (without `#`).
---@return string
function app.codec.url_build(parts) end

--- The names and values of a query or of a form (`application/x-www-form-urlencoded`), decoded. The value of a name that is given twice is a list.
---@param text string The query, with or without `?`; at most 65536 bytes.
---@return any
function app.codec.query_parse(text) end

--- The query of names and values, sorted by the names, without `?`. Values that are nothing are left out.
---@param values table Strings, numbers, booleans, or lists of these, by their names.
---@return string
function app.codec.query_build(values) end

--- Whether an address is in one of the networks. `::ffff:192.0.2.1` is the address 192.0.2.1. `unix:` among the networks has clients of Unix sockets. False for a text that is not an address; a network that is wrong is an error.
---@param ip string The address: `req.ip`.
---@param networks table Networks such as `10.0.0.0/8` and `2001:db8::/32`, and addresses.
---@return boolean
function app.codec.ip_in(ip, networks) end

--- Data that is compressed as gzip (RFC 1952).
---@param data string Bytes, or text as UTF-8.
---@param options? table `level`: from 0 (fastest) to 9 (smallest); 6 unless given.
---@return string
function app.codec.gzip(data, options) end

--- The data of gzip. Nothing if it is not gzip or damaged. An error with the `code` `too_large` if it is larger than `bytes_max`.
---@param data string The compressed data.
---@param options? table `bytes_max`: the largest size of the result; 16 MiB unless given.
---@return string?
function app.codec.gunzip(data, options) end

--- Data that is compressed as zlib (RFC 1950), which HTTP calls `deflate`; with `raw` as DEFLATE alone (RFC 1951).
---@param data string Bytes, or text as UTF-8.
---@param options? table `level`: from 0 (fastest) to 9 (smallest); 6 unless given. `raw`: without the frame of zlib.
---@return string
function app.codec.deflate(data, options) end

--- The data that `deflate` compressed. Nothing if it is something else or damaged. An error with the `code` `too_large` if it is larger than `bytes_max`.
---@param data string The compressed data.
---@param options? table `bytes_max`: the largest size of the result; 16 MiB unless given. `raw`: as of `deflate`.
---@return string?
function app.codec.inflate(data, options) end

--- The text of such a part. What is no `%XX` stays as it is, a `+` too; what is not UTF-8 is replaced.
---@param text string The text.
---@return string
function app.codec.url_decode(text) end

--- Text as HTML shows it, between tags and in quoted attributes: `&`, `<`, `>`, `"` and `'` are escaped. Templates do so by themselves.
---@param text string The text.
---@return string
function app.codec.html_escape(text) end

--- A random UUID (RFC 9562 section 5.4).
---@return string
function app.codec.uuid_v4() end

--- A UUID that begins with the time, so that later ones sort after earlier ones (RFC 9562 section 5.7). Good keys for tables.
---@return string
function app.codec.uuid_v7() end

--- Hashes passwords and verifies them, on threads of their own.
---@class sampan.modules.password
app.password = {}

--- The hash of a password, to be kept in a database: Argon2id with 19 MiB, two passes and a random salt. An empty password and one of more than 65536 bytes is an error.
---@param password string The password as it was typed.
---@return string
function app.password.hash(password) end

--- Whether a password is the one that was hashed. False for an empty one, for one of more than 65536 bytes, and against bcrypt for one with a zero byte. bcrypt reads the first 72 bytes only.
---@param password string The password as it was typed.
---@param hash? string What `password.hash` gave, or a hash of bcrypt. Nothing where there is no such user: that takes as long, and is false. So is a text that is no hash, and the log has a warning.
---@return boolean
function app.password.verify(password, hash) end

--- Whether `password.hash` would make a stronger hash today. After a login the password is at hand: hash it again then.
---@param hash string The hash that was kept.
---@return boolean
function app.password.needs_rehash(hash) end

--- A WebSocket. Beside its methods it has `ws.id` (a number, unique on its worker), `ws.data` (values that stay with the socket, also through a reload), `ws.req` (fields of the request that opened it: `method`, `path`, `url`, `params`, `query`, `cookies`, `headers`, `ip`, `id`, `session`, `auth`, `state` and those that middleware has set), `ws.buffered` (the bytes that wait for the client) and `ws.protocol` (the subprotocol).
---@class sampan.WebSocket
---@field [string] any
local WebSocket = {}

--- Sends a message. Returns what becomes of it: `sent`, `queued` (it waits for a commit, or for a client that does not read) or `dropped` (the socket is closed, or too much waits). What is sent while writes are not committed leaves when they are, and not at all if that fails.
---@param message string A text, or bytes.
---@return string
function WebSocket:send(message) end

--- Sends a message of bytes, also if they are text.
---@param message string Text or bytes.
---@return string
function WebSocket:send_bytes(message) end

--- Sends a value as a text of JSON.
---@param value any What JSON has.
---@return string
function WebSocket:send_json(value) end

--- Sends the socket each message that `app.publish` gives the topic from now on, on any worker, without a run of the script. It ends with the socket.
---@param topic string The topic, such as `room:7`.
---@param options? table `presence = true`: a text of JSON with `event` (`join` or `leave`), `topic` and `member` when members join and leave.
function WebSocket:subscribe(topic, options) end

--- Ends that. Returns whether the socket was subscribed.
---@param topic string The topic.
---@return boolean
function WebSocket:unsubscribe(topic) end

--- Makes the client a member of a topic, until its socket ends: see `app.presence`. A second call replaces the data.
---@param topic string The topic.
---@param data? any What JSON has: the data of the member.
function WebSocket:join(topic, data) end

--- Ends that, as a message is sent: when writes are committed. Returns whether the client was a member.
---@param topic string The topic.
---@return boolean
function WebSocket:leave(topic) end

--- Sends a ping. The server sends its own, see `[sockets]`.
---@param payload? string At most 125 bytes.
function WebSocket:ping(payload) end

--- Closes the socket, behind what was sent before. While writes are not committed it closes when they are, and not at all if that fails.
---@param code? integer 1000 unless given; 3000 to 4999 are the app's own.
---@param reason? string At most 123 bytes.
function WebSocket:close(code, reason) end

--- A field: the same as `ws.req`.
---@param key string The name.
---@return any
function WebSocket:get(key) end

--- Replaces all values of `data`: the same as `ws.data = value`.
---@param key string The name.
---@param value? any A table or object.
function WebSocket:set(key, value) end

--- The names of the fields.
---@return table
function WebSocket:keys() end

--- Values that stay with a socket, by keys. Values are what JSON has; what is read is a copy, so assign it again after a change inside.
---@class sampan.SocketData
---@field [string] any
local SocketData = {}

--- The value under a key, or nothing: the same as `data.key`.
---@param key string The name.
---@return any
function SocketData:get(key) end

--- Puts a value under a key: the same as `data.key = value`.
---@param key string The name.
---@param value? any What JSON has; nothing removes the key.
function SocketData:set(key, value) end

--- The keys that have a value.
---@return table
function SocketData:keys() end

--- A stream of server-sent events. Beside its methods it has `events.last_id`: the id of the last event that the client saw before it connected again, or nothing.
---@class sampan.EventStream
---@field [string] any
local EventStream = {}

--- Sends an event, and waits while the client is behind. What is sent while writes are not committed leaves when they are, and not at all if that fails. Once the client has left it fails with `cancelled`.
---@param event any A text, which is the data of the event; or a table or object with `data` (a text, or anything else that JSON has), `event` (the name: `message` where there is none), `id` and `retry` (milliseconds until the client connects again).
function EventStream:send(event) end

--- Sends a comment, which pages do not see. The server sends its own, see `[sse]`.
---@param text string The text.
function EventStream:comment(text) end

--- Sends the client each message that `app.publish` gives the topic from now on, on any worker, without a run of the script. The stream stays open when its function has ended. Bytes are sent in base64. A client that connects again first gets what it missed of a topic that keeps messages, or else an event `resync`.
---@param topic string The topic, such as `room:7`.
---@param options? table `event`: the name of its events. `presence = true`: events `join` and `leave` too, with the member.
function EventStream:subscribe(topic, options) end

--- Ends that. Returns whether the stream was subscribed.
---@param topic string The topic, such as `room:7`.
---@return boolean
function EventStream:unsubscribe(topic) end

--- Makes the client a member of a topic, until its stream ends: see `app.presence`. A second call replaces the data. The stream stays open when its function has ended.
---@param topic string The topic, such as `room:7`.
---@param data? any What JSON has: the data of the member.
function EventStream:join(topic, data) end

--- Ends that, as an event is sent: when writes are committed. Returns whether the client was a member.
---@param topic string The topic, such as `room:7`.
---@return boolean
function EventStream:leave(topic) end

--- Waits until the client has left, or the server ends the stream.
function EventStream:wait() end

--- Ends the stream behind what was sent before. The client connects again unless it closes too. While writes are not committed it ends when they are, and not at all if that fails.
function EventStream:close() end

--- A field: the same as `events.last_id`.
---@param key string The name.
---@return any
function EventStream:get(key) end

--- Fails: the fields cannot be set.
---@param key string The name.
---@param value? any The value.
function EventStream:set(key, value) end

--- The names of the fields.
---@return table
function EventStream:keys() end

--- Declares jobs: the function that does them. It runs on a thread for jobs, apart from requests, and may wait. If it fails, it is called again, at most `attempts` times in all. It can also be called again after it has succeeded, if the process ends at that moment. Only while the project loads.
---@param name string The name of the job.
---@param options table | function `attempts`: how often it is tried, 5 unless given. `timeout`: the longest that an attempt may take, a text such as `"30 s"` or seconds; a minute unless given. `backoff`: the pause before the second attempt, which doubles from one to the next; 5 seconds unless given. `queue`: the name of its queue. `unique = true`: of jobs with the same arguments there is one at a time. May be left out.
---@param fn? function Called with the arguments and with `job`.
function app.job(name, options, fn) end

--- Declares a job that is added by the clock: once for each time of the pattern in all processes that share the database. A time that comes while the job of an earlier one has not ended is left out. Only while the project loads.
---@param pattern string Five fields: minute, hour, day of the month, month, day of the week, as in `0 3 * * *`.
---@param name string The name of the cron.
---@param options table | function `tz`: the time zone of the pattern, such as `Europe/Berlin`; `UTC` unless given. `missed`: what becomes of runs that were missed while no process was there; with `once`, as unless given, one run makes up for them, with `skip` none. `attempts` (1 unless given), `timeout`, `backoff` and `queue` (`cron` unless given) as for `job`. May be left out.
---@param fn? function Called with two arguments: an object that has `due`, the time that it was to run, in seconds since 1970, and `job`.
function app.cron(pattern, name, options, fn) end

--- Adds a job, in the same transaction as the other writes of the request: it runs if they are kept, and once they are on disk. Returns its number; with `unique` that of the one which is there.
---@param name string The name of the job.
---@param args? any The arguments: anything that JSON has.
---@param options? table `delay`: starts it after this time, a text such as `"10 m"` or seconds. `at`: starts it at this time, in seconds since 1970. `priority`: jobs of a greater number start first; 0 unless given. `unique`: a text; of the jobs of this name with the same one that have not ended there is one at a time.
---@return integer
function app.enqueue(name, args, options) end

--- Adds many jobs of one name, and perhaps one that follows them, in the same transaction as the other writes of the request. Returns the number of the batch.
---@param name string The name of the job.
---@param list any A list with the arguments of each job.
---@param options? table `after`: the name of a job that is added when all of the batch have ended. Its function gets `batch`, the numbers of those that are `done`, `dead` and `cancelled`, and `args` as they are given here.
---@return integer
function app.enqueue_batch(name, list, options) end

--- Cancels a job, in the same transaction as the other writes of the request. An attempt that runs is given up where it waits, and what it does from then on does not count. False if there is no such job, or it has ended.
---@param id integer The number of a job.
---@return boolean
function app.cancel_job(id) end

--- Returns how a job is, or nothing if there is none with this number: one that was never added, or was removed after its end. `state` is `ready`, `scheduled`, `running`, `done`, `dead` or `cancelled`, `attempts` the number of attempts that have begun. `progress` and `progress_text` are what its function told last. `added`, `due`, `started` (the last attempt) and `ended` are times in seconds since 1970. `error` is the error of the last attempt that failed, with its stack.
---@param id number The number of a job.
---@return ({ state: string, name: string, queue: string, attempts: integer, progress: any, progress_text: string?, added: number, due: number, started: any, ended: any, error: string? })?
function app.job_status(id) end

--- An attempt to do a job, in its function. `job.id` is its number, `job.name` its name, `job.attempt` the number of the attempt from 1, and `job.key` an idempotency key: the same in all attempts, and of no other job. Give it to services that take one, so that what an earlier attempt did is not done twice.
---@class sampan.Job
---@field [string] any
local Job = {}

--- Tells how far the job is: `sampan jobs` shows it. It is written soon, apart from what the job writes.
---@param n number A number of your choice, such as a percentage.
---@param text? string A text for people.
function Job:progress(n, text) end

--- Has the job run again after this time, however this attempt ends. It counts as a failed attempt; after the last one the job is dead.
---@param time any A text such as `"5 m"`, or seconds.
function Job:retry_in(time) end

--- The same as `job.key`.
---@param key string `id`, `name`, `attempt` or `key`.
---@return any
function Job:get(key) end

--- An error: a job is only read.
---@param key string A key.
---@param value? any A value.
function Job:set(key, value) end

--- The keys that it has.
---@return table
function Job:keys() end

--- Values in the memory of the process, which all its workers share. It is empty after a restart and after a reload. With `[cache] shared = true` on PostgreSQL they are in the database, for all processes, and stay there; each function waits then. Keys have at most 1024 bytes.
---@class sampan.modules.cache
app.cache = {}

--- A copy of the value of a key, or nothing.
---@param key string The key: `user:7`.
---@return any
function app.cache.get(key) end

--- Keeps a copy of a value. Other workers see it when the writes of the request so far are on disk, and not at all if they fail. Where it needs room, those that were used the longest ago go.
---@param key string The key: `user:7`.
---@param value any Text, bytes, or anything else that JSON has: a copy is kept.
---@param options? table `ttl`: how many seconds the value is kept at most; until other values need its room unless given.
function app.cache.set(key, value, options) end

--- Adds to the whole number of a key, and returns the sum. A key that is not there counts as 0. Workers that add at once lose no addition. Other workers see it when the writes of the request so far are on disk, and not at all if they fail. A value that is not a whole number is an error.
---@param key string The key: `user:7`.
---@param by? integer The number to add, also below zero; 1 unless given.
---@param options? table `ttl`: how many seconds a new key is kept at most. A key that is there keeps its time.
---@return integer
function app.cache.incr(key, by, options) end

--- The value of a key. If there is none, the function makes it, for all who want it meanwhile, on all workers, and a copy of what it returns is kept. If it fails, so do the others; if its request is given up, the next one makes the value. What it returns is not kept if the key was changed meanwhile.
---@param key string The key: `user:7`.
---@param options? table `ttl`: how many seconds the value is kept at most; until other values need its room unless given.
---@param fn fun(): any
---@overload fun(key: string, fn: fun(): any): any
---@return any
function app.cache.once(key, options, fn) end

--- Removes a key. Other workers see that when the writes of the request so far are on disk, and not at all if they fail.
---@param key string The key: `user:7`.
function app.cache.delete(key) end

--- Gives the answer to a GET request again to all who ask the same, without calling a handler, and with `Age`. One request makes it for all who ask meanwhile, on all workers. Requests with `Authorization`, a cookie or a client's certificate are not answered so. Answers are kept whose status is 200, 301 or 404, and not those that set a cookie, have `Cache-Control` with `private`, `no-store` or `no-cache`, depend on other header fields by `Vary`, read a session, or are streams or files. Other ready middleware of its paths stands before it, that of the script behind it.
---@param options table `seconds`: how long an answer is given again. `query`: the parameters of the query that count, all unless given; `{}` for none. `vary`: the header fields of requests that answers depend on. `ignore_cookies`: the names of cookies that no answer depends on.
---@return sampan.NativeMiddleware
function app.cached(options) end

--- Calls the function, which may wait, while no other handler of the process has the lock, on any worker; on PostgreSQL no handler of any process. It returns what the function returns. The lock is free again when the function has ended or failed, and what it wrote is on disk; if its request was given up, when the cleanup has ended. Where the lock is not free in time, it is an error with the `code` `lock_timeout` that answers 503. A handler must not ask for a lock that it has.
---@param name string The name of the lock, 1 to 1024 bytes: `import:7`.
---@param options? table `timeout`: how many seconds to wait for the lock, 10 unless given; 0 to try once.
---@param fn fun(): any
---@overload fun(name: string, fn: fun(): any): any
---@return any
function app.lock(name, options, fn) end

--- Measurements of the app, which the server shows beside its own at `/_sampan/metrics`. They are declared while the project loads. A second declaration of the same metric gives the same one. Of one metric 1,000 label sets are kept; others are counted with the value `other` in each label.
---@class sampan.modules.metrics
app.metrics = {}

--- Declares a number that only grows, over all workers: `orders_total`.
---@param name string The name: letters, digits and underscores. Names of counters end with `_total`, others with their unit.
---@param options? table `help`, a line about it, and `labels`, a list of the names of its labels.
---@return sampan.Counter
function app.metrics.counter(name, options) end

--- Declares a number that goes up and down, which all workers share: `queue_length`.
---@param name string The name: letters, digits and underscores. Names of counters end with `_total`, others with their unit.
---@param options? table `help`, a line about it, and `labels`, a list of the names of its labels.
---@return sampan.Gauge
function app.metrics.gauge(name, options) end

--- Declares the distribution of values, such as times in seconds: `payment_seconds`.
---@param name string The name: letters, digits and underscores. Names of counters end with `_total`, others with their unit.
---@param options? table `help`, `labels` as for `metrics.counter`, and `buckets`, a list of upper bounds, each above the one before; from 25 µs to 10 s unless given.
---@return sampan.Histogram
function app.metrics.histogram(name, options) end

--- All measurements of the app and the server, as `/_sampan/metrics` has them; those of the app alone on this worker with `[metrics] enabled = false`, and in tests.
---@return string
function app.metrics.text() end

--- A number that only grows.
---@class sampan.Counter
local Counter = {}

--- Adds to the number, at once: also if the request fails later.
---@param n? number How much; 1 unless given.
---@param labels? table A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from clients. They are cut after 100 characters.
function Counter:inc(n, labels) end

--- A number that goes up and down.
---@class sampan.Gauge
local Gauge = {}

--- Sets the number for all workers.
---@param value number The number.
---@param labels? table A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from clients. They are cut after 100 characters.
function Gauge:set(value, labels) end

--- Adds to the number.
---@param n? number How much; 1 unless given.
---@param labels? table A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from clients. They are cut after 100 characters.
function Gauge:inc(n, labels) end

--- Takes away from the number.
---@param n? number How much; 1 unless given.
---@param labels? table A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from clients. They are cut after 100 characters.
function Gauge:dec(n, labels) end

--- The distribution of values.
---@class sampan.Histogram
local Histogram = {}

--- Takes note of a value.
---@param value number The value.
---@param labels? table A value for each label that was declared: text, a number or a boolean. Values have few forms, and never come from clients. They are cut after 100 characters.
function Histogram:observe(value, labels) end

--- Calls the function, which may wait, and records the time as a span of the request's trace. It returns what the function returns; an error of the function marks the span and is passed on. Statements, templates, requests and spans that begin meanwhile are within this span. Without traces it only calls the function.
---@param name string The name of the span, 1 to 200 bytes: `price the cart`. Names have few forms.
---@param attributes? table Named values of the span: text, numbers or booleans, at most 32. Texts are cut after 1,000 characters.
---@param fn fun(): any
---@overload fun(name: string, fn: fun(): any): any
---@return any
function app.trace(name, attributes, fn) end

--- Mails.
---@class sampan.modules.mail
app.mail = {}

--- Sends a mail. It is a job: a row of the app's database, in the same transaction as the other writes of the request, so it is sent if they are kept. What the mail server does not take for now is tried again; `sampan jobs` shows what was not delivered. `sampan dev` shows the mail in place of that, and tests find it in `t.mails`.
---@param mail any `to`, `cc`, `bcc`: an address, `"Ann <ann@example.org>"` or `{ name, address }`, or a list of them. `from`: that of `[mail]` unless given. `reply_to`. `subject`. `template` and `data`: the templates `NAME.html` and `NAME.txt`, or one of them. `locale`: the language of `t` in them, that of the app unless given. `text`, `html`: without a text it is made from the HTML. `attachments`: a list of `{ name, content, content_type }`. `inline`: such a list of pictures, which the HTML shows as `cid:NAME`. `headers`: further header fields by their names.
function app.mail.send(mail) end

--- The mail as it would be sent, by RFC 5322. Nothing is sent.
---@param mail any `to`, `cc`, `bcc`: an address, `"Ann <ann@example.org>"` or `{ name, address }`, or a list of them. `from`: that of `[mail]` unless given. `reply_to`. `subject`. `template` and `data`: the templates `NAME.html` and `NAME.txt`, or one of them. `locale`: the language of `t` in them, that of the app unless given. `text`, `html`: without a text it is made from the HTML. `attachments`: a list of `{ name, content, content_type }`. `inline`: such a list of pictures, which the HTML shows as `cid:NAME`. `headers`: further header fields by their names.
---@return string
function app.mail.source(mail) end

--- Tests: only in files that `sampan test` runs.
---@class sampan.modules.t
app.t = {}

--- Declares a test. It passes if the function ends without an error. It begins with the database as the migrations leave it, without cookies, and may wait.
---@param name string The behaviour that the test checks. No other test of the file has the same name.
---@param fn function A function without parameters.
function app.t.test(name, fn) end

--- Runs the function before each test of the file. It may wait.
---@param fn function A function without parameters.
function app.t.before_each(fn) end

--- Sends a GET request to the app. `status`; `headers` by their names in lower case, a list where a field comes twice; `body`; `json`, the value of a JSON answer; `html`, the page of an HTML answer. Redirects are not followed.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.get(path, options) end

--- Sends a POST request to the app, see `get`.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.post(path, options) end

--- Sends a PUT request to the app, see `get`.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.put(path, options) end

--- Sends a PATCH request to the app, see `get`.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.patch(path, options) end

--- Sends a DELETE request to the app, see `get`.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.delete(path, options) end

--- Sends a request with any method to the app, see `get`.
---@param method string The method, as in `OPTIONS`.
---@param path string The path with its query, or a URL.
---@param options? table `headers`. `query`: is added to that of the path. `json`, `form` or `body`: what is sent; a member of a form with `content`, `filename` and `type` is a file. `browser`: a name; requests with the same one share their cookies.
---@return { status: integer, headers: table, body: string, json: any, html: sampan.HtmlPage }
function app.t.request(method, path, options) end

--- Connects to a WebSocket of the app. Where the app refuses, `status` is not 101, and `body` says why. It ends with the test.
---@param path string The path with its query, or a URL.
---@param options? table `headers`, `query` and `browser`, see `get`. `protocols`: subprotocols, the preferred first.
---@return sampan.TestSocket
function app.t.ws(path, options) end

--- The mails that the test has sent, the oldest first. Each has `from`, `to`, `cc`, `bcc`, `subject`, `text`, `html`, `attachments` (their names) and `source`. None of them leaves.
---@return table
function app.t.mails() end

--- Answers requests that the app, or the test, sends to other servers with `fetch`. Where several mocks match, the last counts. It ends with the test; outside of tests it is for all of the file. Requests that no mock matches fail, unless they are to this machine: the network is off.
---@param pattern string The requests: a URL in which `*` stands for anything. Its scheme and query may be left out, a method may stand in front: `"POST api.example.com/v1/*"`.
---@param answer table | function The answer: `status`, `headers`, and `body`, `json` or `chunks` (a list of texts); or `error`, for a request that fails: `dns`, `connect`, `tls`, `timeout` or `closed`. Or a function that gets a request and returns an answer, without waiting.
---@return sampan.FetchMock
function app.t.fetch_mock(pattern, answer) end

--- Lets requests through to the network, until the test ends.
---@param pattern string The requests, see `fetch_mock`.
function app.t.fetch_allow(pattern) end

--- Fails unless both values are the same, all that is in them included, and shows how they differ. The order of keys does not count.
---@param actual any What there is.
---@param expected any The expected value.
---@param message? string The message if the check fails.
function app.t.equal(actual, expected, message) end

--- Fails if both values are the same.
---@param actual any What there is.
---@param expected any The expected value.
---@param message? string The message if the check fails.
function app.t.not_equal(actual, expected, message) end

--- Fails if the value is nothing or false.
---@param actual any What there is.
---@param message? string The message if the check fails.
function app.t.ok(actual, message) end

--- Fails unless a text or a list contains the part.
---@param actual any What there is.
---@param part any A part of the text, or one of the values of the list.
---@param message? string The message if the check fails.
function app.t.contains(actual, part, message) end

--- Fails unless the function raises an error. Returns its message. The function may wait.
---@param fn function A function without parameters.
---@param part? string The text that the error's message must contain.
---@return string
function app.t.fails(fn, part) end

--- Compares the value, or the text, with what it was when the test ran first. That is kept in `tests/snapshots`; `sampan test --update` keeps what it is now. Of an answer the date, the request's id and the values of cookies do not count.
---@param actual any What there is.
---@param name? string Its name, where a test has several.
function app.t.snapshot(actual, name) end

--- Runs the jobs of the app that are due, those that they add included, one after the other. Returns how many attempts `ran`, how many of these `failed`, and how many jobs are `dead` since. In tests jobs run only here; `set_time` makes later ones due.
---@return { ran: integer, failed: integer, dead: integer }
function app.t.run_jobs() end

--- Sets the time of day for the app and the test, until the test ends: `time`, the clocks of the languages, sessions, cookies and tokens. It stands still then. SQL has its own clock.
---@param seconds? number Seconds since 1970-01-01 00:00 UTC; left out, the system's time holds again.
function app.t.set_time(seconds) end

--- The HTML of an answer.
---@class sampan.HtmlPage
local HtmlPage = {}

--- The text of the first element that the selector finds, or nothing; without a selector that of the whole page. Runs of white space are one space.
---@param selector? string A CSS selector, as in `ul.notes > li a[href]`.
---@return string?
function HtmlPage:text(selector) end

--- The first element that the selector finds, or nothing: `tag`, `text`, `html` (what is inside), `attributes`.
---@param selector string A CSS selector, as in `ul.notes > li a[href]`.
---@return any
function HtmlPage:one(selector) end

--- All elements that the selector finds, each as `one` gives it.
---@param selector string A CSS selector, as in `ul.notes > li a[href]`.
---@return table
function HtmlPage:all(selector) end

--- How many elements the selector finds.
---@param selector string A CSS selector, as in `ul.notes > li a[href]`.
---@return integer
function HtmlPage:count(selector) end

--- The client's end of a WebSocket, in tests. Beside its methods it has the answer to the handshake: `ws.status` (101 unless the app has refused), `ws.headers`, `ws.body`, `ws.json`; and `ws.protocol`, the subprotocol that the app chose.
---@class sampan.TestSocket
---@field [string] any
local TestSocket = {}

--- Sends a message.
---@param message string A text, or bytes.
function TestSocket:send(message) end

--- Sends a message of bytes, also if they are text.
---@param message string Text or bytes.
function TestSocket:send_bytes(message) end

--- Sends a value as a text of JSON.
---@param value any What JSON has.
function TestSocket:send_json(value) end

--- Waits for the app's next message: a text, or bytes. Fails if none comes in time, or if the socket is closed.
---@param timeout_millis? integer The longest wait, in milliseconds. Default: 2000.
---@return any
function TestSocket:receive(timeout_millis) end

--- Closes the socket, behind what was sent before.
---@param code? integer 1000 unless given.
---@param reason? string At most 123 bytes.
function TestSocket:close(code, reason) end

--- Waits until the socket is closed, by either end, and until the app has run its function for that. Returns `code` and `reason`: those of the app's close frame, 1006 if it ended without one. Messages that come meanwhile stay for `receive`.
---@param timeout_millis? integer The longest wait, in milliseconds. Default: 2000.
---@return { code: integer, reason: string }
function TestSocket:closed(timeout_millis) end

--- A field: the same as `ws.status`.
---@param key string The name.
---@return any
function TestSocket:get(key) end

--- The names of the fields.
---@return table
function TestSocket:keys() end

--- Answers requests of the app to other servers, in tests, and records them.
---@class sampan.FetchMock
local FetchMock = {}

--- The requests that it has answered, in their order: `method`, `url`, `headers` by their names in lower case, `body`, and `json`, the value of a JSON body.
---@return table
function FetchMock:calls() end

--- The number of requests that it has answered.
---@return integer
function FetchMock:count() end

return app
