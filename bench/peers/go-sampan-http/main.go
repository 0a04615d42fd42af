// Our scripts behind Go's net/http: one that is kept, and one that is looked at for each request, and then sees nothing of what another
// left.
package main

import (
	"log"
	"net/http"
	"os"
	"time"

	sampan "github.com/sampan-server/sampan/faces/go"
)

func serve(pattern string, config sampan.ScriptsConfig) {
	config.Path = os.Getenv("SOURCES") + "/../go-sampan/app.lua"
	config.Isolates = 1
	script, err := sampan.Scripts(config)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle(pattern, script)
}

func main() {
	serve("GET /cached", sampan.ScriptsConfig{})
	serve("GET /file", sampan.ScriptsConfig{IsolatedRequests: true, ReloadEvery: time.Nanosecond})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
