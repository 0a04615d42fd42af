// The Go peer of the differential fuzz target: reports each request that net/http hands to its handler.
// Run by `sampan-fuzz differential`; prints its address and serves until it is killed.
package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

func report(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		// The body is not whole or not well-formed: the request does not count as seen.
		panic(http.ErrAbortHandler)
	}
	seen := hex.EncodeToString([]byte(r.Method)) + "." + hex.EncodeToString([]byte(r.RequestURI)) + "." + hex.EncodeToString(body)
	w.Header().Set("X-Seen", seen)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	server := &http.Server{
		Handler:                      http.HandlerFunc(report),
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
	log.Fatal(server.Serve(listener))
}
