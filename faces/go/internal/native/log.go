package native

// #include <stdint.h>
// #include <stddef.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// LogFunc takes a line of the library's log, without its end; the bytes are valid during the call. Level 0 is debug, 3 is an error.
type LogFunc func(level int, line []byte)

//export sampanLogLine
func sampanLogLine(user C.uintptr_t, level C.int32_t, line *C.char, length C.size_t) {
	log, ok := cgo.Handle(user).Value().(LogFunc)
	if ok {
		log(int(level), unsafe.Slice((*byte)(unsafe.Pointer(line)), int(length)))
	}
}
