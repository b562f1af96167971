/* windows/include/sys/wait.h: declared in windows/posix.h. */
#include "windows/posix.h"
