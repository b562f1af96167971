#include <mica/version.h>

const char *mica_version(void) { return MICA_VERSION_STRING; }
