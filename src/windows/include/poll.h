/* windows/include/poll.h: declared in windows/posix.h. */
#include "windows/posix.h"
