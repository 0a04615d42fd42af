// Go's net/http with one handler.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("GET /native", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("hello, native!\n"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
