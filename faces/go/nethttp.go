package sampan

import (
	"net/http"
	"net/netip"
	"strings"
)

// HTTP makes a [Handler] of a handler of net/http. Its answer is sent as a whole when it has returned, or from its first Flush on as it is written.
// It cannot hijack or send trailers.
func HTTP(handler http.Handler) Handler {
	return func(w *Response, r *Request) error {
		made, err := r.HTTP()
		if err != nil {
			return err
		}
		writer := responseWriter{response: w, header: http.Header{}}
		handler.ServeHTTP(&writer, made)
		writer.finish()
		return nil
	}
}

// What a handler of net/http writes to.
type responseWriter struct {
	response *Response
	header   http.Header
	// What the header was when it was written; what is set later does not count.
	sent http.Header
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	if w.sent != nil || status < 200 {
		return
	}
	w.response.status = status
	w.sent = w.header.Clone()
}

func (w *responseWriter) Write(part []byte) (int, error) {
	if w.response.stream.begun {
		return w.response.writeStream(part)
	}
	w.WriteHeader(http.StatusOK)
	return w.response.Write(part)
}

func (w *responseWriter) WriteString(part string) (int, error) {
	if w.response.stream.begun {
		return w.response.writeStream([]byte(part))
	}
	w.WriteHeader(http.StatusOK)
	return w.response.WriteString(part)
}

// Flush sends what has been written. What follows is sent as it is written.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError is what [http.ResponseController] calls.
func (w *responseWriter) FlushError() error {
	if w.response.stream.begun {
		return nil
	}
	w.finish()
	return w.response.beginStream()
}

func (w *responseWriter) finish() {
	if w.response.stream.begun {
		return
	}
	w.WriteHeader(http.StatusOK)
	for name, values := range w.sent {
		if len(values) == 0 && name == "Content-Type" {
			w.response.untyped = true
		}
		for _, value := range values {
			w.response.AddHeader(name, value)
		}
	}
}

// The target of a request, with what [http.StripPrefix] has made of its path.
func target(r *http.Request) string {
	if rest, ok := strings.CutPrefix(r.RequestURI, r.URL.Path); ok && (rest == "" || rest[0] == '?') {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// The client's address without its port and zone; empty for the client of a Unix socket. Any other text is left as it
// is, and refused: in the place of an empty address the script sees 127.0.0.1, which it may trust.
func remote(r *http.Request) string {
	if known, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return known.Addr().WithZone("").String()
	}
	if known, err := netip.ParseAddr(strings.Trim(r.RemoteAddr, "[]")); err == nil {
		return known.WithZone("").String()
	}
	if strings.HasPrefix(r.RemoteAddr, "@") || strings.HasPrefix(r.RemoteAddr, "/") {
		return ""
	}
	return r.RemoteAddr
}
