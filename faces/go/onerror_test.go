package sampan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const luaFailing = `local app = require "sampan"
app.get("/raises", function()
  local nothing
  return nothing.field
end)
app.get("/raises-later", function()
  app.time.sleep(0.001)
  error("on purpose")
end)
app.get("/loops", function()
  while true do end
end)
app.get("/waits", function() app.time.sleep(5) return "woken" end)
app.get("/cut", function()
  return app.stream(function(write)
    write("begun")
    error("on purpose")
  end)
end)
app.get("/loads", function() return require("broken") end)
app.get("/teapot", function() error({ status = 418, message = "short and stout" }) end)
app.get("/fine", function() return "fine" end)
`

const jsFailing = `import { app, stream, time } from "sampan";
app.get("/raises", () => {
  let nothing;
  return nothing.field;
});
app.get("/raises-later", async () => {
  await time.sleep(0.001);
  throw new Error("on purpose");
});
app.get("/loops",
  () => { for (;;); }
);
app.get("/waits", async () => { await time.sleep(5); return "woken"; });
app.get("/cut", () =>
  stream(async (write) => {
    await write("begun");
    throw new Error("on purpose");
  })
);
app.get("/loads", async () => (await import("./broken.js")).default);
app.get("/teapot", () => { throw Object.assign(new Error("short and stout"), { status: 418 }); });
app.get("/fine", () => "fine");
`

// The errors of a script, as OnError is told.
type told struct{ errs []error }

func (t *told) answer(w http.ResponseWriter, _ *http.Request, err error) {
	t.errs = append(t.errs, err)
	w.WriteHeader(http.StatusTeapot)
	fmt.Fprint(w, "own page")
}

// The error that was told since the last call, of which there is at most one.
func (t *told) take() error {
	var err error
	if len(t.errs) > 0 {
		err = t.errs[0]
	}
	if len(t.errs) > 1 {
		err = fmt.Errorf("told twice: %v", t.errs)
	}
	t.errs = nil
	return err
}

func failing(t *testing.T, name, source string, config ScriptsConfig) *ScriptHandler {
	t.Helper()
	folder := t.TempDir()
	config.Path = write(t, folder, name, source)
	write(t, folder, "broken"+filepath.Ext(name), "\n\n= = 1")
	config.Isolates = 1
	return load(t, config)
}

func TestOnErrorIsToldWhatFailedAndWhere(t *testing.T) {
	for name, source := range map[string]string{"app.lua": luaFailing, "app.js": jsFailing} {
		seen := &told{}
		log := &lines{}
		script := failing(t, name, source, ScriptsConfig{
			OnError:  seen.answer,
			Logger:   logTo(log),
			Settings: map[string]string{"limits.script_millis_max": "100", "limits.handler_millis_max": "200"},
		})
		broken := "broken" + filepath.Ext(name)
		for _, one := range []struct {
			path, file string
			line       int
			kind       error
			status     int
			says       string
		}{
			{"/raises", name, 4, ErrScript, 500, ""},
			{"/raises-later", name, 8, ErrScript, 500, "on purpose"},
			{"/loops", name, 11, ErrLimit, 503, "script_millis_max (100 ms)"},
			{"/waits", name, 13, ErrLimit, 504, "handler_millis_max"},
			{"/loads", broken, 3, ErrScript, 500, "="},
			{"/cut", name, 17, nil, 0, "on purpose"},
		} {
			got := through(script, "GET", one.path, "")
			if !strings.HasPrefix(got, "418 ") || !strings.HasSuffix(got, "own page") {
				t.Errorf("%s %s: %q", name, one.path, got)
			}
			err := seen.take()
			var failed *Error
			if !errors.As(err, &failed) {
				t.Errorf("%s %s: %v", name, one.path, err)
				continue
			}
			if failed.File != one.file || failed.Line != one.line || failed.Status != one.status {
				t.Errorf("%s %s: %+v", name, one.path, failed)
			}
			if one.kind != nil && !errors.Is(err, one.kind) || !strings.Contains(failed.Message, one.says) {
				t.Errorf("%s %s: %v: %v", name, one.path, failed.Kind, err)
			}
			if place := fmt.Sprintf("%s:%d: ", one.file, one.line); !strings.HasPrefix(err.Error(), place) {
				t.Errorf("%s %s: %v", name, one.path, err)
			}
		}
		// A client's fault and what goes well come without an error, with the script's own answer.
		for path, answer := range map[string]string{"/teapot": "short and stout", "/nowhere": "404", "/fine": "fine"} {
			if got := through(script, "GET", path, ""); !strings.Contains(got, answer) {
				t.Errorf("%s %s: %q", name, path, got)
			}
			if err := seen.take(); err != nil {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
		log.expect(t, name+":4")
	}
}

func TestWithoutOnErrorTheAnswerIsTheScripts(t *testing.T) {
	script := failing(t, "app.lua", luaFailing, ScriptsConfig{})
	if got := through(script, "GET", "/raises", ""); got != `500 application/json {"error":"internal error"}` {
		t.Errorf("%q", got)
	}
}

func TestOnErrorIsToldWhatBecameOfTheContext(t *testing.T) {
	for name, source := range map[string]string{"app.lua": luaFailing, "app.js": jsFailing} {
		seen := &told{}
		log := &lines{}
		script := failing(t, name, source, ScriptsConfig{OnError: seen.answer, Logger: logTo(log)})
		for _, path := range []string{"/loops", "/waits"} {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			script.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil).WithContext(ctx))
			cancel()
			if err := seen.take(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s %s: %v", name, path, err)
			}
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(50*time.Millisecond, cancel)
			script.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil).WithContext(ctx))
			if err := seen.take(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s %s: %v", name, path, err)
			}
		}
		if got := through(script, "GET", "/fine", ""); !strings.HasSuffix(got, "fine") {
			t.Errorf("%s: %q", name, got)
		}
		log.expect(t, "given up by its caller")
		log.expect(t, name+":11")
		if strings.Contains(log.String(), "script_millis_max") || strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}
