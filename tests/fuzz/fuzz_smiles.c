/* SMILES strings. Bonds of what is read join two different atoms that there are, and each atom counts its own. */
#include "data/graph/smiles.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size ? size : 1); /* ends where the input does, so that a sanitizer sees what lies beyond */
  mica__molecule m;
  float features[MICA__ATOM_FEATURES];
  if (!text) abort();
  if (size) memcpy(text, data, size);
  if (mica__smiles_parse("fuzz", text, size, &m) == MICA_OK) {
    int64_t degrees = 0;
    if (m.atom_count < 1 || m.atom_count > MICA__MOST_ATOMS || m.bond_count < 0) abort();
    for (int32_t k = 0; k < m.bond_count; k++)
      if (m.bonds[k].from == m.bonds[k].to || (uint32_t)m.bonds[k].from >= (uint32_t)m.atom_count ||
          (uint32_t)m.bonds[k].to >= (uint32_t)m.atom_count || m.bonds[k].order < 1 ||
          m.bonds[k].order > MICA__BOND_AROMATIC)
        abort();
    for (int32_t i = 0; i < m.atom_count; i++) degrees += m.atoms[i].degree;
    if (degrees != 2 * (int64_t)m.bond_count) abort();
    mica__molecule_features(&m, m.atom_count - 1, features);
    mica__molecule_free(&m);
  } else if (m.atoms || m.bonds) {
    abort();
  }
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"CC(=O)Oc1ccccc1C(=O)O", "N[C@@H](C)C(=O)[O-].[NH4+]", "C1CC%10CC1C%10",
                                      "[13CH3:2]/C=C\\c1c[nH]c2c1cc(Br)cc2", "CS(=O)(=O)C#N"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return !seed->failed;
}
