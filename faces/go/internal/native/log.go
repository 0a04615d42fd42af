package native

// #include <stdint.h>
// #include <stddef.h>
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// LogFunc takes a line of the library's log, without its end; the bytes are valid during the call. Level 0 is debug, 3 is an error.
type LogFunc func(level int, line []byte)

// The log functions by their numbers. A [runtime/cgo.Handle] is not used: a line that comes after its end panics.
var (
	logs     sync.Map
	logCount atomic.Uintptr
)

// AddLog keeps a log function, and returns its number for [Options]. The number is to be given to [RemoveLog].
func AddLog(log LogFunc) uintptr {
	number := logCount.Add(1)
	logs.Store(number, log)
	return number
}

// RemoveLog forgets a log function. Lines that come later are dropped.
func RemoveLog(number uintptr) { logs.Delete(number) }

//export sampanLogLine
func sampanLogLine(user C.uintptr_t, level C.int32_t, line *C.char, length C.size_t) {
	if log, ok := logs.Load(uintptr(user)); ok {
		log.(LogFunc)(int(level), unsafe.Slice((*byte)(unsafe.Pointer(line)), int(length)))
	}
}
