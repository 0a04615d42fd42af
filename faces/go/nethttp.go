package sampan

import "net/http"

// HTTP makes a [Handler] of a handler of net/http. Its answer is sent as a whole when it has returned: it cannot flush, hijack or send trailers.
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
	w.WriteHeader(http.StatusOK)
	return w.response.Write(part)
}

func (w *responseWriter) WriteString(part string) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.response.WriteString(part)
}

func (w *responseWriter) finish() {
	w.WriteHeader(http.StatusOK)
	for name, values := range w.sent {
		for _, value := range values {
			w.response.fields.Add(name, value)
		}
	}
}
