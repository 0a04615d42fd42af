package sampan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// Request is what a client asks. It belongs to its handler until that returns, and to one goroutine at a time; strings that it gave stay.
type Request struct {
	entry  native.Request
	server *Server

	query  url.Values
	wanted context.Context
	cancel context.CancelCauseFunc
	// Whether the server's clients have it for certain.
	isTracked bool
}

// The context of a request whose handler has returned.
var over = func() context.Context {
	ended, end := context.WithCancel(context.Background())
	end()
	return ended
}()

// Method is "GET", "POST", ...
func (r *Request) Method() string { return known(r.entry.Method()) }

// The usual methods cost no memory.
func known(method []byte) string {
	switch string(method) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPut:
		return http.MethodPut
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodOptions:
		return http.MethodOptions
	}
	return string(method)
}

// Target is the path and the query as they were sent.
func (r *Request) Target() string { return string(r.entry.Target()) }

// Path is the part of the target before the '?', still percent-encoded.
func (r *Request) Path() string {
	path, _, _ := bytes.Cut(r.entry.Target(), []byte{'?'})
	return string(path)
}

// RawQuery is the part of the target behind the '?'.
func (r *Request) RawQuery() string {
	_, query, _ := bytes.Cut(r.entry.Target(), []byte{'?'})
	return string(query)
}

// Query has the values of the query. What is malformed in it is left out.
func (r *Request) Query() url.Values {
	if r.query == nil {
		r.query, _ = url.ParseQuery(r.RawQuery())
	}
	return r.query
}

// Param is the part of the path that the route's pattern names, percent-decoded: with "/user/:id", Param("id"). Empty if the
// pattern has no such name.
func (r *Request) Param(name string) string {
	value, _ := r.entry.Param(name)
	return string(value)
}

// Header is the value of the first header field with this name, in any case; empty if there is none.
func (r *Request) Header(name string) string {
	value, _ := r.entry.Header(name)
	return string(value)
}

// Headers gives all header fields, in the order in which they were sent.
func (r *Request) Headers() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		r.entry.Headers(func(name, value []byte) bool { return yield(string(name), string(value)) })
	}
}

// RemoteIP is the address of the client: what a trusted proxy says it is, else the other end of the connection. It is "unix:" for the
// client of a Unix socket.
func (r *Request) RemoteIP() string { return string(r.entry.Remote()) }

// Body is all of the body. The bytes are valid until the handler returns.
func (r *Request) Body() []byte {
	if r.entry.IsCleared() {
		return nil
	}
	return r.entry.Body()
}

// JSON reads the body as JSON into value, which is a pointer. Its error is answered 400 if the handler returns it.
func (r *Request) JSON(value any) error {
	if err := json.Unmarshal(r.Body(), value); err != nil {
		return Fail(http.StatusBadRequest, "the body is no JSON that fits: "+err.Error())
	}
	return nil
}

// Context ends when the handler returns, when the client leaves or its time is over, and when the server has stopped. [context.Cause] tells
// them apart: where limits.handler_millis_max has passed it is [context.DeadlineExceeded], else [context.Canceled].
func (r *Request) Context() context.Context {
	if r.entry.IsCleared() {
		return over
	}
	if r.wanted == nil {
		r.wanted, r.cancel = context.WithCancelCause(r.server.base)
		r.isTracked = true
		r.server.clients.watch(r.entry.ID(), r.cancel)
	}
	return r.wanted
}

// HTTP makes a request of net/http of it. Its body is in memory. It may outlive the handler; its context ends with it.
func (r *Request) HTTP() (*http.Request, error) {
	target := r.Target()
	address, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, Fail(http.StatusBadRequest, "a malformed target")
	}
	header := make(http.Header, r.entry.HeaderCount())
	host := ""
	for name, value := range r.Headers() {
		if strings.EqualFold(name, "Host") {
			host = value
			continue
		}
		name = http.CanonicalHeaderKey(name)
		header[name] = append(header[name], value)
	}
	body := bytes.Clone(r.Body())
	made := &http.Request{
		Method: r.Method(), URL: address, RequestURI: target, Host: host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		RemoteAddr: r.remoteAddr(),
	}
	made = made.WithContext(r.Context())
	r.entry.Params(func(name, value []byte) bool {
		made.SetPathValue(string(name), string(value))
		return true
	})
	return made, nil
}

// The client's address as net/http has it: "@" for the client of a Unix socket, else with a port, which is not known.
func (r *Request) remoteAddr() string {
	if ip := r.RemoteIP(); ip != "unix:" {
		return net.JoinHostPort(ip, "0")
	}
	return "@"
}

// Whether its context has ended while its handler runs, and the error says no more than that.
func (r *Request) isOver(err error) bool {
	if r.wanted == nil || r.wanted.Err() == nil {
		return false
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Ends what hangs on the request when its handler has returned.
func (r *Request) finish() {
	if r.isTracked || r.server.clients.noted.Load() > 0 {
		r.server.clients.forget(r.entry.ID())
		r.isTracked = false
	}
	if r.cancel != nil {
		r.cancel(nil)
		r.wanted, r.cancel = nil, nil
	}
	r.query = nil
	r.entry.Clear()
}
