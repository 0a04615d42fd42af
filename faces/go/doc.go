// Package sampan puts Sampan's HTTP engine and its script engines into a Go program.
//
// There are two ways in. [New] makes a server on Sampan's own engine: Go handlers, and beside them the routes of a Lua or
// JavaScript project. [Scripts] loads a script and is an [net/http.Handler], for programs that have a server already.
//
// # Go handlers
//
// A [Handler] is a function. The engine reads and parses requests and writes the answers on threads of its own; requests cross to
// Go in batches, so a request costs no call through cgo. The handlers of a batch run one after the other. One that waits for
// something does not hold up the others: after two milliseconds the rest of the batch goes on in another goroutine, and from then
// on the requests of that route get a goroutine each, until its handlers are quick again. Say [Route.Waits] where that is known.
//
// A [Request] and its [Response] belong to the handler until it returns. [HTTP] makes a Handler of an [net/http.Handler].
//
// # Scripts
//
// A script is loaded once for each isolate, not for each request. Each isolate has a thread of its own and runs one script at a time. A
// script that waits (for a query, a timer) lets others run. Time and memory of scripts are limited; see the guide's page on limits.
//
// # Errors
//
// What goes wrong is an [*Error], with the file and the line of the script or of the configuration where they are known.
//
// # Building
//
// The package links a static library. `cargo xtask go` builds it and puts it where the package looks for it.
package sampan
