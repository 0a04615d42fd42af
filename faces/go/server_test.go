package sampan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Nobody reads what tests log that do not look at it.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// What a logger has written, for tests that look at it.
type lines struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(part []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(part)
}

func (l *lines) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// Waits until the log has this text: lines of the engine come from another thread.
func (l *lines) expect(t *testing.T, part string) {
	t.Helper()
	until(t, "the log has "+part, func() bool { return strings.Contains(l.String(), part) })
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	// Long, because the machine may be busy; a test that passes does not wait for it.
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Fatalf("not within a minute: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
}

func logTo(l *lines) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// A server on a free port, stopped at the end of the test, and where it is.
func serve(t *testing.T, config Config, add func(*Server)) (*Server, string) {
	t.Helper()
	if config.Addr == "" {
		config.Addr = "127.0.0.1:0"
	}
	if config.Workers == 0 {
		config.Workers = 2
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	add(server)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server, "http://" + server.Addr()
}

// Asks, and gives status and body, with the content type of anything but 204.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s %s", answer.StatusCode, answer.Header.Get("Content-Type"), text)
}

// write replaces a file at once, so that no reload reads half of it.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	file := filepath.Join(folder, name)
	fresh := file + ".new"
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHandlersAnswer(t *testing.T) {
	_, at := serve(t, Config{}, func(s *Server) {
		s.Get("/text", func(w *Response, r *Request) error { return w.Text("a text") })
		s.Get("/html", func(w *Response, r *Request) error { return w.HTML("<p>a page") })
		s.Get("/nothing", func(w *Response, r *Request) error { return nil })
		s.Get("/user/:id", func(w *Response, r *Request) error {
			return w.JSON(map[string]any{"id": r.Param("id"), "none": r.Param("name"), "path": r.Path()})
		})
		s.Get("/query", func(w *Response, r *Request) error {
			return w.Text(r.Method() + " " + r.Query().Get("a") + " " + r.RawQuery() + " " + r.Header("x-mine") + r.RemoteIP())
		})
		s.Post("/echo", func(w *Response, r *Request) error { return w.Bytes(r.Header("Content-Type"), r.Body()) })
		s.Post("/json", func(w *Response, r *Request) error {
			var value struct{ Name string }
			if err := r.JSON(&value); err != nil {
				return err
			}
			return w.Status(http.StatusCreated).JSON(value)
		})
		s.Get("/away", func(w *Response, r *Request) error { return w.Redirect("/text") })
		s.Get("/fields", func(w *Response, r *Request) error {
			w.AddHeader("X-Two", "1").AddHeader("X-Two", "2").SetHeader("Content-Type", "text/csv")
			return w.Text("a,b")
		})
		s.Get("/written", func(w *Response, r *Request) error {
			fmt.Fprintf(w, "<html>%d", 7)
			return nil
		})
		s.Handle("", "/any", func(w *Response, r *Request) error { return w.Text(r.Method()) })
	})
	http.DefaultClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { http.DefaultClient.CheckRedirect = nil }()
	for _, one := range [][4]string{
		{"GET", "/text", "", "200 text/plain; charset=utf-8 a text"},
		{"HEAD", "/text", "", "200 text/plain; charset=utf-8 "},
		{"GET", "/html", "", "200 text/html; charset=utf-8 <p>a page"},
		{"GET", "/nothing", "", "204  "},
		{"GET", "/user/Zo%C3%AB%20%22x%22", "", `200 application/json {"id":"Zoë \"x\"","none":"","path":"/user/Zo%C3%AB%20%22x%22"}`},
		{"GET", "/query?a=1%2B1&b", "", "200 text/plain; charset=utf-8 GET 1+1 a=1%2B1&b 127.0.0.1"},
		{"POST", "/json", `{"name":"Ada"}`, `201 application/json {"Name":"Ada"}`},
		{"GET", "/away", "", "302  "},
		{"GET", "/fields", "", "200 text/csv a,b"},
		{"GET", "/written", "", "200 text/html; charset=utf-8 <html>7"},
		{"DELETE", "/any", "", "200 text/plain; charset=utf-8 DELETE"},
	} {
		if got := ask(t, one[0], at+one[1], one[2]); got != one[3] {
			t.Errorf("%s %s: %q instead of %q", one[0], one[1], got, one[3])
		}
	}
	if got := ask(t, "POST", at+"/json", `{"name":`); !strings.HasPrefix(got, `400 application/json {"error":"the body is no JSON that fits`) {
		t.Errorf("%q", got)
	}
	if got := ask(t, "GET", at+"/nowhere", ""); !strings.HasPrefix(got, "404 ") {
		t.Errorf("%q", got)
	}
	large := strings.Repeat("0123456789", 50_000)
	if got := ask(t, "POST", at+"/echo", large); !strings.HasSuffix(got, large) {
		t.Errorf("an echo of %d bytes", len(got))
	}
}

func TestProjectsServeBesideHandlers(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "app.lua", `local app = require "sampan"
app.get("/lua", function() return "from Lua" end)
app.get("/both", function() return "from Lua" end)
`)
	_, at := serve(t, Config{Project: folder}, func(s *Server) {
		s.Get("/go", func(w *Response, r *Request) error { return w.Text("from Go") })
	})
	for path, want := range map[string]string{"/lua": "from Lua", "/go": "from Go"} {
		if got := ask(t, "GET", at+path, ""); got != "200 text/plain; charset=utf-8 "+want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestAddressesAreThoseOfNetListen(t *testing.T) {
	all := "[::]:0"
	if everywhere() == "0.0.0.0" {
		all = "0.0.0.0:0"
	}
	for given, want := range map[string]string{
		"": "", ":0": all, "localhost:http": "localhost:80", "[::1]:0": "[::1]:0", "unix:/run/a:b": "unix:/run/a:b", "nonsense": "nonsense",
		":0, 127.0.0.1:80": all + ",127.0.0.1:80",
	} {
		if got := listenable(given); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
	// Those of the guide, on ports that are free.
	guide, err := os.ReadFile("../../docs/programs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	addresses := regexp.MustCompile(`Addr: +"([^"]*:)\d+"`).FindAllSubmatch(guide, -1)
	if len(addresses) < 2 {
		t.Fatalf("%q", addresses)
	}
	for _, address := range addresses {
		server, _ := serve(t, Config{Addr: string(address[1]) + "0"}, func(s *Server) {
			s.Get("/", func(w *Response, r *Request) error { return w.Text("here") })
		})
		_, port, _ := net.SplitHostPort(server.Addr())
		if got := ask(t, "GET", "http://127.0.0.1:"+port+"/", ""); got != "200 text/plain; charset=utf-8 here" {
			t.Errorf("%q", got)
		}
	}
}

func TestClientsOfAUnixSocketHaveNoAddress(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "app.sock")
	serve(t, Config{Addr: "unix:" + socket}, func(s *Server) {
		s.Get("/", func(w *Response, r *Request) error {
			made, err := r.HTTP()
			if err != nil {
				return err
			}
			return w.Text(fmt.Sprintf("%q %q %q", r.RemoteIP(), made.RemoteAddr, remote(made)))
		})
	})
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://app/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if want := `"unix:" "@" ""`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestGroupsAddRoutesBelowAPrefix(t *testing.T) {
	_, at := serve(t, Config{}, func(s *Server) {
		api := s.Group("/api")
		api.Get("/users/:id", func(w *Response, r *Request) error { return w.Text("user " + r.Param("id")) })
		api.Group("/v2").Post("/users", func(w *Response, r *Request) error { return w.Text("made") })
	})
	for path, want := range map[string]string{"GET /api/users/7": "user 7", "POST /api/v2/users": "made"} {
		method, path, _ := strings.Cut(path, " ")
		if got := ask(t, method, at+path, ""); got != "200 text/plain; charset=utf-8 "+want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestFieldsOfScriptsAreAttributes(t *testing.T) {
	log, folder := &lines{}, t.TempDir()
	write(t, folder, "app.lua", `local app = require "sampan"
app.get("/", function() app.log.info("paid", { order = 7, sum = 1.5, who = "Ada" }) return "" end)
`)
	_, at := serve(t, Config{Project: folder, Logger: logTo(log)}, func(*Server) {})
	ask(t, "GET", at+"/", "")
	for _, part := range []string{"msg=paid", " order=7", " sum=1.5", " who=Ada"} {
		log.expect(t, part)
	}
	if strings.Contains(log.String(), "fields=") {
		t.Error(log.String())
	}
}

func TestHandlersOfNetHTTPAreServed(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /in/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Host", r.Host)
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("X-Late", "1")
		fmt.Fprintf(w, "%s %s %s %s", r.PathValue("name"), r.URL.Query().Get("q"), body, r.Header.Get("X-Mine"))
	})
	mux.HandleFunc("GET /cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	log := &lines{}
	_, at := serve(t, Config{Logger: logTo(log)}, func(s *Server) { s.Handle("", "/*rest", HTTP(mux)) })
	request, _ := http.NewRequest("POST", at+"/in/Zo%C3%AB?q=1", strings.NewReader("body"))
	request.Header.Set("X-Mine", "mine")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != 202 || string(text) != "Zoë 1 body mine" || answer.Header.Get("X-Host") != request.URL.Host ||
		answer.Header.Get("X-Late") != "" {
		t.Fatalf("%d %q %v", answer.StatusCode, text, answer.Header)
	}
	if got := ask(t, "GET", at+"/none", ""); got != "404 text/plain; charset=utf-8 404 page not found\n" {
		t.Errorf("%q", got)
	}
	if got := ask(t, "GET", at+"/cut", ""); !strings.HasPrefix(got, "500 ") || strings.Contains(log.String(), "panicked") {
		t.Errorf("%q, %s", got, log)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	_, at := serve(t, Config{}, func(s *Server) {
		s.Get("/n/:n", func(w *Response, r *Request) error { return w.Text(r.Param("n")) })
		s.Get("/slow/:n", func(w *Response, r *Request) error {
			time.Sleep(3 * time.Millisecond)
			return w.Text(r.Param("n"))
		})
	})
	var all sync.WaitGroup
	for client := range 32 {
		all.Go(func() {
			for turn := range 60 {
				path := "/n/"
				if (client+turn)%11 == 0 {
					path = "/slow/"
				}
				number := fmt.Sprint(client*1000 + turn)
				if got := ask(t, "GET", at+path+number, ""); !strings.HasSuffix(got, " "+number) || !strings.HasPrefix(got, "200") {
					t.Errorf("%s: %q", number, got)
				}
			}
		})
	}
	all.Wait()
}

func TestAHandlerThatWaitsHoldsNobodyUp(t *testing.T) {
	release := make(chan struct{})
	var waits *Route
	server, at := serve(t, Config{Workers: 1}, func(s *Server) {
		waits = s.Get("/wait", func(w *Response, r *Request) error {
			path := r.Path()
			<-release
			if r.Path() != path {
				return errors.New("the request has become another")
			}
			return w.Text("waited")
		})
		s.Get("/quick", func(w *Response, r *Request) error { return w.Text("quick") })
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := ask(t, "GET", at+"/wait", ""); got != "200 text/plain; charset=utf-8 waited" {
				t.Errorf("%q", got)
			}
		})
	}
	until(t, "the route is known to wait", func() bool { return waits.alone.Load() })
	for range 100 {
		if got := ask(t, "GET", at+"/quick", ""); got != "200 text/plain; charset=utf-8 quick" {
			t.Fatalf("%q", got)
		}
	}
	close(release)
	all.Wait()
	// On a busy machine a call may be taken for a slow one, so that more are needed.
	until(t, "the route is quick again", func() bool {
		ask(t, "GET", at+"/wait", "")
		return !waits.alone.Load()
	})
	until(t, "the supervisor sleeps", func() bool { return server.asleep.Load() })
	if got := ask(t, "GET", at+"/quick", ""); got != "200 text/plain; charset=utf-8 quick" {
		t.Fatalf("%q", got)
	}
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	server, err := New(Config{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	server.Get("/", func(w *Response, r *Request) error { return w.Text("here") })
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	until(t, "it listens", func() bool { return server.Addr() != "" })
	if got := ask(t, "GET", "http://"+server.Addrs()[0], ""); got != "200 text/plain; charset=utf-8 here" {
		t.Fatalf("%q", got)
	}
	http.DefaultClient.CloseIdleConnections()
	end()
	if err := <-ended; err != nil || server.Addr() != "" {
		t.Fatal(err)
	}
	if err := server.Start(); !errors.Is(err, ErrState) {
		t.Fatalf("started again: %v", err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAHandlerThatReloadsDoesNotDelayTheStop(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	server, at := serve(t, Config{}, func(s *Server) {
		s.Get("/reload", func(w *Response, r *Request) error {
			close(begun)
			time.Sleep(200 * time.Millisecond)
			ended <- s.Reload()
			return w.Text("reloaded")
		}).Waits()
	})
	go func() {
		if answer, err := http.Get(at + "/reload"); err == nil {
			answer.Body.Close()
		}
	}()
	<-begun
	began := time.Now()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	if elapsed := time.Since(began); elapsed > 3*time.Second {
		t.Errorf("stopped after %v", elapsed)
	}
	if err := <-ended; !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
}
