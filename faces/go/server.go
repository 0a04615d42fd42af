package sampan

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// Handler answers a request. An error that it returns is answered 500 and logged, or as [Fail] says.
type Handler func(w *Response, r *Request) error

// Route is a pattern with its handler.
type Route struct {
	method, pattern string
	handler         Handler
	// Whether requests get a goroutine each from the beginning.
	alone atomic.Bool
	// Whether that is for ever, by [Route.Waits].
	always bool
	// How many handlers in goroutines of their own were quick, one after the other.
	quick atomic.Int32
}

// Waits says that the handler waits for something, a database for example: each of its requests gets a goroutine from the beginning.
func (r *Route) Waits() *Route {
	r.always = true
	r.alone.Store(true)
	return r
}

// A handler is quick below this time; after so many the route's requests share a goroutine again.
const (
	quickMax   = 50 * time.Microsecond
	quickCount = 256
)

// Server is Sampan's engine with Go handlers. Its methods may be called from any goroutine.
type Server struct {
	log    *slog.Logger
	logged uintptr
	native uint64

	lock             sync.Mutex
	started, stopped bool
	// Held by Start and Reload. Stop takes it for a moment only: a handler that reloads would wait for Stop, and Stop for
	// the handler.
	loading sync.Mutex
	// Set when Stop begins.
	stopping atomic.Bool
	addrs    atomic.Pointer[[]string]
	faults   []error

	routes  []*Route
	clients clients
	base    context.Context
	end     context.CancelFunc

	pumps   []atomic.Pointer[pump]
	running sync.WaitGroup
	outbox  outbox

	// Whether a batch has come since the supervisor last looked, and whether it sleeps until one comes.
	active, asleep atomic.Bool
	wake           chan struct{}
}

// New makes a server. It listens from [Server.Start] or [Server.Run] on. A server that is not needed any more must be stopped, also one
// that was never started.
func New(config Config) (*Server, error) {
	s := &Server{log: logger(config.Logger), wake: make(chan struct{}, 1)}
	s.clients.underWay = map[uint64]client{}
	s.logged = logNumber(s.log)
	s.base, s.end = context.WithCancel(context.Background())
	options, err := config.options()
	if err == nil {
		options.Log = s.logged
		made, fault := native.ServerNew(options)
		s.native, err = made, failure(fault)
	}
	if err != nil {
		s.end()
		native.RemoveLog(s.logged)
		return nil, err
	}
	workers := config.Workers
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	s.pumps = make([]atomic.Pointer[pump], max(1, min(workers, runtime.GOMAXPROCS(0))))
	return s, nil
}

// Handle has requests of this method ("" for all) and this pattern answered by a handler. Patterns are those of scripts: "/user/:id",
// "/files/*rest". HEAD is answered with GET's handler. What is wrong with a route, [Server.Start] says, with the place of this call. Routes are
// added before the start: later this panics.
func (s *Server) Handle(method, pattern string, handler Handler) *Route {
	return s.add(method, pattern, handler)
}

// Get is Handle for GET.
func (s *Server) Get(pattern string, handler Handler) *Route {
	return s.add(http.MethodGet, pattern, handler)
}

// Post is Handle for POST.
func (s *Server) Post(pattern string, handler Handler) *Route {
	return s.add(http.MethodPost, pattern, handler)
}

// Put is Handle for PUT.
func (s *Server) Put(pattern string, handler Handler) *Route {
	return s.add(http.MethodPut, pattern, handler)
}

// Patch is Handle for PATCH.
func (s *Server) Patch(pattern string, handler Handler) *Route {
	return s.add(http.MethodPatch, pattern, handler)
}

// Delete is Handle for DELETE.
func (s *Server) Delete(pattern string, handler Handler) *Route {
	return s.add(http.MethodDelete, pattern, handler)
}

func (s *Server) add(method, pattern string, handler Handler) *Route {
	s.lock.Lock()
	defer s.lock.Unlock()
	route := &Route{method: method, pattern: pattern, handler: handler}
	if s.started || s.stopped {
		panic("sampan: " + method + " " + pattern + " is added after the start of the server, where no route is looked for any more")
	}
	var fault *native.Fault
	switch {
	case handler == nil:
		fault = &native.Fault{Status: native.Config, Message: "a route without a handler: " + method + " " + pattern}
	default:
		fault = native.ServerRoute(s.native, method, pattern, uint32(len(s.routes)))
	}
	if fault != nil {
		fault.Message = strings.Replace(fault.Message, "NULL stands", `"" stands`, 1)
		// The caller of Handle, Get, ...
		_, fault.File, fault.Line, _ = runtime.Caller(2)
		s.faults = append(s.faults, failure(fault))
		return route
	}
	s.routes = append(s.routes, route)
	return route
}

// Start loads the project, if there is one, and listens. It returns when requests are served.
func (s *Server) Start() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.stopped {
		return &Error{Kind: ErrState, Message: "the server was stopped: make a new one"}
	}
	if s.started {
		return &Error{Kind: ErrState, Message: "the server was started before"}
	}
	if len(s.faults) > 0 {
		return errors.Join(s.faults...)
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if fault := native.ServerStart(s.native); fault != nil {
		return failure(renamed(fault, "Workers"))
	}
	s.started = true
	var addrs []string
	for next := native.ServerAddress(s.native, 0); next != ""; next = native.ServerAddress(s.native, len(addrs)) {
		addrs = append(addrs, next)
	}
	s.addrs.Store(&addrs)
	for i := range s.pumps {
		first := newPump(s, i)
		s.pumps[i].Store(first)
		s.running.Add(1)
		go first.run()
	}
	go s.supervise()
	return nil
}

// Run starts the server and serves until the context ends. Then it stops, and lets requests in flight end.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(); err != nil {
		return errors.Join(err, s.Stop())
	}
	<-ctx.Done()
	return s.Stop()
}

// Addr is the first address that the server listens on, with the port that it got. Empty before the start and after the stop.
func (s *Server) Addr() string {
	if all := s.Addrs(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// Addrs are all addresses that the server listens on.
func (s *Server) Addrs() []string {
	if all := s.addrs.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// Reload loads the project anew. Requests in flight end with the old one; on an error the old one goes on.
func (s *Server) Reload() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.stopping.Load() {
		return stopped()
	}
	return failure(renamed(native.ServerReload(s.native), "Workers"))
}

// Stop stops accepting, waits until the requests in flight have ended or limits.shutdown_millis_max is over, and frees what the
// server has. A handler must not call it: it would wait for itself. Stopping again does nothing.
func (s *Server) Stop() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.stopping.Store(true)
	// Waits for the reload under way. Later ones return an error.
	s.loading.Lock()
	s.loading.Unlock()
	s.addrs.Store(nil)
	var fault *native.Fault
	if s.started {
		fault = native.ServerStop(s.native)
		s.running.Wait()
	}
	s.end()
	native.ServerFree(s.native)
	native.RemoveLog(s.logged)
	return failure(fault)
}

// Runs a handler, whatever comes of it, and leaves its answer in the response.
func (s *Server) serve(route *Route, w *Response, r *Request) {
	w.request = r
	returned := false
	defer func() {
		fault := recover()
		if returned {
			return
		}
		if fault != nil && fault != http.ErrAbortHandler {
			s.log.Error("the handler panicked", "panic", fault, "method", r.Method(), "path", r.Path(), "stack", string(debug.Stack()))
		}
		// Without a fault the handler has ended its goroutine.
		w.fail(Fail(http.StatusInternalServerError, ""), s.log, r)
	}()
	err := route.handler(w, r)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		w.fail(err, s.log, r)
	}
	returned = true
}

// An answer from any goroutine. Whoever comes while another crosses over leaves the entry to that one.
type outbox struct {
	lock           sync.Mutex
	waiting, spare []byte
	isSending      bool
}

// Answers a request outside of a batch.
func (s *Server) answerAlone(w *Response, id uint64) {
	box := &s.outbox
	box.lock.Lock()
	defer box.lock.Unlock()
	box.waiting = w.appendTo(box.waiting, id)
	if box.isSending {
		return
	}
	box.isSending = true
	for len(box.waiting) > 0 {
		batch := box.waiting
		box.waiting = box.spare[:0]
		box.lock.Unlock()
		s.send(batch)
		box.lock.Lock()
		box.spare = kept(batch)
	}
	box.isSending = false
}

// Hands answers over. One with a header that is none becomes 500; one for a client that has left is nobody's.
func (s *Server) send(answers []byte) {
	native.ServerAnswer(s.native, answers)
	var answer native.Answer
	for rest := answers; len(rest) > 0; {
		rest = answer.ReadAnswer(rest)
		if answer.Code() != native.Argument {
			continue
		}
		s.log.Error("the handler's answer has header fields that cannot be sent: all together are too large", "status", answer.Status())
		var instead Response
		instead.fail(Fail(http.StatusInternalServerError, ""), s.log, &Request{})
		native.ServerAnswer(s.native, instead.appendTo(nil, answer.ID()))
	}
}

// A buffer for the next batch, unless it has grown large.
func kept(buffer []byte) []byte {
	const most = 1 << 20
	if cap(buffer) > most {
		return nil
	}
	return buffer[:0]
}
