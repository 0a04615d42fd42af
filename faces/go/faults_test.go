package sampan

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAHandlerThatFailsEndsItsRequestAlone(t *testing.T) {
	log := &lines{}
	_, at := serve(t, Config{Workers: 1, Logger: logTo(log)}, func(s *Server) {
		s.Get("/panics", func(w *Response, r *Request) error { panic("broken " + r.Path()) })
		s.Get("/panics/alone", func(w *Response, r *Request) error { panic("broken alone") }).Waits()
		s.Get("/ends", func(w *Response, r *Request) error { runtime.Goexit(); return nil })
		s.Get("/ends/alone", func(w *Response, r *Request) error { runtime.Goexit(); return nil }).Waits()
		s.Get("/fails", func(w *Response, r *Request) error { _ = w.Text("half"); return errors.New("a secret") })
		s.Get("/wrong", func(w *Response, r *Request) error { return w.SetHeader("X", "a\r\nB: c").Text("split") })
		s.Get("/status", func(w *Response, r *Request) error { return w.Status(99).Text("none") })
		s.Get("/missing", func(w *Response, r *Request) error { return Fail(http.StatusNotFound, "no such ship") })
		s.Get("/good", func(w *Response, r *Request) error { return w.Text("good") })
	})
	const failed = `500 application/json {"error":"Internal Server Error"}`
	for range 3 {
		for path, want := range map[string]string{
			"/panics": failed, "/panics/alone": failed, "/ends": failed, "/ends/alone": failed, "/fails": failed, "/wrong": failed, "/status": failed,
			"/missing": `404 application/json {"error":"no such ship"}`,
			"/good":    "200 text/plain; charset=utf-8 good",
		} {
			if got := ask(t, "GET", at+path, ""); got != want {
				t.Errorf("%s: %q", path, got)
			}
		}
	}
	for _, part := range []string{
		`panic="broken /panics"`, `panic="broken alone"`, "faults_test.go", `error="a secret"`,
		`cannot be sent" method=GET path=/wrong`, `"X\": \"a`, `error="the status 99 cannot be sent: it must be 200 to 999" method=GET path=/status`,
	} {
		log.expect(t, part)
	}
	if strings.Contains(log.String(), "no such ship") {
		t.Error("an answer that the handler chose is in the log")
	}
}

func TestWhatIsWrongBeforeTheStartIsAnErrorWithItsPlace(t *testing.T) {
	server, err := New(Config{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	nothing := func(*Response, *Request) error { return nil }
	_, _, line, _ := runtime.Caller(0)
	server.Get("/none", nil)
	server.Handle("GET", "no slash", nothing)
	server.Get("/a/:x", nothing)
	server.Group("/a").Get("/:y", nothing)
	server.Post("/a/{id}", nothing)
	server.Handle("FETCH", "/", nothing)
	err = server.Start()
	all, ok := err.(interface{ Unwrap() []error })
	if !ok || len(all.Unwrap()) != 5 {
		t.Fatalf("%v", err)
	}
	for i, want := range map[int]string{
		1: "GET no slash: the pattern must begin with '/'", 2: "GET /a/:y is already declared as /a/:x", 3: `write ":id"`, 4: `"" stands for all`,
	} {
		told := all.Unwrap()[i].(*Error)
		at := line + 1 + i
		if i > 1 {
			at++
		}
		if !strings.HasSuffix(told.File, "faults_test.go") || told.Line != at || !strings.Contains(told.Message, want) {
			t.Errorf("%s:%d %q", told.File, told.Line, told.Message)
		}
	}
	var told *Error
	if !errors.As(err, &told) {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"faults_test.go:", "without a handler: GET /none"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestARouteThatTheScriptHasTooIsAnErrorWithItsPlaceThere(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "app.lua", "local app = require 'sampan'\napp.get('/both', function() end)\n")
	server, err := New(Config{Addr: "127.0.0.1:0", Project: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	server.Get("/both", func(*Response, *Request) error { return nil })
	var told *Error
	if err := server.Start(); !errors.As(err, &told) || told.File != "app.lua" || told.Line != 2 || !errors.Is(err, ErrLoad) {
		t.Fatalf("%v", err)
	}
	if !strings.HasPrefix(told.Message, "GET /both is a route of the program too") {
		t.Error(told.Message)
	}
}

func TestARouteAfterTheStartPanics(t *testing.T) {
	server, _ := serve(t, Config{}, func(*Server) {})
	defer func() {
		if told, _ := recover().(string); !strings.Contains(told, "GET /late is added after the start") {
			t.Errorf("%q", told)
		}
	}()
	server.Get("/late", func(*Response, *Request) error { return nil })
}

func TestAStoppedServerSaysSo(t *testing.T) {
	server, err := New(Config{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Reload(); !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
	if err := server.Start(); !errors.Is(err, ErrState) {
		t.Errorf("%v", err)
	}
}

func TestOptionsAreCalledAsTheyAreHere(t *testing.T) {
	start := func(config Config) error {
		server, err := New(config)
		if err != nil {
			return err
		}
		return errors.Join(server.Start(), server.Stop())
	}
	scripts := func(config ScriptsConfig) error {
		handler, err := Scripts(config)
		if err == nil {
			err = handler.Close()
		}
		return err
	}
	lua, js := ScriptsConfig{Source: "x = 1", Name: "t.lua"}, ScriptsConfig{Source: "export const a = 1", Name: "t.js", IsolatedRequests: true}
	with := func(change func(*ScriptsConfig)) ScriptsConfig {
		config := lua
		change(&config)
		return config
	}
	for want, err := range map[string]error{
		`Addr: [server] listen: "nonsense"`:     start(Config{Addr: "nonsense"}),
		"Settings: [limits] has no key":         start(Config{Addr: "127.0.0.1:0", Settings: map[string]string{"limits.nope": "1"}}),
		"Workers: [server] workers: 1025":       start(Config{Addr: "127.0.0.1:0", Workers: 1025}),
		"Workers: -3 is negative":               start(Config{Addr: "127.0.0.1:0", Workers: -3}),
		"Isolates: -1 is negative":              scripts(with(func(c *ScriptsConfig) { c.Isolates = -1 })),
		"Isolates: [server] workers: 1025":      scripts(with(func(c *ScriptsConfig) { c.Isolates = 1025 })),
		"QueueMax: -5 is negative":              scripts(with(func(c *ScriptsConfig) { c.QueueMax = -5 })),
		"BodyBytesMax: -1 is negative":          scripts(with(func(c *ScriptsConfig) { c.BodyBytesMax = -1 })),
		"Path is given together with Source":    scripts(with(func(c *ScriptsConfig) { c.Path = "a.lua" })),
		"Path and Source are empty":             scripts(ScriptsConfig{}),
		"Name is empty":                         scripts(ScriptsConfig{Source: "x = 1"}),
		"IsolatedRequests: [scripts] isolation": scripts(js),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAWrongConfigurationIsAnError(t *testing.T) {
	begin := func(config Config) error {
		config.Addr = "127.0.0.1:0"
		server, err := New(config)
		if err != nil {
			return err
		}
		return errors.Join(server.Start(), server.Stop())
	}
	err := begin(Config{Settings: map[string]string{"limits.body_bytes": "1"}})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "body_bytes_max") {
		t.Errorf("%v", err)
	}
	folder := t.TempDir()
	file := write(t, folder, "app.lua", "local app = require \"sampan\"\n\nlocal x = nil + 1\n")
	err = begin(Config{Project: folder})
	var told *Error
	if !errors.Is(err, ErrLoad) || !errors.As(err, &told) {
		t.Fatalf("%v", err)
	}
	if told.Line != 3 || !strings.HasSuffix(file, told.File) || told.File == "" {
		t.Errorf("%q line %d: %v", told.File, told.Line, err)
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server, err := New(Config{Addr: taken.Addr().String()})
	if err == nil {
		err = server.Start()
		defer server.Stop()
	}
	if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("%v", err)
	}
}

func TestABodyAboveTheLimitIsRefused(t *testing.T) {
	limits := map[string]string{"limits.body_bytes_max": "1000"}
	_, at := serve(t, Config{Settings: limits}, func(s *Server) {
		s.Post("/in", func(w *Response, r *Request) error { return w.Text(fmt.Sprint(len(r.Body()))) })
	})
	if got := ask(t, "POST", at+"/in", strings.Repeat("x", 1000)); got != "200 text/plain; charset=utf-8 1000" {
		t.Errorf("%q", got)
	}
	if got := ask(t, "POST", at+"/in", strings.Repeat("x", 1001)); !strings.HasPrefix(got, "413 ") {
		t.Errorf("%q", got)
	}
}

// Sends bytes, and gives the status of the first answer; 0 if there is none.
func raw(t *testing.T, address, request string) int {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := connection.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

func TestAmbiguousFramingReachesNoHandler(t *testing.T) {
	var reached atomic.Int32
	server, _ := serve(t, Config{}, func(s *Server) {
		s.Handle("", "/*rest", func(w *Response, r *Request) error {
			reached.Add(1)
			return w.Text("reached")
		})
	})
	const start = "POST /x HTTP/1.1\r\nHost: a\r\n"
	for _, one := range []struct {
		request string
		status  int
	}{
		{start + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		{start + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
		{start + "Content-Length: +3\r\n\r\nabc", 400},
		{start + "Content-Length: 0x3\r\n\r\nabc", 400},
		{start + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
		{start + "Transfer-Encoding: chunked\r\n\r\nz\r\n", 400},
		{start + "X : y\r\n\r\n", 400},
		{start + "X: a\r\n b\r\n\r\n", 400},
		{"GET /x HTTP/1.1\nHost: a\n\n", 400},
		{"GET /x HTTP/1.1\r\n\r\n", 400},
		{"GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"GET /x HTTP/3.0\r\nHost: a\r\n\r\n", 505},
	} {
		if got := raw(t, server.Addr(), one.request); got != one.status {
			t.Errorf("%q: %d instead of %d", one.request, got, one.status)
		}
	}
	if reached.Load() != 0 {
		t.Errorf("a handler was reached %d times", reached.Load())
	}
}

func TestAContextEndsWhenItsClientLeaves(t *testing.T) {
	ended := make(chan error, 1)
	_, at := serve(t, Config{}, func(s *Server) {
		s.Get("/wait", func(w *Response, r *Request) error {
			select {
			case <-r.Context().Done():
				ended <- r.Context().Err()
			case <-time.After(10 * time.Second):
				ended <- errors.New("it did not end")
			}
			return w.Text("too late")
		}).Waits()
		s.Get("/quick", func(w *Response, r *Request) error {
			context.AfterFunc(r.Context(), func() { ended <- errors.New("quick") })
			return w.Text("quick")
		})
	})
	ctx, leave := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer leave()
	request, _ := http.NewRequestWithContext(ctx, "GET", at+"/wait", nil)
	if _, err := http.DefaultClient.Do(request); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ask(t, "GET", at+"/quick", "")
	if err := <-ended; err.Error() != "quick" {
		t.Fatal(err)
	}
}

func TestAContextEndsAtTheLimitOfTheHandler(t *testing.T) {
	log, causes := &lines{}, make(chan error, 1)
	limits := map[string]string{"limits.handler_millis_max": "100"}
	_, at := serve(t, Config{Settings: limits, Logger: logTo(log)}, func(s *Server) {
		s.Get("/wait", func(w *Response, r *Request) error {
			<-r.Context().Done()
			causes <- context.Cause(r.Context())
			return r.Context().Err()
		}).Waits()
	})
	if got := ask(t, "GET", at+"/wait", ""); !strings.HasPrefix(got, "504 ") {
		t.Errorf("%q", got)
	}
	if cause := <-causes; cause != context.DeadlineExceeded {
		t.Errorf("%v", cause)
	}
	log.expect(t, "GET /wait: no answer after 100 ms: given up (handler_millis_max)")
	ctx, leave := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer leave()
	request, _ := http.NewRequestWithContext(ctx, "GET", at+"/wait", nil)
	if _, err := http.DefaultClient.Do(request); err == nil {
		t.Error("it did not leave")
	}
	if cause := <-causes; cause != context.Canceled {
		t.Errorf("%v", cause)
	}
	time.Sleep(50 * time.Millisecond)
	if strings.Contains(log.String(), "the handler failed") {
		t.Error(log.String())
	}
}

func TestRequestsInFlightAreAnsweredAtTheStop(t *testing.T) {
	began := make(chan struct{})
	server, at := serve(t, Config{}, func(s *Server) {
		s.Get("/slow", func(w *Response, r *Request) error {
			close(began)
			time.Sleep(300 * time.Millisecond)
			return w.Text("done")
		})
	})
	answer := make(chan string)
	go func() { answer <- ask(t, "GET", at+"/slow", "") }()
	<-began
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "200 text/plain; charset=utf-8 done" {
		t.Fatalf("%q", got)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(at, "http://")); err == nil {
		t.Fatal("it still listens")
	}
}

// How much resident memory may grow over a long test. In short ones, which run with the race detector too, it tells nothing: the
// detector's own grows.
func growthMax() int {
	if testing.Short() {
		return 1 << 30
	}
	return 16 << 10
}

// What this process has: open files, threads, goroutines, and its resident memory in KiB.
func resources(t *testing.T) (files, threads, goroutines, resident int) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	status, _ := os.ReadFile("/proc/self/status")
	number := func(name string) int {
		_, rest, _ := strings.Cut(string(status), name+":")
		value, _ := strconv.Atoi(strings.Fields(rest)[0])
		return value
	}
	return len(open), number("Threads"), runtime.NumGoroutine(), number("VmRSS")
}

func TestAnswersForNobodyKeepNothing(t *testing.T) {
	turns := 10_000
	if testing.Short() {
		turns = 500
	}
	var answered atomic.Int32
	server, _ := serve(t, Config{Workers: 1}, func(s *Server) {
		s.Get("/late", func(w *Response, r *Request) error {
			<-r.Context().Done()
			answered.Add(1)
			return w.Bytes("text/plain", make([]byte, 10_000))
		}).Waits()
	})
	idle := runtime.NumGoroutine()
	sent := 0
	// A hundred at a time: on a busy machine all would be under way together, and their memory would be the peak's.
	leave := func(count int) {
		for n := range count {
			connection, err := net.Dial("tcp", server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = connection.Write([]byte("GET /late HTTP/1.1\r\nHost: a\r\n\r\n"))
			connection.Close()
			sent++
			if n%100 == 99 {
				until(t, "they have ended", func() bool { return int(answered.Load()) == sent && runtime.NumGoroutine() <= idle+2 })
			}
		}
	}
	leave(turns)
	settle := func() { time.Sleep(200 * time.Millisecond); debug.FreeOSMemory() }
	settle()
	files, _, _, before := resources(t)
	leave(turns)
	settle()
	filesAfter, _, _, after := resources(t)
	if filesAfter > files+2 || after > before+growthMax() {
		t.Errorf("files %d to %d, resident %d to %d KiB, %d answers", files, filesAfter, before, after, answered.Load())
	}
}

func TestStartsAndStopsLeakNothing(t *testing.T) {
	cycles := 1000
	if testing.Short() {
		cycles = 50
	}
	cycle := func() {
		server, err := New(Config{Addr: "127.0.0.1:0", Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		server.Get("/", func(w *Response, r *Request) error { return w.Text("here") })
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if got := raw(t, server.Addr(), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); got != 200 {
			t.Fatalf("%d", got)
		}
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for range cycles / 5 {
		cycle()
	}
	runtime.GC()
	files, threads, goroutines, resident := resources(t)
	for range cycles {
		cycle()
	}
	runtime.GC()
	until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	filesAfter, threadsAfter, _, residentAfter := resources(t)
	if filesAfter > files+2 || threadsAfter > threads+12 || residentAfter > resident+growthMax() {
		t.Errorf("files %d to %d, threads %d to %d, resident %d to %d KiB", files, filesAfter, threads, threadsAfter, resident, residentAfter)
	}
}
