package sampan

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// The content types of the methods that set one.
const (
	textPlain = "text/plain; charset=utf-8"
	textHTML  = "text/html; charset=utf-8"
	typeJSON  = "application/json"
)

// A body beyond this is not kept for the next request.
const keptBytesMax = 64 << 10

// Response is the answer to a request. It is sent when the handler has returned, as a whole, unless the handler calls [Response.Stream]. It
// belongs to its handler until then. Its zero value is an empty answer with the status 200, or 204 if nothing was said at all.
type Response struct {
	status int
	fields native.Fields
	body   []byte
	// No Content-Type is wanted.
	untyped bool
	// The first header field that cannot be sent.
	unsendable string
	// What is answered; set before the handler is called.
	request *Request
	stream  streamState
}

// Status sets the status.
func (w *Response) Status(status int) *Response {
	w.status = status
	return w
}

// SetHeader sets a header field, and removes others of this name. The engine itself sends Date, Content-Length and Connection.
func (w *Response) SetHeader(name, value string) *Response {
	w.look(name, value)
	w.fields.Set(name, value)
	return w
}

// AddHeader adds a header field, beside others of this name.
func (w *Response) AddHeader(name, value string) *Response {
	w.look(name, value)
	w.fields.Add(name, value)
	return w
}

// Text answers with plain text.
func (w *Response) Text(text string) error { return w.send(textPlain, text) }

// HTML answers with a page.
func (w *Response) HTML(page string) error { return w.send(textHTML, page) }

// Bytes answers with these bytes, of this content type.
func (w *Response) Bytes(contentType string, body []byte) error {
	if w.stream.begun {
		return streamed()
	}
	w.look("Content-Type", contentType)
	w.body = append(w.body[:0], body...)
	w.typed(contentType)
	return nil
}

// JSON answers with a value as JSON.
func (w *Response) JSON(value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.Bytes(typeJSON, body)
}

// Redirect sends the client elsewhere, with the status 302 or that which was set.
func (w *Response) Redirect(target string) error {
	if w.stream.begun {
		return streamed()
	}
	if w.status == 0 {
		w.status = http.StatusFound
	}
	w.SetHeader("Location", target)
	return nil
}

// Write adds to the body. Where neither Content-Type nor Content-Encoding is set, the type is found out from the body's
// beginning.
func (w *Response) Write(part []byte) (int, error) {
	if w.stream.begun {
		return 0, streamed()
	}
	w.body = append(w.body, part...)
	return len(part), nil
}

// WriteString adds to the body.
func (w *Response) WriteString(part string) (int, error) {
	if w.stream.begun {
		return 0, streamed()
	}
	w.body = append(w.body, part...)
	return len(part), nil
}

func (w *Response) send(contentType, text string) error {
	if w.stream.begun {
		return streamed()
	}
	w.body = append(w.body[:0], text...)
	w.typed(contentType)
	return nil
}

// A content type that the handler has set wins.
func (w *Response) typed(contentType string) {
	if w.fields.Len() == 0 || !w.fields.Has("Content-Type") {
		w.fields.Add("Content-Type", contentType)
	}
}

// Remembers a header field that cannot be sent: the handler's error, of which it hears nothing here.
func (w *Response) look(name, value string) {
	if w.unsendable == "" && !(isToken(name) && isFieldValue(value)) {
		w.unsendable = fmt.Sprintf("%s: %q", strconv.Quote(name), value)
	}
}

func isToken(name string) bool {
	for i := range len(name) {
		b := name[i]
		isAlphanumeric := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !isAlphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(b)) {
			return false
		}
	}
	return name != ""
}

func isFieldValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// What of the answer cannot be sent.
func (w *Response) check() error {
	if w.unsendable != "" {
		return fmt.Errorf("the header field %s cannot be sent", w.unsendable)
	}
	if w.status != 0 && (w.status < 200 || w.status > 999) {
		return fmt.Errorf("the status %d cannot be sent: it must be 200 to 999", w.status)
	}
	return nil
}

// Puts an error into the place of the answer. Only that of [Fail] is shown to the client; others are logged.
func (w *Response) fail(err error, log *slog.Logger, r *Request) {
	if w.stream.hasLeft {
		// Nobody is there to miss anything.
		w.endStream(false)
		return
	}
	var told *HandlerError
	if !errors.As(err, &told) || told.Status < 400 || told.Status > 599 {
		if !r.isOver(err) {
			log.Error("the handler failed", "error", err, "method", r.Method(), "path", r.Path())
		}
		told = &HandlerError{http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)}
	}
	if w.stream.begun {
		// Its status has been sent: the client sees that something is missing.
		w.endStream(false)
		return
	}
	w.clear()
	w.status = told.Status
	_ = w.JSON(struct {
		Error string `json:"error"`
	}{told.Message})
}

func (w *Response) appendTo(entries []byte, id uint64) []byte {
	if w.stream.begun {
		w.endStream(true)
		return entries
	}
	status := w.status
	if status == 0 {
		status = http.StatusOK
		if len(w.body) == 0 && w.fields.Len() == 0 {
			status = http.StatusNoContent
		}
	}
	w.detectType()
	return native.AppendAnswer(entries, id, status, &w.fields, w.body)
}

// Finds the Content-Type from the body's beginning, where none is set. A body with a Content-Encoding tells nothing of
// its type.
func (w *Response) detectType() {
	if len(w.body) == 0 || w.untyped {
		return
	}
	if w.fields.Len() == 0 || !w.fields.Has("Content-Type") && !w.fields.HasValue("Content-Encoding") {
		w.fields.Add("Content-Type", http.DetectContentType(w.body))
	}
}

func (w *Response) reset() {
	w.clear()
	w.stream = streamState{}
}

func (w *Response) clear() {
	w.status = 0
	w.fields.Reset()
	w.unsendable = ""
	w.untyped = false
	w.body = w.body[:0]
	if cap(w.body) > keptBytesMax {
		w.body = nil
	}
}
