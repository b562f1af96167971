/* SMILES strings as atoms and bonds. */
#include "data/graph/smiles.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BRANCHES 1000
#define RINGS 100

static const char *const symbols[] = {
    "*",  "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",
    "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As",
    "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn",
    "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho",
    "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po",
    "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md",
    "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

enum { B = 5, C, N, O, F, SI = 14, P, S, CL, AS = 33, SE, BR, TE = 52, I };

/* An open ring bond. */
typedef struct ring {
  int32_t atom;  /* where the ring was opened; -1: it is not open */
  uint8_t order; /* 0: not stated */
} ring;

typedef struct parser {
  const char *name, *text;
  size_t size, at;
  mica__molecule *out;
  int32_t atom_room, bond_room;
  int32_t last;  /* the atom to which the next one is bound; -1: none */
  uint8_t order; /* the order written for that bond; 0: none was written */
  int32_t branches[MOST_BRANCHES];
  int32_t depth;
  bool fresh; /* a branch is open and has no atom yet */
  ring rings[RINGS];
} parser;

static mica_status refuse(const parser *p, size_t at, const char *what) {
  if (at >= p->size) return mica__fail(MICA_E_FORMAT, "%s: SMILES ends too early: %s", p->name, what);
  const unsigned char c = (unsigned char)p->text[at];
  if (!isprint(c)) return mica__fail(MICA_E_FORMAT, "%s: SMILES character %zu: %s", p->name, at + 1, what);
  return mica__fail(MICA_E_FORMAT, "%s: SMILES character %zu, '%c': %s", p->name, at + 1, c, what);
}

static mica_status refuse_more(const parser *p, size_t at, int most, const char *what) {
  char text[80];
  snprintf(text, sizeof text, "at most %d %s can be read", most, what);
  return refuse(p, at, text);
}

static char peek(const parser *p) { return p->at < p->size ? p->text[p->at] : '\0'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* --- atoms and bonds --- */

#define MOST_BONDS (4 * MICA__MOST_ATOMS)

static mica_status add_bond(parser *p, int32_t from, int32_t to, uint8_t order, size_t at) {
  mica__molecule *m = p->out;
  mica__atom *a = &m->atoms[from], *b = &m->atoms[to];
  /* Looks for an equal bond only if both atoms have bonds; a new atom has none yet. */
  for (int32_t k = a->degree && b->degree ? m->bond_count - 1 : -1; k >= 0; k--)
    if ((m->bonds[k].from == from && m->bonds[k].to == to) || (m->bonds[k].from == to && m->bonds[k].to == from))
      return refuse(p, at, "two bonds join the same atoms");
  if (m->bond_count == p->bond_room) {
    p->bond_room = 2 * p->bond_room + 16;
    mica__bond *bonds = realloc(m->bonds, (size_t)p->bond_room * sizeof *bonds);
    if (!bonds) return mica__fail_nomem("a molecule");
    m->bonds = bonds;
  }
  if (m->bond_count >= MOST_BONDS) return refuse_more(p, at, MOST_BONDS, "bonds of a molecule");
  if (a->degree == UINT8_MAX || b->degree == UINT8_MAX) return refuse_more(p, at, UINT8_MAX, "bonds of an atom");
  a->degree++, b->degree++;
  if (!order) order = a->aromatic && b->aromatic ? MICA__BOND_AROMATIC : 1;
  m->bonds[m->bond_count++] = (mica__bond){from, to, order};
  return MICA_OK;
}

static mica_status add_atom(parser *p, mica__atom atom, size_t at) {
  mica__molecule *m = p->out;
  if (m->atom_count == MICA__MOST_ATOMS) return refuse_more(p, at, MICA__MOST_ATOMS, "atoms of a molecule");
  if (m->atom_count == p->atom_room) {
    p->atom_room = 2 * p->atom_room + 16;
    mica__atom *atoms = realloc(m->atoms, (size_t)p->atom_room * sizeof *atoms);
    if (!atoms) return mica__fail_nomem("a molecule");
    m->atoms = atoms;
  }
  const int32_t number = m->atom_count++;
  m->atoms[number] = atom;
  if (p->last >= 0) MICA_TRY(add_bond(p, p->last, number, p->order, at));
  p->last = number;
  p->fresh = false;
  p->order = 0;
  return MICA_OK;
}

/* The element at the beginning of the text, two letters tried before one; -1: none. */
static int element_of(const char *text, size_t size, size_t *length) {
  for (*length = 2; *length >= 1; --*length)
    for (size_t e = 0; *length <= size && e < sizeof symbols / sizeof *symbols; e++)
      if (strlen(symbols[e]) == *length && !strncmp(text, symbols[e], *length)) return (int)e;
  return -1;
}

static int aromatic_of(const char *text, size_t size, bool bracket, size_t *length) {
  static const struct {
    const char *text;
    uint8_t element;
    bool bracket;
  } list[] = {{"se", SE, true}, {"as", AS, true}, {"te", TE, true}, {"si", SI, true}, {"b", B, false},
              {"c", C, false},  {"n", N, false},  {"o", O, false},  {"p", P, false},  {"s", S, false}};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    *length = strlen(list[k].text);
    if (*length <= size && !strncmp(text, list[k].text, *length) && (bracket || !list[k].bracket))
      return list[k].element;
  }
  return -1;
}

/* Reads digits as a number, 0 if there are none; refuses a number above `most`. */
static mica_status read_number(parser *p, long most, const char *what, long *number) {
  const size_t at = p->at;
  for (*number = 0; is_digit(peek(p)); p->at++) {
    *number = 10 * *number + (peek(p) - '0');
    if (*number > most) return refuse(p, at, what);
  }
  return MICA_OK;
}

static mica_status read_charge(parser *p, mica__atom *atom) {
  const char sign = peek(p);
  long charge = 1;
  p->at++;
  if (is_digit(peek(p))) {
    MICA_TRY(read_number(p, 15, "a charge must be at most 15", &charge));
  } else {
    for (; peek(p) == sign; p->at++)
      if (++charge > 15) return refuse(p, p->at, "a charge must be at most 15");
  }
  atom->charge = (int8_t)(sign == '-' ? -charge : charge);
  return MICA_OK;
}

/* Reads an atom in brackets: [isotope symbol chirality hydrogens charge :class] */
static mica_status read_bracket(parser *p) {
  mica__atom atom = {.bracket = true};
  const size_t begin = p->at++;
  size_t length = 0;
  long number = 0;
  MICA_TRY(read_number(p, 999, "an isotope must be at most 999", &number));
  atom.isotope = (uint16_t)number;
  int element = aromatic_of(p->text + p->at, p->size - p->at, true, &length);
  atom.aromatic = element >= 0;
  if (element < 0) element = element_of(p->text + p->at, p->size - p->at, &length);
  if (element < 0) return refuse(p, p->at, "a bracket needs the symbol of an element");
  atom.element = (uint8_t)element;
  p->at += length;
  for (; peek(p) == '@' && atom.chirality < 2; p->at++) atom.chirality++;
  if (atom.chirality && isupper((unsigned char)peek(p)) && peek(p) != 'H')
    return refuse(p, p->at, "chirality must be @ or @@; other classes are not supported");
  if (peek(p) == 'H') {
    p->at++;
    number = 1;
    if (is_digit(peek(p))) MICA_TRY(read_number(p, 9, "an atom may have at most 9 hydrogens", &number));
    atom.hydrogens = (uint8_t)number;
  }
  if (peek(p) == '+' || peek(p) == '-') MICA_TRY(read_charge(p, &atom));
  if (peek(p) == ':') {
    p->at++;
    if (!is_digit(peek(p))) return refuse(p, p->at, "a class must be a number");
    MICA_TRY(read_number(p, 9999999, "a class must be at most 9999999", &number));
  }
  if (peek(p) != ']') return refuse(p, p->at, "a bracket must be closed here");
  p->at++;
  return add_atom(p, atom, begin);
}

static mica_status read_plain(parser *p) {
  static const uint8_t organic[] = {0, B, C, N, O, F, P, S, CL, BR, I};
  const size_t begin = p->at, left = p->size - p->at;
  size_t length = 0;
  mica__atom atom = {0};
  int element = aromatic_of(p->text + begin, left, false, &length);
  atom.aromatic = element >= 0;
  for (size_t k = 0; element < 0 && k < sizeof organic; k++) {
    const char *symbol = symbols[organic[k]];
    length = strlen(symbol);
    /* Cl and Br are tried before C and B. */
    if (length == 1 && left > 1 &&
        ((*symbol == 'C' && p->text[begin + 1] == 'l') || (*symbol == 'B' && p->text[begin + 1] == 'r')))
      continue;
    if (length <= left && !strncmp(p->text + begin, symbol, length)) element = organic[k];
  }
  if (element < 0)
    return refuse(p, begin,
                  "an atom, a bond or a ring must follow; only B C N O P S F Cl Br I may stand outside brackets");
  atom.element = (uint8_t)element;
  p->at += length;
  return add_atom(p, atom, begin);
}

/* --- bonds, rings, branches --- */

static mica_status read_ring(parser *p) {
  const size_t begin = p->at;
  int number = peek(p) - '0';
  if (peek(p) == '%') {
    if (p->size - p->at < 3 || !is_digit(p->text[p->at + 1]) || !is_digit(p->text[p->at + 2]))
      return refuse(p, p->at, "% needs two digits");
    number = 10 * (p->text[p->at + 1] - '0') + p->text[p->at + 2] - '0';
    p->at += 2;
  }
  p->at++;
  if (p->last < 0 || p->fresh) return refuse(p, begin, "a ring needs an atom before it");
  ring *r = &p->rings[number];
  const uint8_t order = p->order;
  p->order = 0;
  if (r->atom < 0) {
    *r = (ring){p->last, order};
    return MICA_OK;
  }
  if (r->atom == p->last) return refuse(p, begin, "a ring must have more than one atom");
  if (r->order && order && r->order != order) return refuse(p, begin, "both ends of the ring state different bonds");
  const int32_t other = r->atom;
  r->atom = -1;
  return add_bond(p, other, p->last, order ? order : r->order, begin);
}

static mica_status read_bond(parser *p) {
  static const char signs[] = "-=#$:/\\";
  static const uint8_t orders[] = {1, 2, 3, 4, MICA__BOND_AROMATIC, 1, 1};
  if (p->last < 0) return refuse(p, p->at, "a bond needs an atom before it");
  if (p->order) return refuse(p, p->at, "two bonds follow each other");
  p->order = orders[strchr(signs, peek(p)) - signs];
  p->at++;
  return MICA_OK;
}

static mica_status read_branch(parser *p) {
  if (peek(p) == '(') {
    if (p->last < 0 || p->order || p->fresh) return refuse(p, p->at, "a branch needs an atom before it");
    if (p->depth == MOST_BRANCHES) return refuse_more(p, p->at, MOST_BRANCHES, "branches inside one another");
    p->branches[p->depth++] = p->last;
    p->fresh = true;
    p->at++;
    return MICA_OK;
  }
  if (!p->depth) return refuse(p, p->at, "there is no open branch to close");
  if (p->order || p->last < 0 || p->fresh) return refuse(p, p->at, "a branch needs an atom at its end");
  p->last = p->branches[--p->depth];
  p->at++;
  return MICA_OK;
}

static mica_status read_dot(parser *p) {
  if (p->last < 0 || p->order || p->fresh) return refuse(p, p->at, "a dot needs an atom before it");
  p->last = -1;
  p->at++;
  return MICA_OK;
}

static mica_status read_next(parser *p) {
  const char c = peek(p);
  if (c == '[') return read_bracket(p);
  if (c == '(' || c == ')') return read_branch(p);
  if (is_digit(c) || c == '%') return read_ring(p);
  if (c == '.') return read_dot(p);
  if (c && strchr("-=#$:/\\", c)) return read_bond(p);
  return read_plain(p);
}

/* --- hydrogens --- */

/* Valences of atoms outside brackets, ascending; the last is 0. */
static const uint8_t *valences_of(uint8_t element) {
  static const uint8_t none[] = {0}, one[] = {1, 0}, two[] = {2, 0}, three[] = {3, 0}, four[] = {4, 0},
                       five[] = {3, 5, 0}, six[] = {2, 4, 6, 0};
  switch (element) {
  case B: return three;
  case C: return four;
  case N:
  case P: return five;
  case O: return two;
  case S: return six;
  case F:
  case CL:
  case BR:
  case I: return one;
  default: return none;
  }
}

/* Adds hydrogens to atoms outside brackets. An atom has the lowest of its element's valences that is not below the sum
 * of its bond orders. Hydrogens fill what the sum leaves free. An aromatic atom gives one more electron to its ring and
 * never uses a higher valence. */
static void fill_hydrogens(mica__molecule *m, int32_t *sums) {
  for (int32_t k = 0; k < m->bond_count; k++) {
    const int32_t order = m->bonds[k].order == MICA__BOND_AROMATIC ? 1 : m->bonds[k].order;
    sums[m->bonds[k].from] += order;
    sums[m->bonds[k].to] += order;
  }
  for (int32_t i = 0; i < m->atom_count; i++) {
    mica__atom *a = &m->atoms[i];
    const uint8_t *valence = valences_of(a->element);
    const int32_t sum = sums[i] + a->aromatic;
    if (a->bracket) continue;
    while (*valence && *valence < sum && !a->aromatic) valence++;
    a->hydrogens = *valence > sum ? (uint8_t)(*valence - sum) : 0;
  }
}

static mica_status parse(parser *p) {
  for (int k = 0; k < RINGS; k++) p->rings[k].atom = -1;
  while (p->at < p->size) MICA_TRY(read_next(p));
  if (!p->size) return mica__fail(MICA_E_FORMAT, "%s: the SMILES is empty", p->name);
  if (p->order || p->last < 0) return refuse(p, p->size, "an atom must follow");
  if (p->depth) return refuse(p, p->size, "a branch is not closed");
  for (int k = 0; k < RINGS; k++)
    if (p->rings[k].atom >= 0)
      return mica__fail(MICA_E_FORMAT, "%s: SMILES ends too early: ring %d is not closed", p->name, k);
  int32_t *sums = calloc((size_t)p->out->atom_count, sizeof *sums);
  if (!sums) return mica__fail_nomem("a molecule");
  fill_hydrogens(p->out, sums);
  free(sums);
  return MICA_OK;
}

mica_status mica__smiles_parse(const char *name, const char *text, size_t bytes, mica__molecule *molecule) {
  *molecule = (mica__molecule){0};
  while (bytes && (text[bytes - 1] == ' ' || text[bytes - 1] == '\r')) bytes--;
  parser p = {.name = name, .text = text, .size = bytes, .out = molecule, .last = -1};
  mica_status status = parse(&p);
  if (status != MICA_OK) mica__molecule_free(molecule);
  return status;
}

void mica__molecule_free(mica__molecule *m) {
  free(m->atoms);
  free(m->bonds);
  *m = (mica__molecule){0};
}

/* --- features --- */

void mica__molecule_features(const mica__molecule *m, int32_t atom, float *features) {
  static const uint8_t elements[] = {C, N, O, F, P, S, CL, BR, I, B, SI, SE, 0};
  enum { ELEMENTS = sizeof elements, DEGREES = 7, HYDROGENS = 5, ORDERS = 5, OTHERS = 5 };
  _Static_assert(ELEMENTS + DEGREES + HYDROGENS + ORDERS + OTHERS == MICA__ATOM_FEATURES, "features of atoms");
  const mica__atom *a = &m->atoms[atom];
  float *at = features;
  int which = 0;
  memset(features, 0, MICA__ATOM_FEATURES * sizeof *features);
  while (elements[which] && elements[which] != a->element) which++;
  at[which] = 1, at += ELEMENTS;
  at[a->degree < DEGREES ? a->degree : DEGREES - 1] = 1, at += DEGREES;
  at[a->hydrogens < HYDROGENS ? a->hydrogens : HYDROGENS - 1] = 1, at += HYDROGENS;
  for (int32_t k = 0; k < m->bond_count; k++)
    if (m->bonds[k].from == atom || m->bonds[k].to == atom) at[m->bonds[k].order - 1] = 1;
  at += ORDERS;
  at[0] = a->charge;
  at[1] = a->aromatic;
  at[2] = a->chirality == 1;
  at[3] = a->chirality == 2;
  at[4] = a->isotope != 0;
}
