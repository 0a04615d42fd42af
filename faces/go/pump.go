package sampan

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sampan-server/sampan/faces/go/internal/native"
)

// The words of a buffer for a batch of requests. A larger one is made for a larger request.
const bufferWords = 64 << 10 / 8

// Answers are handed over when so many bytes of them wait, at the latest at the end of a batch.
const answersBytesMax = 256 << 10

// How often the supervisor looks, and after how many looks without work it sleeps.
const (
	supervisePeriod = 2 * time.Millisecond
	idleLooksMax    = 25
)

// What stands for a handler whose pump has lost its work to another.
const lost = ^uint64(0)

// A pump is a goroutine that takes batches of requests and runs their handlers one after the other. When one of these
// takes long, the supervisor gives the rest of the work to a new pump; the old one ends with that handler.
type pump struct {
	server *Server
	// Its place among the server's.
	at int

	// The id of the request whose handler runs now; 0 for none, or [lost]. Whoever changes it from that id decides
	// who goes on with the fields below.
	running atomic.Uint64
	// Set by the supervisor: answers should not wait longer.
	overdue atomic.Bool

	route   *Route
	buffer  []uint64
	rest    []byte
	answers []byte

	// Those of the handler that runs. They stay with it.
	request  *Request
	response *Response
	// Whether it ended as it should: the handler did not end the goroutine.
	ended bool
}

func newPump(s *Server, at int) *pump {
	return &pump{server: s, at: at, request: &Request{server: s}, response: &Response{}}
}

func (p *pump) run() {
	defer p.leave()
	for {
		for len(p.rest) > 0 {
			if !p.serveNext() {
				p.ended = true
				return
			}
		}
		p.send()
		if !p.receive() {
			p.ended = true
			p.server.running.Done()
			return
		}
	}
}

// Waits for the next batch. False when the server has stopped.
func (p *pump) receive() bool {
	for {
		if len(p.buffer) != bufferWords {
			p.buffer = make([]uint64, bufferWords)
		}
		bytes, status := native.ServerNext(p.server.native, -1, p.buffer)
		if status == native.SmallBuffer {
			p.buffer = make([]uint64, (bytes+7)/8)
			bytes, status = native.ServerNext(p.server.native, 0, p.buffer)
		}
		switch status {
		case native.OK:
			p.rest = native.Bytes(p.buffer, bytes)
			p.server.noteWork()
			return true
		case native.Timeout, native.SmallBuffer:
			// Another pump has taken the large one.
		default:
			return false
		}
	}
}

// Serves one request. False if the rest of the work has gone to another pump.
func (p *pump) serveNext() bool {
	s, r, w := p.server, p.request, p.response
	p.rest = r.entry.ReadRequest(p.rest)
	if r.entry.Tag() == native.TagGone {
		cause := context.Canceled
		if len(r.entry.Body()) > 0 {
			// It names the limit that has passed.
			cause = context.DeadlineExceeded
		}
		s.clients.left(r.entry.ID(), cause, s.isRunning)
		return true
	}
	route := s.routes[r.entry.Tag()]
	if route.alone.Load() {
		s.serveAlone(route, &r.entry)
		return true
	}
	id := r.entry.ID()
	p.route = route
	p.running.Store(id)
	s.serve(route, w, r)
	if !p.running.CompareAndSwap(id, 0) {
		s.answerAlone(w, id)
		r.isTracked = true
		r.finish()
		return false
	}
	p.answers = w.appendTo(p.answers, id)
	r.finish()
	w.reset()
	if len(p.answers) > answersBytesMax || p.overdue.Load() {
		p.overdue.Store(false)
		p.send()
	}
	return true
}

func (p *pump) send() {
	if len(p.answers) > 0 {
		p.server.send(p.answers)
		p.answers = kept(p.answers)
	}
}

// Called when the goroutine ends: a handler may have ended it, which must not end the work.
func (p *pump) leave() {
	if p.ended {
		return
	}
	id := p.request.entry.ID()
	if p.running.CompareAndSwap(id, lost) {
		p.succeed()
	}
	p.server.answerAlone(p.response, id)
	p.request.isTracked = true
	p.request.finish()
}

// Starts another pump with the work of this one, which [pump.running] has said is lost.
func (p *pump) succeed() {
	next := newPump(p.server, p.at)
	// The buffer stays with the handler that reads in it; the rest lies there too.
	next.rest, next.answers = p.rest, p.answers
	p.server.pumps[p.at].Store(next)
	go next.run()
}

var alone = sync.Pool{New: func() any { return &exchange{} }}

// A request with its answer, in a goroutine of its own.
type exchange struct {
	request  Request
	response Response
}

// Serves a request in a goroutine of its own.
func (s *Server) serveAlone(route *Route, entry *native.Request) {
	e := alone.Get().(*exchange)
	e.request.server = s
	e.request.entry = *entry
	e.request.entry.Detach()
	id := entry.ID()
	e.request.isTracked = true
	s.clients.enter(id)
	go func() {
		began := time.Now()
		// Also where the handler ends the goroutine.
		defer func() {
			s.answerAlone(&e.response, id)
			e.request.finish()
			e.response.reset()
			alone.Put(e)
		}()
		s.serve(route, &e.response, &e.request)
		route.note(time.Since(began))
	}()
}

// Notes how long a handler took in a goroutine of its own.
func (r *Route) note(elapsed time.Duration) {
	switch {
	case r.always:
	case elapsed > quickMax:
		r.quick.Store(0)
	case r.quick.Add(1) >= quickCount:
		r.quick.Store(0)
		r.alone.Store(false)
	}
}

// Tells the supervisor that there is work.
func (s *Server) noteWork() {
	if s.active.Load() {
		return
	}
	s.active.Store(true)
	if s.asleep.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}

// Reports whether a pump runs the handler of a request.
func (s *Server) isRunning(id uint64) bool {
	for i := range s.pumps {
		if s.pumps[i].Load().running.Load() == id {
			return true
		}
	}
	return false
}

// Takes the work from a pump whose handler still runs, which is alone with that from now on. False if it has returned.
func (s *Server) takeFrom(p *pump, id uint64) bool {
	// Before, because [Server.isRunning] does not find it after.
	s.clients.enter(id)
	if p.running.CompareAndSwap(id, lost) {
		return true
	}
	s.clients.forget(id)
	return false
}

// Looks for handlers that take long, while there is work.
func (s *Server) supervise() {
	ticker := time.NewTicker(supervisePeriod)
	defer ticker.Stop()
	seen, looks := make([]uint64, len(s.pumps)), 0
	for {
		select {
		case <-s.base.Done():
			return
		case <-ticker.C:
		}
		isBusy := s.active.Swap(false)
		for i := range s.pumps {
			p := s.pumps[i].Load()
			id := p.running.Load()
			switch {
			case id == 0 || id == lost:
				seen[i] = 0
				continue
			case id == seen[i] && s.takeFrom(p, id):
				p.route.quick.Store(0)
				p.route.alone.Store(true)
				p.succeed()
				seen[i] = 0
			default:
				seen[i] = id
				p.overdue.Store(true)
			}
			isBusy = true
		}
		if isBusy {
			looks = 0
			continue
		}
		if looks++; looks < idleLooksMax {
			continue
		}
		looks = 0
		s.asleep.Store(true)
		if s.active.Load() && s.asleep.CompareAndSwap(true, false) {
			continue
		}
		ticker.Stop()
		select {
		case <-s.base.Done():
			return
		case <-s.wake:
		}
		ticker.Reset(supervisePeriod)
	}
}
