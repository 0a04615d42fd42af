package sampan

import (
	"context"
	"sync"
	"sync/atomic"
)

// Tells handlers that their clients have left.
type clients struct {
	lock sync.Mutex
	// Requests by their ids, until their handlers return: those that run in a goroutine of their own or have asked for a context, and those
	// whose client has left.
	underWay map[uint64]client
	// How many of them are there only because the client has left.
	noted atomic.Int64
}

// The client of a request whose handler runs.
type client struct {
	// Ends the context of the request; nil until the handler asks for one.
	cancel context.CancelCauseFunc
	// Why it does not wait any more; nil while it does.
	cause   error
	isNoted bool
}

// Adds a request whose handler runs in a goroutine of its own.
func (c *clients) enter(id uint64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.underWay[id] = c.underWay[id]
}

// Has the context ended when the client leaves; at once, if it has left.
func (c *clients) watch(id uint64, cancel context.CancelCauseFunc) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known := c.underWay[id]
	known.cancel = cancel
	c.underWay[id] = known
	if known.cause != nil {
		cancel(known.cause)
	}
}

// Notes that nobody waits for the answer to a request any more. One that was not added is under way if isRunning says so.
func (c *clients) left(id uint64, cause error, isRunning func(id uint64) bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	known, ok := c.underWay[id]
	if !ok {
		// Before the look: a handler that returns after it finds that there is something to forget.
		c.noted.Add(1)
		if !isRunning(id) {
			c.noted.Add(-1)
			return
		}
		known.isNoted = true
	}
	known.cause = cause
	c.underWay[id] = known
	if known.cancel != nil {
		known.cancel(cause)
	}
}

// Removes a request whose handler has returned.
func (c *clients) forget(id uint64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.underWay[id].isNoted {
		c.noted.Add(-1)
	}
	delete(c.underWay, id)
}
