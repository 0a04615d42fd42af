// Go's net/http with routes of different length.
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"
)

func send(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(body))
}

func compute(w http.ResponseWriter, r *http.Request) {
	steps, err := strconv.Atoi(r.PathValue("steps"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	x := 1
	for range steps {
		x = (x * 16807) % 2147483647
	}
	send(w, `{"x":`+strconv.Itoa(x)+`}`)
}

func main() {
	http.HandleFunc("GET /quick", func(w http.ResponseWriter, r *http.Request) { send(w, `{"status":"ok"}`) })
	http.HandleFunc("GET /burn/{steps}", compute)
	http.HandleFunc("GET /work/{steps}", compute)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
