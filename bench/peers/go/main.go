// Go's net/http with the patterns of its own mux.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
)

type greeting struct {
	Greeting string `json:"greeting"`
}

var version = []byte(`{"version":"1.0"}`)

func send(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sendBytes(w, body)
}

func sendBytes(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func receive(w http.ResponseWriter, r *http.Request, value any) bool {
	if err := json.NewDecoder(r.Body).Decode(value); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func main() {
	http.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		send(w, map[string]string{"status": "ok", "runtime": "go", "version": "1.0"})
	})
	http.HandleFunc("GET /greet/{name}", func(w http.ResponseWriter, r *http.Request) {
		send(w, greeting{"Hello, " + r.PathValue("name")})
	})
	http.HandleFunc("POST /greet/{name}", func(w http.ResponseWriter, r *http.Request) {
		var body greeting
		if receive(w, r, &body) {
			send(w, greeting{body.Greeting + ", " + r.PathValue("name")})
		}
	})
	http.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		var body any
		if receive(w, r, &body) {
			send(w, body)
		}
	})
	http.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		sendBytes(w, version)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
