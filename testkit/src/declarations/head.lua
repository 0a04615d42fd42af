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
---@field body string the bytes of the body
---@field state table a table of this request's own
local request = {}

--- The body as JSON; malformed JSON is an error that answers 400.
---@return any
function request:json() end
--- The body as text.
---@return string
function request:text() end
--- The body as `application/x-www-form-urlencoded`; a key given twice is a list.
---@return table<string, string|string[]>
function request:form() end
--- The bytes of the body.
---@return string
function request:bytes() end

---@class sampan.Response
---@field status integer
---@field headers table<string, string|number|string[]>
---@field body any

---@alias sampan.Options integer|{ status?: integer, headers?: table<string, string|number|string[]> }
---@alias sampan.Handler fun(req: sampan.Request): any
---@alias sampan.Middleware fun(req: sampan.Request, next: fun(req?: sampan.Request): sampan.Response): any
---@alias sampan.Verb fun(pattern: string, handler: sampan.Handler|any)|fun(pattern: string, options: { body_bytes_max?: integer }, handler: sampan.Handler|any)

---@class sampan.Group
---@field get sampan.Verb
---@field post sampan.Verb
---@field put sampan.Verb
---@field patch sampan.Verb
---@field delete sampan.Verb
---@field options sampan.Verb
---@field all sampan.Verb a route for every method
---@field use fun(middleware: sampan.Middleware)|fun(pattern: string, middleware: sampan.Middleware) wraps every path, or those of a pattern
---@field group fun(prefix: string, declare: fun(group: sampan.Group)) patterns in the group begin with the prefix

---@class sampan.App: sampan.Group
---@field runtime string "lua"
---@field version string the version of Sampan
---@field null lightuserdata JSON's null
local app = {}

---@alias sampan.Row table<string, any> a row of a query: its columns by name

--- Answers what no route answers.
---@param handler sampan.Handler
function app.not_found(handler) end
--- Answers when a handler failed.
---@param handler fun(req: sampan.Request, err: { message: string, status: integer, file?: string, line?: integer, stack?: string, value: any }): any
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

