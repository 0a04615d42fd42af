package sampan

import (
	"net"
	"sync/atomic"
	"testing"
)

// Clients that leave at once, more than wait for a connection at a time, and leave them before their handlers ask for a context.
func TestEveryHandlerIsToldThatItsClientHasLeft(t *testing.T) {
	const count = 6000
	gate := make(chan struct{})
	var began, told atomic.Int32
	server, _ := serve(t, Config{Workers: 1, Settings: map[string]string{"limits.handler_millis_max": "600000"}}, func(s *Server) {
		s.Get("/late", func(w *Response, r *Request) error {
			began.Add(1)
			<-gate
			<-r.Context().Done()
			told.Add(1)
			return w.Text("nobody reads it")
		}).Waits()
	})
	left := func() int {
		server.clients.lock.Lock()
		defer server.clients.lock.Unlock()
		count := 0
		for _, client := range server.clients.underWay {
			if client.cause != nil {
				count++
			}
		}
		return count
	}
	for range count {
		connection, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write([]byte("GET /late HTTP/1.1\r\nHost: a\r\n\r\n"))
		connection.Close()
	}
	until(t, "all have begun and left", func() bool { return began.Load() == count && left() == count })
	close(gate)
	until(t, "all are told", func() bool { return told.Load() == count })
	until(t, "nothing is kept", func() bool { return left() == 0 && server.clients.noted.Load() == 0 })
}
