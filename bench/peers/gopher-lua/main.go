// Go's net/http and gopher-lua, a Lua written in Go: a new state for each request, with all libraries, which loads the script from
// its file or from memory, calls its function and is closed.
package main

import (
	"log"
	"net/http"
	"os"

	lua "github.com/yuin/gopher-lua"
)

func call(load func(*lua.LState) error) (string, error) {
	state := lua.NewState()
	defer state.Close()
	if err := load(state); err != nil {
		return "", err
	}
	function := lua.P{Fn: state.GetGlobal("dispatch"), NRet: 1, Protect: true}
	if err := state.CallByParam(function, lua.LString("hello from lua\n")); err != nil {
		return "", err
	}
	return lua.LVAsString(state.Get(-1)), nil
}

func serve(pattern string, load func(*lua.LState) error) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		answer, err := call(load)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Write([]byte(answer))
	})
}

func main() {
	file := os.Getenv("SCRIPT")
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	source := string(text)
	serve("GET /file", func(state *lua.LState) error { return state.DoFile(file) })
	serve("GET /cached", func(state *lua.LState) error { return state.DoString(source) })
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
