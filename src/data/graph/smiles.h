/* data/graph/smiles.h: molecules as SMILES strings (Weininger 1988; OpenSMILES 1.0). */
#ifndef MICA_DATA_GRAPH_SMILES_H
#define MICA_DATA_GRAPH_SMILES_H

#include "base/error.h"
#include "base/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA__MOST_ATOMS 10000

typedef struct mica__atom {
  uint8_t element; /* atomic number; 0: the wildcard * */
  uint8_t hydrogens, degree;
  bool aromatic, bracket;
  int8_t charge, chirality; /* chirality: 1 for @, 2 for @@, 0: none */
  uint16_t isotope;         /* 0: not stated */
} mica__atom;

/* The order of an aromatic bond; other bonds have 1 to 4. */
#define MICA__BOND_AROMATIC 5
typedef struct mica__bond {
  int32_t from, to;
  uint8_t order;
} mica__bond;

typedef struct mica__molecule {
  mica__atom *atoms;
  mica__bond *bonds;
  int32_t atom_count, bond_count;
} mica__molecule;

/* Reads a molecule of at least one atom. MICA_E_FORMAT says what is wrong and at which character, counted from 1,
 * unless the text ends too early; `name` begins the message. */
mica_status mica__smiles_parse(const char *name, const char *text, size_t bytes, mica__molecule *molecule);
void mica__molecule_free(mica__molecule *molecule);

/* Features of an atom; all are 0 or 1, except the charge. */
#define MICA__ATOM_FEATURES 35
void mica__molecule_features(const mica__molecule *molecule, int32_t atom, float *features);

#endif
