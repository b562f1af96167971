#include "cli/search.h"

#include "cli/number.h"

int cli_take_search(const cli_command *self, const cli_search *typed, mica_text_search *search) {
  int64_t beam = 0, order = 0;
  *search = (mica_text_search){.text_model = typed->text_model};
  int status = cli_integer(self, "beam", typed->beam, 1, 4096, &beam);
  if (status == CLI_OK) status = cli_integer(self, "text-order", typed->order, 1, 12, &order);
  if (status == CLI_OK) status = cli_number(self, "text-weight", typed->weight, 1e-6, 100, &search->text_weight);
  if (status == CLI_OK) status = cli_number(self, "text-bonus", typed->bonus, -100, 100, &search->text_bonus);
  if (status == CLI_OK && !typed->text_model && (typed->order || typed->weight || typed->bonus)) {
    cli_fail(self, "--text-order, --text-weight and --text-bonus need --text-model");
    return CLI_USAGE;
  }
  search->beam = (int32_t)beam;
  search->text_order = (int32_t)order;
  return status;
}
