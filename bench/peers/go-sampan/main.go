// Our engine in a program in Go, with a script and with a handler in Go. As the peer "go-sampan-file" no request sees what another left,
// and the script is looked at for each request.
package main

import (
	"context"
	"log"
	"os"

	sampan "github.com/sampan-server/sampan/faces/go"
)

func main() {
	config := sampan.Config{
		Addr:    "127.0.0.1:" + os.Getenv("PORT"),
		Project: os.Getenv("SOURCES") + "/app.lua",
		Workers: 1,
	}
	if os.Getenv("PEER") == "go-sampan-file" {
		config.Settings = map[string]string{"scripts.isolation": "request", "scripts.mode": "file"}
	}
	server, err := sampan.New(config)
	if err != nil {
		log.Fatal(err)
	}
	server.Get("/native", func(w *sampan.Response, r *sampan.Request) error {
		return w.Text("hello, native!\n")
	})
	log.Fatal(server.Run(context.Background()))
}
