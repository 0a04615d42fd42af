// Go's net/http and LuaJIT by cgo, as go-lua-benchmark puts them together: a new state for each request, with all
// libraries, which loads the script from its file or from memory, calls its function and is closed.
package main

/*
#cgo LDFLAGS: -l:libluajit-5.1.a -lm -ldl
#include <stdlib.h>
#include <string.h>
#include <lua.h>
#include <lualib.h>
#include <lauxlib.h>

// What the script gives for the text, to be freed; NULL where it fails. Without `source` the file is read.
static char *call_script(const char *source, const char *file) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return NULL;
  luaL_openlibs(L);
  char *answer = NULL;
  if ((source ? luaL_loadstring(L, source) : luaL_loadfile(L, file)) == 0 && lua_pcall(L, 0, 0, 0) == 0) {
    lua_getglobal(L, "dispatch");
    lua_pushliteral(L, "hello from lua\n");
    if (lua_pcall(L, 1, 1, 0) == 0) {
      const char *text = lua_tostring(L, -1);
      if (text) answer = strdup(text);
    }
  }
  lua_close(L);
  return answer;
}
*/
import "C"

import (
	"log"
	"net/http"
	"os"
	"unsafe"
)

var (
	file   = C.CString(os.Getenv("SCRIPT"))
	source *C.char
)

func serve(pattern string, call func() *C.char) {
	http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		answer := call()
		if answer == nil {
			http.Error(w, "the script failed", http.StatusInternalServerError)
			return
		}
		text := C.GoString(answer)
		C.free(unsafe.Pointer(answer))
		w.Write([]byte(text))
	})
}

func main() {
	text, err := os.ReadFile(os.Getenv("SCRIPT"))
	if err != nil {
		log.Fatal(err)
	}
	source = C.CString(string(text))
	serve("GET /file", func() *C.char { return C.call_script(nil, file) })
	serve("GET /cached", func() *C.char { return C.call_script(source, nil) })
	http.HandleFunc("GET /native", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("hello, native!\n"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
