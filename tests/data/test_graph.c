/* labels: null
 *
 * Molecules from SMILES strings: atoms, hydrogens and bonds as RDKit counts them, and where a string is refused; edges
 * as entries of a matrix. */
#include "data/graph/graph.h"
#include "data/graph/smiles.h"
#include "support/check_main.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mica_status parse(const char *text, mica__molecule *m) { return mica__smiles_parse("s", text, strlen(text), m); }

/* The last four columns as RDKit has them: heavy atoms, bonds, hydrogens and the total charge. */
START_TEST(molecules_are_counted_as_by_rdkit) {
  static const struct {
    const char *text;
    int32_t atoms, bonds, hydrogens, charge;
  } good[] = {{"C", 1, 0, 4, 0},
              {"CCO", 3, 2, 6, 0},
              {"c1ccccc1", 6, 6, 6, 0},
              {"C1CC%10CC1C%10", 6, 7, 10, 0},
              {"CN1C=NC2=C1C(=O)N(C(=O)N2C)C", 14, 15, 10, 0},
              {"CC(=O)Oc1ccccc1C(=O)O", 13, 13, 8, 0},
              {"c1cc[nH]c1", 5, 5, 5, 0},
              {"c1ccoc1", 5, 5, 4, 0},
              {"c1ccc2ccccc2c1", 10, 11, 8, 0},
              {"[NH4+].[Cl-]", 2, 0, 4, 0},
              {"C[N+](C)(C)CC(=O)[O-]", 8, 7, 11, 0},
              {"[O-2].[Fe++]", 2, 0, 0, 0},
              {"N[C@@H](C)C(=O)O", 6, 5, 7, 0},
              {"[13CH4]", 1, 0, 4, 0},
              {"F/C=C/Br", 4, 3, 2, 0},
              {"CS(=O)(=O)C", 5, 4, 6, 0},
              {"OP(=O)(O)O", 5, 4, 3, 0},
              {"[Na+]", 1, 0, 0, 1},
              {"C#N", 2, 1, 1, 0},
              {"ClC(Cl)(Cl)I", 5, 4, 0, 0},
              {"C[n+]1ccccc1", 7, 7, 8, 1},
              {"O=c1cc[nH]cc1", 7, 7, 5, 0},
              {"[se]1cccc1", 5, 5, 4, 0},
              {"[CH3:7]C", 2, 1, 6, 0}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    mica__molecule m;
    int32_t hydrogens = 0, charge = 0;
    ck_assert_msg(parse(good[i].text, &m) == MICA_OK, "%s", mica_error_message());
    for (int32_t k = 0; k < m.atom_count; k++) hydrogens += m.atoms[k].hydrogens, charge += m.atoms[k].charge;
    ck_assert_msg(m.atom_count == good[i].atoms && m.bond_count == good[i].bonds && hydrogens == good[i].hydrogens &&
                      charge == good[i].charge,
                  "%s: %d atoms, %d bonds, %d hydrogens, charge %d", good[i].text, m.atom_count, m.bond_count,
                  hydrogens, charge);
    mica__molecule_free(&m);
  }
}
END_TEST

START_TEST(limits_of_molecules_are_named) {
  static const struct {
    const char *repeated, *says;
    size_t count;
  } wrong[] = {{"C", "character 10001, 'C': at most 10000 atoms of a molecule can be read", 10001},
               {"C(", "character 2002, '(': at most 1000 branches inside one another can be read", 1001}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const size_t length = strlen(wrong[i].repeated);
    char *text = malloc(wrong[i].count * length + 1);
    mica__molecule m;
    ck_assert_ptr_nonnull(text);
    for (size_t k = 0; k < wrong[i].count; k++) memcpy(text + k * length, wrong[i].repeated, length);
    text[wrong[i].count * length] = '\0';
    ck_assert_int_eq(parse(text, &m), MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].says) != NULL, "%s", mica_error_message());
    free(text);
  }
}
END_TEST

START_TEST(wrong_strings_are_refused_by_position) {
  static const struct {
    const char *text, *says;
  } wrong[] = {{"", "empty"},
               {"CC(", "ends too early"},
               {"CC)", "character 3, ')': there is no open branch"},
               {"C()C", "character 3, ')': a branch needs an atom at"},
               {"C1CC", "ring 1 is not closed"},
               {"C11", "character 3, '1': a ring must have more than one atom"},
               {"C12CC12", "two bonds join the same atoms"},
               {"C=1CC#1", "character 7, '1': both ends"},
               {"=C", "character 1, '=': a bond needs an atom"},
               {"C==C", "character 3, '=': two bonds"},
               {"CC=", "an atom must follow"},
               {"CXC", "character 2, 'X': an atom"},
               {"C[Xx]", "character 3, 'X': a bracket needs"},
               {"[CH4", "a bracket must be closed"},
               {"[C@TH1]", "other classes are not supported"},
               {"[1000C]", "an isotope"},
               {"[C+16]", "a charge"},
               {"C%1", "two digits"},
               {"C..C", "character 3, '.'"},
               {"C1CC(1C)", "character 6, '1': a ring needs an atom"},
               {"C1CC(-1C)", "character 7, '1': a ring needs an atom"},
               {"C((C)C)", "character 3, '(': a branch needs an atom before"},
               {"C(.C)C", "character 3, '.': a dot needs an atom"},
               {"C(C.)C", "character 5, ')': a branch needs an atom at its end"},
               {"C C", "character 2, ' '"},
               {"C\tC", "character 2: an atom"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica__molecule m;
    ck_assert_msg(parse(wrong[i].text, &m) == MICA_E_FORMAT, "%s", wrong[i].text);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].says) != NULL, "%s: %s", wrong[i].text, mica_error_message());
    ck_assert_ptr_null(m.atoms);
  }
}
END_TEST

START_TEST(features_tell_atoms_apart) {
  float a[MICA__ATOM_FEATURES], b[MICA__ATOM_FEATURES];
  mica__molecule m;
  ck_assert_int_eq(parse("C[C@H](N)c1cc[nH]c1[O-]", &m), MICA_OK);
  for (int32_t i = 0; i < m.atom_count; i++)
    for (int32_t j = 0; j < i; j++) {
      mica__molecule_features(&m, i, a);
      mica__molecule_features(&m, j, b);
      const bool alike = m.atoms[i].element == m.atoms[j].element && m.atoms[i].degree == m.atoms[j].degree &&
                         m.atoms[i].hydrogens == m.atoms[j].hydrogens && m.atoms[i].aromatic == m.atoms[j].aromatic;
      ck_assert_msg(alike == !memcmp(a, b, sizeof a), "atoms %d and %d", i, j);
    }
  mica__molecule_free(&m);
}
END_TEST

/* 0 - 1, 1 - 2 twice, and a loop at 2. */
START_TEST(entries_are_listed_by_row_and_by_column) {
  static const int32_t edges[][2] = {{1, 0}, {1, 2}, {2, 1}, {2, 2}};
  static const int32_t entries[] = {0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 2, 1, 2, 2}, ranges[] = {0, 2, 2, 5, 5, 7};
  static const int32_t order[] = {0, 2, 1, 3, 5, 4, 6};
  mica__adjacency a;
  ck_assert_int_eq(mica__adjacency_make(3, edges, 4, true, MICA__EDGES_NORMALISED, &a), MICA_OK);
  ck_assert_int_eq(a.count, 7);
  ck_assert_mem_eq(a.entries, entries, sizeof entries);
  ck_assert_mem_eq(a.rows, ranges, sizeof ranges);
  ck_assert_mem_eq(a.columns, ranges, sizeof ranges);
  ck_assert_mem_eq(a.order, order, sizeof order);
  ck_assert(fabs((double)a.weights[1] - 1 / sqrt(6)) < 1e-7);
  mica__adjacency_free(&a);
  ck_assert_int_eq(mica__adjacency_make(3, edges, 1, false, MICA__EDGES_EQUAL, &a), MICA_OK);
  ck_assert_int_eq(a.count, 4); /* 0 hears 1, and each itself */
  ck_assert_int_eq(a.rows[1], 2);
  mica__adjacency_free(&a);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, molecules_are_counted_as_by_rdkit, wrong_strings_are_refused_by_position,
      limits_of_molecules_are_named, features_tell_atoms_apart, entries_are_listed_by_row_and_by_column)
