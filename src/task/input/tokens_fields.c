/* Settings and stored values (run/facts.h) of texts as tokens. */
#include "run/fields.h"
#include "task/input/tokens.h"

MICA__FIELDS(tokens, TOKENS_SETTINGS, TOKENS_FACTS);
