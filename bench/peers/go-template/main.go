// Go's net/http with html/template. Templates are parsed and escaped once.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
)

//go:embed templates
var files embed.FS

type item struct {
	ID     int
	Name   string
	Active bool
}

type page struct {
	Title, Heading, User string
	Count                int
	Items                []item
}

func parse(names ...string) *template.Template {
	for at, name := range names {
		names[at] = "templates/" + name
	}
	functions := template.FuncMap{"upper": strings.ToUpper}
	return template.Must(template.New("").Funcs(functions).ParseFS(files, names...))
}

func serve(pattern string, set *template.Template, name string, data func() page) {
	found := set.Lookup(name)
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := found.Execute(&body, data()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Length", strconv.Itoa(body.Len()))
		w.Write(body.Bytes())
	})
}

func main() {
	var items []item
	for id := 1; id <= 50; id++ {
		name := "Item"
		if id%10 == 0 {
			name = "Nuts & bolts"
		}
		items = append(items, item{id, fmt.Sprintf("%s %d", name, id), id%3 != 0})
	}
	serve("GET /simple", parse("simple.html"), "simple.html", func() page {
		return page{Title: "Simple", Heading: "Hello, <world>"}
	})
	serve("GET /loop", parse("loop.html"), "loop.html", func() page {
		return page{Title: "Loop", Items: items}
	})
	serve("GET /full", parse("base.html", "nav.html", "full.html"), "base.html", func() page {
		return page{Title: "Stock", User: "ada", Count: len(items), Items: items}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
