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
@REQUEST_FIELDS@---@field body string the bytes of the body
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

@REQUEST_METHODS@
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

