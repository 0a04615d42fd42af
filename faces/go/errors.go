package sampan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// What an [*Error] is about; ask with [errors.Is].
var (
	// ErrConfig: a setting or sampan.toml is wrong.
	ErrConfig = errors.New("configuration")
	// ErrLoad: a project or script does not load.
	ErrLoad = errors.New("load")
	// ErrAddress: nobody can listen there; the port is in use, for example.
	ErrAddress = errors.New("address")
	// ErrScript: a script raised an error.
	ErrScript = errors.New("script")
	// ErrLimit: a script ran too long or took too much memory, or too many requests wait.
	ErrLimit = errors.New("limit")
	// ErrMissing: the script has no such function.
	ErrMissing = errors.New("missing")
	// ErrState: started twice, reloaded before the start, and the like.
	ErrState = errors.New("state")
	// ErrStopped: the server or the scripts were stopped.
	ErrStopped = errors.New("stopped")
)

// Error is what the library says went wrong.
type Error struct {
	// Kind is one of the errors above, or nil.
	Kind error
	// Message is for people. It may have several lines: an excerpt of the source, a stack.
	Message string
	// File and Line are where it went wrong, if that is known. Lines count from 1.
	File string
	Line int
	// Status is that of the answer, where a script failed to handle a request; else 0.
	Status int
}

// Error has the place before the message, unless that begins with it already.
func (e *Error) Error() string {
	if e.File == "" {
		return e.Message
	}
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if len(e.Message) >= len(place) && e.Message[:len(place)] == place {
		return e.Message
	}
	return place + ": " + e.Message
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

var kinds = map[native.Status]error{
	native.Config: ErrConfig, native.Argument: ErrConfig,
	native.Load:    ErrLoad,
	native.Address: ErrAddress,
	native.Script:  ErrScript,
	native.Limit:   ErrLimit,
	native.Missing: ErrMissing,
	native.State:   ErrState,
	native.Stopped: ErrStopped, native.Handle: ErrStopped,
	native.Cancelled: context.Canceled,
}

func stopped() error { return &Error{Kind: ErrStopped, Message: "the server was stopped"} }

// The words for requests and calls that the library does not take: it gives a status alone.
var refusals = map[native.Status]string{
	native.Argument: "the script cannot be given this: the target of the request, a header field or the address of " +
		"the client, or the name of the function or its arguments as JSON",
	native.Limit:   "too many requests and calls wait for the script",
	native.Stopped: "the scripts were closed",
	native.Handle:  "the scripts were closed",
}

// The library's words, with the names that its options have here; workers is that of their number.
func renamed(fault *native.Fault, workers string) *native.Fault {
	if fault == nil {
		return nil
	}
	for theirs, ours := range map[string]string{"listen: ": "Addr: ", "settings: ": "Settings: ", "workers: ": workers + ": "} {
		if rest, ok := strings.CutPrefix(fault.Message, theirs); ok {
			fault.Message = ours + rest
			break
		}
	}
	if fault.Status == native.Address {
		fault.Message = strings.Replace(fault.Message, "with listen", "with Addr", 1)
	}
	return fault
}

func failure(fault *native.Fault) error {
	if fault == nil {
		return nil
	}
	return &Error{Kind: kinds[fault.Status], Message: fault.Message, File: fault.File, Line: fault.Line}
}

// A HandlerError is an answer that a handler gives by returning an error. See [Fail].
type HandlerError struct {
	// Status of the answer, from 400 to 599.
	Status int
	// Message is sent to the client as {"error": ...}.
	Message string
}

// Error is the message with the status.
func (e *HandlerError) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// Fail makes an error that is answered with this status. Without a message the client gets the status in words. Any other error of a handler
// is logged and answered 500, without details.
func Fail(status int, message string) error {
	if message == "" {
		message = http.StatusText(status)
	}
	return &HandlerError{Status: status, Message: message}
}
