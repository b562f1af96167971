#include "compile/without.h"

static unsigned left_out;

void mica__compile_without(unsigned parts) { left_out = parts; }

bool mica__is_without(mica__without part) { return (left_out & (unsigned)part) != 0; }
