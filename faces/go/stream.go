package sampan

import (
	"context"
	"io"
	"net/http"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// How far an answer is that is sent piece by piece.
type streamState struct {
	// The head has been handed over.
	begun bool
	// The library's number; 0 if nobody reads the answer.
	number uint64
	// A write has told the handler so.
	hasLeft bool
}

// Stream sends the answer while it is made: status and header fields as they were set, what has been written so far, and then what write writes.
// Each Write is sent at once, and waits while the client takes less than it gets. With an error of write, or of the handler, the connection is cut
// and the error logged; the client has the status by then.
//
// When the client leaves, [Request.Context] ends, and a Write returns [context.Canceled]. A write that is silent for longer than
// limits.stream_idle_millis_max is cut too. Each stream keeps a goroutine; say [Route.Waits] of its route.
//
// From Stream on, [Response.Text], [Response.Write] and the like return an error: their bytes would not be sent.
func (w *Response) Stream(write func(io.Writer) error) error {
	if err := w.beginStream(); err != nil {
		return err
	}
	if err := write(streamWriter{w}); err != nil {
		return err
	}
	w.endStream(true)
	return nil
}

type streamWriter struct{ response *Response }

func (s streamWriter) Write(part []byte) (int, error) { return s.response.writeStream(part) }

func streamed() error { return &Error{Kind: ErrState, Message: "the answer is streamed already"} }

// Hands the head over, with what there is of the body.
func (w *Response) beginStream() error {
	if w.stream.begun {
		return streamed()
	}
	if err := w.check(); err != nil {
		return err
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
	}
	w.detectType()
	number, answered := native.AnswerBegin(w.request.entry.ID(), status, &w.fields, w.body)
	switch answered {
	case native.OK, native.Gone:
		w.stream = streamState{begun: true, number: number}
		w.clear()
		return nil
	case native.Argument:
		return &Error{Kind: ErrState, Message: "the answer has a header field or a status that is none", Status: status}
	default:
		return &Error{Kind: kinds[answered], Message: "the request cannot be answered any more"}
	}
}

func (w *Response) writeStream(part []byte) (int, error) {
	if w.stream.number != 0 && native.StreamWrite(w.stream.number, part) == native.OK {
		return len(part), nil
	}
	if w.request.Method() == http.MethodHead {
		// As net/http does it.
		return len(part), nil
	}
	w.stream.hasLeft = true
	return 0, context.Canceled
}

func (w *Response) endStream(isWhole bool) {
	if w.stream.number != 0 {
		native.StreamEnd(w.stream.number, isWhole)
		w.stream.number = 0
	}
}
