package sampan

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"strings"
	"sync"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// ErrorHandler writes the answer to a request that failed. An [*Error] says what went wrong in the script, with its file and line; ask with
// [errors.Is] for [ErrScript], [ErrLimit], [ErrStopped]. Any other error says what became of the request's context, as in
// [net/http/httputil.ReverseProxy]: with [context.Canceled] the client has mostly left.
//
// Errors that the script's own on_error answers do not come here, nor those that are the client's fault (a status below 500).
type ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)

// ScriptHandler answers requests with a script, and calls its functions. Its methods may be called from any goroutine.
type ScriptHandler struct {
	log      *slog.Logger
	logged   uintptr
	native   uint64
	bodyMax  int64
	onError  ErrorHandler
	closing  sync.Once
	finished chan struct{}
	// Calls of Reload under way.
	reloads sync.WaitGroup

	lock sync.Mutex
	// Entries on their way to the library. Whoever comes while another crosses over leaves its entry to that one.
	waiting, spare []byte
	isSending      bool
	// Who waits for an answer, by the lower half of its id, and those that nobody uses.
	calls []*call
	free  []*call
	// Set when Close begins, and when the library gives no more answers.
	closed, ended bool
}

// A call waits for its answer. It is used again for others, with another id.
type call struct {
	id       uint64
	ready    chan struct{}
	answer   native.Answer
	data     []uint64
	isActive bool
	// Nobody waits any more: whoever brings the answer frees it.
	isAbandoned bool
	// Why there is no answer.
	fault native.Status
}

// Scripts loads a script. The result is to be closed.
func Scripts(config ScriptsConfig) (*ScriptHandler, error) {
	h := &ScriptHandler{
		log: logger(config.Logger), bodyMax: config.BodyBytesMax, onError: config.OnError,
		finished: make(chan struct{}),
	}
	if h.bodyMax == 0 {
		h.bodyMax = bodyReadMax
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	h.logged = logNumber(h.log)
	options.Log = h.logged
	made, fault := native.ScriptsNew(options)
	if fault != nil {
		native.RemoveLog(h.logged)
		fault = renamed(fault, "Isolates")
		if config.IsolatedRequests {
			fault.Message = strings.Replace(fault.Message, "Settings: [scripts] isolation", "IsolatedRequests: [scripts] isolation", 1)
		}
		return nil, failure(fault)
	}
	h.native = made
	go h.receive()
	return h, nil
}

// Reload loads the script anew. On an error the old one goes on.
func (h *ScriptHandler) Reload() error {
	h.lock.Lock()
	if h.closed {
		h.lock.Unlock()
		return failure(&native.Fault{Status: native.Stopped, Message: refusals[native.Stopped]})
	}
	h.reloads.Add(1)
	h.lock.Unlock()
	defer h.reloads.Done()
	fault := native.ScriptsReload(h.native)
	if fault != nil && fault.Status == native.Handle {
		fault.Message = refusals[native.Handle]
	}
	return failure(fault)
}

// Close gives up what is under way, a reload too, and ends the isolates. Closing again does nothing.
func (h *ScriptHandler) Close() error {
	h.closing.Do(func() {
		h.lock.Lock()
		h.closed = true
		h.lock.Unlock()
		native.ScriptsFree(h.native)
		<-h.finished
		h.reloads.Wait()
		native.RemoveLog(h.logged)
	})
	return nil
}

// ServeHTTP has the script handle a request. When the request's context ends, the script is stopped.
func (h *ScriptHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		read, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.bodyMax))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, http.StatusText(http.StatusRequestEntityTooLarge), http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
			return
		}
		body = read
	}
	fields := scriptFields.Get().(*native.Fields)
	fields.Reset()
	if r.Host != "" {
		fields.Add("Host", r.Host)
	}
	for name, values := range r.Header {
		for _, value := range values {
			fields.Add(name, value)
		}
	}
	made := h.submit(func(entries []byte, id uint64) []byte {
		return native.AppendRequest(entries, id, native.TagHandle, r.Method, target(r), remote(r), fields, body)
	})
	scriptFields.Put(fields)
	if err := h.wait(r.Context(), made); err != nil {
		h.fail(w, r, err)
		return
	}
	if made.answer.Code() != native.OK && h.onError != nil {
		failed := made.failure()
		h.release(made)
		h.onError(w, r, failed)
		return
	}
	header := w.Header()
	made.answer.Headers(func(name, value []byte) bool {
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		header[key] = append(header[key], string(value))
		return true
	})
	w.WriteHeader(made.answer.Status())
	_, _ = w.Write(made.answer.Body())
	h.release(made)
}

var scriptFields = sync.Pool{New: func() any { return &native.Fields{} }}

// Call calls a function of the script with these arguments, and reads what it returns into result, a pointer or nil. Both go as
// JSON. A function is a global one or a field of what the file returns in Lua, an export in JavaScript.
func (h *ScriptHandler) Call(ctx context.Context, function string, result any, arguments ...any) error {
	given, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		given = nil
	}
	made := h.submit(func(entries []byte, id uint64) []byte {
		return native.AppendRequest(entries, id, native.TagCall, "", function, "", &native.Fields{}, given)
	})
	if err := h.wait(ctx, made); err != nil {
		return err
	}
	defer h.release(made)
	if result == nil || len(made.answer.Body()) == 0 {
		return nil
	}
	return json.Unmarshal(made.answer.Body(), result)
}

// Has an entry made for a new call, and takes it over to the library, or leaves that to whoever does so already.
func (h *ScriptHandler) submit(add func(entries []byte, id uint64) []byte) *call {
	h.lock.Lock()
	defer h.lock.Unlock()
	made := h.take()
	if h.ended {
		h.complete(made, native.Stopped)
		return made
	}
	h.waiting = add(h.waiting, made.id)
	if h.isSending {
		return made
	}
	h.isSending = true
	for len(h.waiting) > 0 {
		batch := h.waiting
		h.waiting = h.spare[:0]
		for rest := batch; len(rest) > 0; {
			h.lock.Unlock()
			taken, status := native.ScriptsSubmit(h.native, rest)
			h.lock.Lock()
			if status == native.OK {
				break
			}
			rest = h.refuse(rest, taken, status)
		}
		h.spare = kept(batch)
	}
	h.isSending = false
	return made
}

// Completes the calls of a batch that the library did not take: the one that has something wrong with it, behind which the rest is to be
// submitted again, or all of them.
func (h *ScriptHandler) refuse(batch []byte, taken int, status native.Status) (rest []byte) {
	var entry native.Request
	for at := 0; len(batch) > 0; at++ {
		batch = entry.ReadRequest(batch)
		if at < taken {
			continue
		}
		if refused := h.find(entry.ID()); refused != nil {
			h.complete(refused, status)
		}
		if status == native.Argument {
			return batch
		}
	}
	return nil
}

func (h *ScriptHandler) take() *call {
	var made *call
	if last := len(h.free) - 1; last >= 0 {
		made, h.free = h.free[last], h.free[:last]
		// The upper half counts how often it was used.
		made.id += 1 << 32
	} else {
		made = &call{id: 1<<32 | uint64(len(h.calls)), ready: make(chan struct{}, 1)}
		h.calls = append(h.calls, made)
	}
	made.isActive, made.isAbandoned, made.fault = true, false, native.OK
	return made
}

func (h *ScriptHandler) find(id uint64) *call {
	at := int(uint32(id))
	if at >= len(h.calls) || h.calls[at].id != id || !h.calls[at].isActive {
		return nil
	}
	return h.calls[at]
}

// Tells whoever waits that the answer is there, or why there is none.
func (h *ScriptHandler) complete(c *call, fault native.Status) {
	c.isActive, c.fault = false, fault
	if c.isAbandoned {
		h.free = append(h.free, c)
		return
	}
	c.ready <- struct{}{}
}

func (h *ScriptHandler) release(c *call) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.free = append(h.free, c)
}

// Waits for the answer. With an error the call is released.
func (h *ScriptHandler) wait(ctx context.Context, c *call) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		h.abandon(c)
		return context.Cause(ctx)
	}
	if c.fault == native.OK && (c.answer.Code() == native.OK || c.answer.Status() != 0) {
		return nil
	}
	defer h.release(c)
	if c.fault != native.OK {
		refused := &Error{Kind: kinds[c.fault], Message: refusals[c.fault]}
		if c.fault == native.Argument {
			refused.Status = http.StatusBadRequest
		}
		return refused
	}
	return c.failure()
}

// What the script says that went wrong.
func (c *call) failure() *Error {
	return &Error{
		Kind: kinds[c.answer.Code()], Message: string(c.answer.Message()),
		File: string(c.answer.File()), Line: c.answer.Line(), Status: c.answer.Status(),
	}
}

func (h *ScriptHandler) abandon(c *call) {
	native.ScriptsCancel(h.native, c.id)
	h.lock.Lock()
	defer h.lock.Unlock()
	if c.isActive {
		c.isAbandoned = true
		return
	}
	<-c.ready
	h.free = append(h.free, c)
}

// Brings answers to those who wait, until the scripts are closed.
func (h *ScriptHandler) receive() {
	defer close(h.finished)
	buffer := make([]uint64, bufferWords)
	for {
		bytes, status := native.ScriptsNext(h.native, -1, buffer)
		switch status {
		case native.OK:
			h.deliver(native.Bytes(buffer, bytes))
		case native.SmallBuffer:
			buffer = make([]uint64, (bytes+7)/8)
		case native.Timeout:
		default:
			h.lock.Lock()
			defer h.lock.Unlock()
			h.ended = true
			for _, c := range h.calls {
				if c.isActive {
					h.complete(c, native.Stopped)
				}
			}
			return
		}
	}
}

func (h *ScriptHandler) deliver(answers []byte) {
	h.lock.Lock()
	defer h.lock.Unlock()
	var answer native.Answer
	for len(answers) > 0 {
		from := answers
		answers = answer.ReadAnswer(answers)
		c := h.find(answer.ID())
		if c == nil {
			continue
		}
		size := len(from) - len(answers)
		if words := size / 8; cap(c.data) < words || cap(c.data) > bufferWords {
			c.data = make([]uint64, max(words, 64))
		}
		c.data = c.data[:cap(c.data)]
		own := native.Bytes(c.data, size)
		copy(own, from)
		c.answer.ReadAnswer(own)
		h.complete(c, native.OK)
	}
}

func (h *ScriptHandler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if h.onError != nil {
		h.onError(w, r, err)
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		// Its client has left: nobody reads an answer.
		return
	}
	status := http.StatusInternalServerError
	var told *Error
	switch {
	case errors.As(err, &told) && told.Status >= 400:
		status = told.Status
		h.log.Info("a request was refused", "error", err, "method", r.Method, "path", r.URL.Path)
	case errors.Is(err, ErrLimit), errors.Is(err, ErrStopped):
		status = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	http.Error(w, http.StatusText(status), status)
}
