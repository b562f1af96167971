/* Prepares the standard streams before main: binary mode, and UTF-8 and colours on a console. */
#include "windows/handles.h"

__attribute__((constructor)) static void begin(void) {
  const DWORD streams[] = {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  for (int file = 0; file < 3; file++) (void)_setmode(file, O_BINARY);
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    DWORD mode = 0;
    const HANDLE stream = GetStdHandle(streams[i]);
    if (!GetConsoleMode(stream, &mode)) continue; /* a file or a pipe */
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleMode(stream, mode | 4 /* ENABLE_VIRTUAL_TERMINAL_PROCESSING */);
  }
}
