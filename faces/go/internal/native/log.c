// The library's lines go to Go through a function with the type that the library asks for.
#include "sampan.h"
#include "_cgo_export.h"

void sampan_go_log(void *user, int32_t level, const char *line, size_t len) {
  sampanLogLine((uintptr_t)user, level, (char *)line, len);
}
