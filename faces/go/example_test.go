package sampan_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	sampan "github.com/sampan-server/sampan/faces/go"
)

func get(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, text)
}

// A server with handlers in Go.
func Example() {
	server, err := sampan.New(sampan.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	server.Get("/greet/:name", func(w *sampan.Response, r *sampan.Request) error {
		return w.JSON(map[string]string{"greeting": "Hello, " + r.Param("name")})
	})
	server.Get("/ships/:id", func(w *sampan.Response, r *sampan.Request) error {
		return sampan.Fail(http.StatusNotFound, "no such ship")
	})
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	fmt.Println(get("http://" + server.Addr() + "/greet/Ada"))
	fmt.Println(get("http://" + server.Addr() + "/ships/7"))
	// Output:
	// 200 {"greeting":"Hello, Ada"}
	// 404 {"error":"no such ship"}
}

// A handler that is known to wait gets a goroutine for each request.
func ExampleRoute_Waits() {
	server, err := sampan.New(sampan.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	jobs := make(chan string, 1)
	server.Post("/jobs", func(w *sampan.Response, r *sampan.Request) error {
		jobs <- string(r.Body())
		return nil
	})
	server.Get("/jobs", func(w *sampan.Response, r *sampan.Request) error {
		select {
		case job := <-jobs:
			return w.Text(job)
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}).Waits()
}

// Handlers of net/http on Sampan's engine.
func ExampleHTTP() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.PathValue("name"))
	})
	server, err := sampan.New(sampan.Config{Addr: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	server.Handle("", "/*rest", sampan.HTTP(mux))
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	fmt.Println(get("http://" + server.Addr() + "/hello/Ada"))
	// Output: 200 hello Ada
}

// A script behind net/http.
func ExampleScripts() {
	script, err := sampan.Scripts(sampan.ScriptsConfig{Name: "hello.lua", Source: `
		local app = require "sampan"
		app.get("/hello/:name", function(req) return "hello " .. req.params.name end)`,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer script.Close()
	mux := http.NewServeMux()
	mux.Handle("/lua/", http.StripPrefix("/lua", script))
	server := httptest.NewServer(mux)
	defer server.Close()
	fmt.Println(get(server.URL + "/lua/hello/Ada"))
	// Output: 200 hello Ada
}

// A function of a script.
func ExampleScriptHandler_Call() {
	script, err := sampan.Scripts(sampan.ScriptsConfig{Name: "price.lua", Source: `
		function price(order)
			local sum = 0
			for _, item in ipairs(order.items) do sum = sum + item.price * item.count end
			return { total = sum }
		end`,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer script.Close()
	order := map[string]any{"items": []map[string]int{{"price": 5, "count": 2}, {"price": 3, "count": 1}}}
	var result struct{ Total int }
	if err := script.Call(context.Background(), "price", &result, order); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Total)
	// Output: 13
}
