package sampan

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAStreamIsSentAsItIsWritten(t *testing.T) {
	channels := map[string]chan string{"/streamed": make(chan string), "/flushed": make(chan string)}
	mux := http.NewServeMux()
	mux.HandleFunc("/flushed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range channels[r.URL.Path] {
			fmt.Fprintln(w, line)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
	})
	_, at := serve(t, Config{}, func(s *Server) {
		s.Get("/streamed", func(w *Response, r *Request) error {
			w.SetHeader("Content-Type", "text/event-stream").Status(201)
			return w.Stream(func(out io.Writer) error {
				for line := range channels[r.Path()] {
					if _, err := fmt.Fprintln(out, line); err != nil {
						return err
					}
				}
				return nil
			})
		})
		s.Handle("", "/*rest", HTTP(mux))
	})
	for path, status := range map[string]int{"/streamed": 201, "/flushed": 200} {
		next := channels[path]
		go func() { next <- "first" }()
		answer, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != status || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %v %v", path, answer.Status, answer.Header)
		}
		lines := bufio.NewReader(answer.Body)
		for _, line := range []string{"first", "second", "third"} {
			if line != "first" {
				next <- line
			}
			if got, err := lines.ReadString('\n'); got != line+"\n" {
				t.Errorf("%s: %q %v", path, got, err)
			}
		}
		close(next)
		if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q %v", path, rest, err)
		}
		answer.Body.Close()
	}
}

func TestALargeStreamWaitsForItsClient(t *testing.T) {
	const pieces, size = 1600, 64 << 10
	var written atomic.Int64
	_, at := serve(t, Config{}, func(s *Server) {
		s.Get("/large", func(w *Response, r *Request) error {
			return w.Stream(func(out io.Writer) error {
				piece := make([]byte, size)
				for range pieces {
					if _, err := out.Write(piece); err != nil {
						return err
					}
					written.Add(1)
				}
				return nil
			})
		}).Waits()
		s.Get("/quick", func(w *Response, r *Request) error { return w.Text("quick") })
	})
	answer, err := http.Get(at + "/large")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	time.Sleep(300 * time.Millisecond)
	if ahead := written.Load(); ahead > 300 {
		t.Errorf("%d pieces for nobody", ahead)
	}
	if got := ask(t, "GET", at+"/quick", ""); !strings.HasSuffix(got, "quick") {
		t.Errorf("%q", got)
	}
	if read, err := io.Copy(io.Discard, answer.Body); read != pieces*size || err != nil {
		t.Errorf("%d %v", read, err)
	}
}

func TestAStreamWhoseClientLeavesEnds(t *testing.T) {
	log := &lines{}
	ended := make(chan error, 2)
	_, at := serve(t, Config{Logger: logTo(log)}, func(s *Server) {
		s.Get("/writes", func(w *Response, r *Request) error {
			err := w.Stream(func(out io.Writer) error {
				for {
					if _, err := out.Write([]byte("more")); err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
				}
			})
			ended <- err
			return err
		})
		s.Get("/waits", func(w *Response, r *Request) error {
			return w.Stream(func(out io.Writer) error {
				_, _ = out.Write([]byte("begun"))
				<-r.Context().Done()
				ended <- r.Context().Err()
				return nil
			})
		})
	})
	for _, path := range []string{"/writes", "/waits"} {
		ctx, cancel := context.WithCancel(context.Background())
		request, _ := http.NewRequestWithContext(ctx, "GET", at+path, nil)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(answer.Body, make([]byte, 4)); err != nil {
			t.Error(err)
		}
		cancel()
		answer.Body.Close()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s goes on", path)
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}

func TestAStreamThatFailsIsCutAndLogged(t *testing.T) {
	log := &lines{}
	_, at := serve(t, Config{Logger: logTo(log)}, func(s *Server) {
		begin := func(w *Response, then func() error) error {
			return w.Stream(func(out io.Writer) error {
				if _, err := out.Write([]byte("begun")); err != nil {
					return err
				}
				return then()
			})
		}
		s.Get("/fails", func(w *Response, r *Request) error {
			return begin(w, func() error { return errors.New("the disk is gone") })
		})
		s.Get("/panics", func(w *Response, r *Request) error {
			return begin(w, func() error { panic("on purpose") })
		})
		s.Get("/twice", func(w *Response, r *Request) error {
			return begin(w, func() error { return w.Stream(nil) })
		})
		s.Get("/bad", func(w *Response, r *Request) error {
			return begin(w.SetHeader("A B", "c"), func() error { return nil })
		})
		s.Get("/head", func(w *Response, r *Request) error {
			return begin(w.SetHeader("X-Size", "5"), func() error { return nil })
		})
	})
	for path, says := range map[string]string{"/fails": "the disk is gone", "/panics": "on purpose", "/twice": "streamed already"} {
		answer, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 200 || string(text) != "begun" || err == nil {
			t.Errorf("%s: %d %q %v", path, answer.StatusCode, text, err)
		}
		log.expect(t, says)
	}
	if got := ask(t, "GET", at+"/bad", ""); !strings.HasPrefix(got, "500 ") {
		t.Errorf("%q", got)
	}
	answer, err := http.Head(at + "/head")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 || answer.Header.Get("X-Size") != "5" {
		t.Errorf("%v %v", answer.Status, answer.Header)
	}
	if got := ask(t, "GET", at+"/head", ""); !strings.HasSuffix(got, " begun") {
		t.Errorf("%q", got)
	}
}

func TestAWriteBehindAStreamIsAnError(t *testing.T) {
	log := &lines{}
	writes := map[string]func(w *Response) error{
		"text":     func(w *Response) error { return w.Text("lost") },
		"html":     func(w *Response) error { return w.HTML("lost") },
		"bytes":    func(w *Response) error { return w.Bytes("image/png", []byte("lost")) },
		"json":     func(w *Response) error { return w.JSON("lost") },
		"redirect": func(w *Response) error { return w.Redirect("/lost") },
		"write":    func(w *Response) error { _, err := w.Write([]byte("lost")); return err },
		"string":   func(w *Response) error { _, err := w.WriteString("lost"); return err },
	}
	within := func(w *Response, _ *Request) error {
		return w.Stream(func(io.Writer) error { return w.Text("lost") })
	}
	_, at := serve(t, Config{Logger: logTo(log)}, func(s *Server) {
		s.Get("/within", within)
		s.Get("/behind/:how", func(w *Response, r *Request) error {
			err := w.Stream(func(out io.Writer) error {
				_, err := io.WriteString(out, "begun")
				return err
			})
			if err != nil {
				return err
			}
			err = writes[r.Param("how")](w)
			if !errors.Is(err, ErrState) {
				t.Errorf("%s: %v", r.Param("how"), err)
			}
			return err
		})
	})
	for how := range writes {
		if got := ask(t, "GET", at+"/behind/"+how, ""); !strings.HasPrefix(got, "200 ") || !strings.HasSuffix(got, " begun") {
			t.Errorf("%s: %q", how, got)
		}
	}
	log.expect(t, "streamed already")
	answer, err := http.Get(at + "/within")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q is taken for whole", text)
	}
}

func TestTheTypeOfABodyIsFoundAsByNetHTTP(t *testing.T) {
	mux := http.NewServeMux()
	page := func(set func(http.Header)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			set(w.Header())
			_, _ = io.WriteString(w, "<html>")
		}
	}
	mux.HandleFunc("/sniffed", page(func(http.Header) {}))
	mux.HandleFunc("/encoded", page(func(header http.Header) { header.Set("Content-Encoding", "br") }))
	mux.HandleFunc("/empty", page(func(header http.Header) { header.Set("Content-Encoding", "") }))
	mux.HandleFunc("/none", page(func(header http.Header) { header["Content-Type"] = nil }))
	mux.HandleFunc("/flushed", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
		w.(http.Flusher).Flush()
	})
	_, at := serve(t, Config{}, func(s *Server) { s.Handle("", "/*rest", HTTP(mux)) })
	model := httptest.NewServer(mux)
	defer model.Close()
	for _, path := range []string{"/sniffed", "/encoded", "/empty", "/none", "/flushed", "/sniffed"} {
		var types [2][]string
		for i, base := range []string{model.URL, at} {
			answer, err := http.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			types[i] = answer.Header["Content-Type"]
		}
		if !slices.Equal(types[0], types[1]) {
			t.Errorf("%s: %q, net/http: %q", path, types[1], types[0])
		}
	}
}
