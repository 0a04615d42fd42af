package sampan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const luaApp = `local app = require "sampan"
local seen = 0

app.get("/hello/:name", function(req) return "hello " .. req.params.name end)
app.post("/echo", function(req) return req:json() end)
app.get("/fields", function(req)
  return app.text(req.headers["x-mine"] .. " " .. req.query.q, { status = 201, headers = { ["X-Yours"] = "yes" } })
end)
app.get("/count", function()
  seen = seen + 1
  leaked = (leaked or 0) + 1
  return seen .. " " .. leaked
end)
app.get("/fails", function()
  local nothing
  return nothing.field
end)
app.get("/loops", function() while true do end end)
app.get("/waits", function() app.time.sleep(5) return "woken" end)
app.get("/said", function() app.log.warn("said", { by = "the script" }) return "ok" end)

function add(a, b) return { sum = a + b } end
function fail() error("refused") end
`

func load(t *testing.T, config ScriptsConfig) *ScriptHandler {
	t.Helper()
	if config.Source == "" && config.Path == "" {
		config.Source, config.Name = luaApp, "app.lua"
	}
	if config.Isolates == 0 {
		config.Isolates = 2
	}
	script, err := Scripts(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { script.Close() })
	return script
}

// A request through the handler, without a server.
func through(handler http.Handler, method, target, body string) string {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, target, strings.NewReader(body)))
	return recorder.Result().Status[:3] + " " + recorder.Header().Get("Content-Type") + " " + recorder.Body.String()
}

func TestScriptsAnswerBehindNetHTTP(t *testing.T) {
	script := load(t, ScriptsConfig{})
	server := httptest.NewServer(script)
	defer server.Close()
	for _, one := range [][4]string{
		{"GET", "/hello/Zo%C3%AB", "", "200 text/plain; charset=utf-8 hello Zoë"},
		{"HEAD", "/hello/a", "", "200 text/plain; charset=utf-8 "},
		{"POST", "/echo", `{"a":[1,null]}`, `200 application/json; charset=utf-8 {"a":[1,null]}`},
	} {
		got := ask(t, one[0], server.URL+one[1], one[2])
		if strings.ReplaceAll(got, "application/json ", "application/json; charset=utf-8 ") != one[3] {
			t.Errorf("%s %s: %q", one[0], one[1], got)
		}
	}
	request, _ := http.NewRequest("GET", server.URL+"/fields?q=2", nil)
	request.Header.Set("X-Mine", "1")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != 201 || string(text) != "1 2" || answer.Header.Get("X-Yours") != "yes" {
		t.Errorf("%d %q %v", answer.StatusCode, text, answer.Header)
	}
	if got := ask(t, "GET", server.URL+"/nowhere", ""); !strings.HasPrefix(got, "404 ") {
		t.Errorf("%q", got)
	}
	stripped := http.StripPrefix("/below", script)
	if got := through(stripped, "GET", "/below/hello/b%20c?x", ""); got != "200 text/plain; charset=utf-8 hello b c" {
		t.Errorf("%q", got)
	}
}

func TestScriptsInJavaScriptAnswer(t *testing.T) {
	script := load(t, ScriptsConfig{Name: "app.js", Source: `import { app } from "sampan";
app.get("/hello/:name", (req) => "hello " + req.params.name);
export const add = (a, b) => ({ sum: a + b });
`})
	if got := through(script, "GET", "/hello/a", ""); got != "200 text/plain; charset=utf-8 hello a" {
		t.Errorf("%q", got)
	}
	var result struct{ Sum int }
	if err := script.Call(context.Background(), "add", &result, 2, 3); err != nil || result.Sum != 5 {
		t.Errorf("%+v %v", result, err)
	}
}

func TestFunctionsAreCalled(t *testing.T) {
	script := load(t, ScriptsConfig{})
	var result struct{ Sum int }
	if err := script.Call(context.Background(), "add", &result, 40, 2); err != nil || result.Sum != 42 {
		t.Fatalf("%+v %v", result, err)
	}
	if err := script.Call(context.Background(), "none", nil); !errors.Is(err, ErrMissing) {
		t.Errorf("%v", err)
	}
	err := script.Call(context.Background(), "fail", nil)
	var told *Error
	if !errors.Is(err, ErrScript) || !errors.As(err, &told) || told.Line != 23 || told.File == "" || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%+v", err)
	}
}

func TestAScriptThatFailsIsLoggedWithItsPlace(t *testing.T) {
	log := &lines{}
	script := load(t, ScriptsConfig{Logger: logTo(log)})
	if got := through(script, "GET", "/fails", ""); !strings.HasPrefix(got, "500 ") || strings.Contains(got, "nothing") {
		t.Errorf("%q", got)
	}
	log.expect(t, "app.lua:16")
	through(script, "GET", "/said", "")
	log.expect(t, "level=WARN msg=said")
	log.expect(t, "the script")
	var wrong *Error
	if _, err := Scripts(ScriptsConfig{Name: "app.lua", Source: "local x =\n\n= 1"}); !errors.As(err, &wrong) || wrong.Line != 3 || !errors.Is(err, ErrLoad) {
		t.Errorf("%v", err)
	}
	if _, err := Scripts(ScriptsConfig{Path: "/nowhere/app.lua"}); err == nil || !strings.Contains(err.Error(), "/nowhere/app.lua") {
		t.Errorf("%v", err)
	}
}

func TestScriptsAreLimited(t *testing.T) {
	script := load(t, ScriptsConfig{
		Settings:     map[string]string{"limits.script_millis_max": "100"},
		BodyBytesMax: 100,
	})
	if got := through(script, "GET", "/loops", ""); !strings.HasPrefix(got, "503 ") {
		t.Errorf("%q", got)
	}
	if got := through(script, "POST", "/echo", `"`+strings.Repeat("x", 100)+`"`); !strings.HasPrefix(got, "413 ") {
		t.Errorf("%q", got)
	}
	if got := through(script, "GET", "/hello/a", ""); got != "200 text/plain; charset=utf-8 hello a" {
		t.Errorf("%q", got)
	}
}

func TestAContextStopsTheScript(t *testing.T) {
	script := load(t, ScriptsConfig{Isolates: 1})
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	recorder := httptest.NewRecorder()
	script.ServeHTTP(recorder, httptest.NewRequest("GET", "/waits", nil).WithContext(ctx))
	if recorder.Code != http.StatusGatewayTimeout {
		t.Errorf("%d", recorder.Code)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	recorder = httptest.NewRecorder()
	recorder.Code = 0
	script.ServeHTTP(recorder, httptest.NewRequest("GET", "/loops", nil).WithContext(ctx))
	if got := through(script, "GET", "/hello/a", ""); got != "200 text/plain; charset=utf-8 hello a" {
		t.Errorf("%q", got)
	}
	if elapsed := time.Since(began); elapsed > 4*time.Second {
		t.Errorf("%v", elapsed)
	}
}

func TestAChangedScriptIsLoadedAnew(t *testing.T) {
	folder := t.TempDir()
	source := func(word string) string {
		return "local app = require \"sampan\"\napp.get(\"/\", function() return \"" + word + "\" end)\n"
	}
	log := &lines{}
	file := write(t, folder, "app.lua", source("first"))
	script := load(t, ScriptsConfig{Path: file, ReloadEvery: time.Nanosecond, Logger: logTo(log)})
	answers := func(word string) func() bool {
		return func() bool { return through(script, "GET", "/", "") == "200 text/plain; charset=utf-8 "+word }
	}
	until(t, "first", answers("first"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if got := through(script, "GET", "/", ""); !strings.HasPrefix(got, "200 ") {
					t.Errorf("a request was dropped: %q", got)
				}
			}
		})
	}
	write(t, folder, "app.lua", source("second"))
	until(t, "second", answers("second"))
	all.Wait()
	write(t, folder, "app.lua", "this is no Lua")
	until(t, "the error is logged", func() bool { return answers("second")() && strings.Contains(log.String(), "app.lua:1") })
	write(t, folder, "app.lua", source("third"))
	until(t, "third", answers("third"))
	write(t, folder, "app.lua", source("fourth"))
	if err := script.Reload(); err != nil || !answers("fourth")() {
		t.Errorf("%v", err)
	}
}

func TestIsolatedRequestsSeeNothingOfOthers(t *testing.T) {
	shared := load(t, ScriptsConfig{Isolates: 1})
	through(shared, "GET", "/count", "")
	if got := through(shared, "GET", "/count", ""); got != "200 text/plain; charset=utf-8 2 2" {
		t.Errorf("shared: %q", got)
	}
	isolated := load(t, ScriptsConfig{Isolates: 1, IsolatedRequests: true})
	for range 3 {
		if got := through(isolated, "GET", "/count", ""); got != "200 text/plain; charset=utf-8 1 1" {
			t.Errorf("isolated: %q", got)
		}
	}
}

func TestClosedScriptsAnswerNobody(t *testing.T) {
	script := load(t, ScriptsConfig{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := through(script, "GET", "/waits", ""); !strings.HasPrefix(got, "503 ") {
				t.Errorf("%q", got)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := script.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := script.Call(context.Background(), "add", nil, 1, 2); !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
	if err := script.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeHandedOverFailsAlone(t *testing.T) {
	script := load(t, ScriptsConfig{})
	var wait sync.WaitGroup
	for worker := range 32 {
		wait.Go(func() {
			for range 50 {
				if worker%4 == 0 {
					request := httptest.NewRequest("GET", "/", nil)
					request.RequestURI, request.URL.Path = "/hello/\xff", "/hello/\xff"
					recorder := httptest.NewRecorder()
					script.ServeHTTP(recorder, request)
					if recorder.Code != 400 {
						t.Errorf("a target that is not UTF-8: %d", recorder.Code)
					}
					if err := script.Call(context.Background(), "\xff", nil); err == nil {
						t.Error("a function whose name is not UTF-8 was called")
					}
					continue
				}
				if got := through(script, "GET", "/hello/zoe", ""); got != "200 text/plain; charset=utf-8 hello zoe" {
					t.Error(got)
				}
			}
		})
	}
	wait.Wait()
}

func TestManyCallAtOnce(t *testing.T) {
	script := load(t, ScriptsConfig{})
	var all sync.WaitGroup
	for client := range 32 {
		all.Go(func() {
			for turn := range 100 {
				var result struct{ Sum int }
				if err := script.Call(context.Background(), "add", &result, client, turn); err != nil || result.Sum != client+turn {
					t.Errorf("%d + %d: %+v %v", client, turn, result, err)
				}
			}
		})
	}
	all.Wait()
}

func TestAReloadBesideCloseEndsWithAnError(t *testing.T) {
	source := "local app = require \"sampan\"\nfor i = 1, 20 do app.log.info(\"loading\") end\n"
	file := write(t, t.TempDir(), "app.lua", source)
	for turn := range 40 {
		script, err := Scripts(ScriptsConfig{Path: file, Isolates: 1, Logger: logTo(&lines{})})
		if err != nil {
			t.Fatal(err)
		}
		var reloads sync.WaitGroup
		for range 4 {
			reloads.Go(func() {
				for script.Reload() == nil {
				}
			})
		}
		time.Sleep(time.Duration(turn%8) * time.Millisecond)
		if err := script.Close(); err != nil {
			t.Error(err)
		}
		reloads.Wait()
		if err := script.Reload(); !errors.Is(err, ErrStopped) || err.Error() != "the scripts were closed" {
			t.Errorf("%v", err)
		}
	}
}

func TestClientsAreKnownByTheirAddress(t *testing.T) {
	for given, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "192.0.2.1": "192.0.2.1",
		"[2001:db8::1]:80": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "2001:db8::1": "2001:db8::1",
		"[fe80::1%eth0]:123": "fe80::1", "fe80::1%eth0": "fe80::1",
		"@": "", "": "", "@name": "", "/run/app.sock": "", "unknown": "unknown", "localhost:80": "localhost:80",
	} {
		if got := remote(&http.Request{RemoteAddr: given}); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
	script := load(t, ScriptsConfig{})
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "app.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: script}
	go server.Serve(listener)
	defer server.Close()
	dial := func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", listener.Addr().String())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	answer, err := client.Get("http://app/hello/a")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("over a Unix socket: %s", answer.Status)
	}
	request := httptest.NewRequest("GET", "/hello/a", nil)
	request.RemoteAddr = "[fe80::1%eth0]:123"
	recorder := httptest.NewRecorder()
	script.ServeHTTP(recorder, request)
	if recorder.Code != 200 {
		t.Errorf("from an address with a zone: %d", recorder.Code)
	}
}

func TestTheLargestBodyIsWhatTheConfigurationSays(t *testing.T) {
	source := `local app = require "sampan"
app.post("/", function(req) return tostring(#req.body) end)
app.post("/large", { body_bytes_max = "4 MiB" }, function(req) return tostring(#req.body) end)
`
	const mebibyte = 1 << 20
	settings := func(most string) map[string]string { return map[string]string{"limits.body_bytes_max": most} }
	for _, one := range []struct {
		path     string
		most     int64
		settings map[string]string
		bytes    int
		status   string
	}{
		{"/", 0, nil, mebibyte, "200"},
		{"/", 0, nil, mebibyte + 1, "413"},
		{"/large", 0, nil, 3 * mebibyte, "200"},
		{"/large", 0, nil, 5 * mebibyte, "413"},
		{"/", 3 * mebibyte, nil, 2 * mebibyte, "200"},
		{"/", 3 * mebibyte, nil, 4 * mebibyte, "413"},
		{"/large", 2 * mebibyte, nil, 3 * mebibyte, "413"},
		{"/", 0, settings("3 MiB"), 2 * mebibyte, "200"},
		{"/", 0, settings("3 MiB"), 4 * mebibyte, "413"},
		{"/", 3 * mebibyte, settings("2 MiB"), 2 * mebibyte, "200"},
		{"/", 3 * mebibyte, settings("2 MiB"), 2*mebibyte + 1, "413"},
		{"/", 0, nil, bodyReadMax + 1, "413"},
	} {
		script := load(t, ScriptsConfig{
			Source: source, Name: "app.lua", Isolates: 1, BodyBytesMax: one.most, Settings: one.settings,
		})
		got := through(script, "POST", one.path, strings.Repeat("x", one.bytes))
		if !strings.HasPrefix(got, one.status) || one.status == "200" && !strings.HasSuffix(got, fmt.Sprint(" ", one.bytes)) {
			t.Errorf("%+v: %q", one, got)
		}
		script.Close()
	}
}

func TestWhatIsRefusedIsNamed(t *testing.T) {
	log := &lines{}
	request := httptest.NewRequest("GET", "/hello/a", nil)
	request.RemoteAddr = "unknown"
	recorder := httptest.NewRecorder()
	load(t, ScriptsConfig{Logger: logTo(log)}).ServeHTTP(recorder, request)
	if recorder.Code != 400 {
		t.Errorf("from an address that is none: %d", recorder.Code)
	}
	log.expect(t, "address of the client")
	seen := &told{}
	script := load(t, ScriptsConfig{OnError: seen.answer})
	request = httptest.NewRequest("GET", "/hello/a", nil)
	request.Header.Set("X-A", "a\x01b")
	script.ServeHTTP(httptest.NewRecorder(), request)
	for _, err := range []error{seen.take(), script.Call(context.Background(), "add", nil, json.RawMessage("1e400"))} {
		for _, part := range []string{"target", "header field", "address of the client", "function", "arguments"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %v", part, err)
			}
		}
	}
}
