# tests/vendor/loop.awk: counts what the main loop of a compiled kernel is made of, from its listing: clang's assembly for
# AMD, cuobjdump -sass for NVIDIA, ocloc disasm for Intel. The main loop is the shortest of those with at least a third as
# many multiply-adds as any. Prints
#
#   INSTRUCTIONS MULTIPLY-ADDS WIDE NARROW FAR
#
# WIDE and NARROW: loads of global memory of 128 bits and of less (Intel: all that are sends, and 0), copies to local
# memory in the background too. FAR: the fewest multiply-adds between a load of global memory into a register and the
# first that needs it (Intel: 0). "0 0 0 0 0" without such a loop.

function add_label(name) { label[name] = count + 1 }

function add(op, rest) {
  count++
  ops[count] = op
  args[count] = rest
}

# A branch back to a label makes a loop of what lies between.
function add_branch(op, rest, target) {
  add(op, rest)
  if (target in label && label[target] <= count) {
    first[++loops] = label[target]
    last[loops] = count
  }
}

function is_math(i) {
  if (ops[i] ~ /^mad/) return args[i] ~ />:f /
  return ops[i] ~ /^(FFMA|HMMA|IMMA|DFMA|HFMA2|dpas)/ || ops[i] ~ /^v_(pk_)?(fma|fmac|mac|mad)_(mix_|f)/ ||
         ops[i] ~ /^v_(mfma|wmma)/
}
function is_copy(op) { return op ~ /^LDGSTS/ }
function is_load(op) { return op ~ /^LDG\./ || is_copy(op) || op ~ /^(global|buffer|flat)_load/ || op ~ /^send/ }
function is_wide(op) { return op ~ /\.128/ || op ~ /dwordx4|b128/ }

# NVIDIA: "/*0a30*/  @P0 FFMA R1, R2, R3, R1 ;", with the address as a label.
/^[ \t]+\/\*[0-9a-f]+\*\/ / {
  line = $0
  sub(/^[ \t]+\/\*0*/, "", line)
  address = line
  sub(/\*\/.*/, "", address)
  sub(/^[^ ]*[ \t]+/, "", line)
  sub(/[ \t]*;.*/, "", line)
  sub(/^@!?U?P[0-9T]+ /, "", line)
  add_label(address)
  op = line
  sub(/ .*/, "", op)
  sub(/^[^ ]* */, "", line)
  target = line
  if (op ~ /^BRA/ && sub(/.*0x0*/, "", target)) add_branch(op, line, target)
  else add(op, line)
  next
}

# AMD, ".LBB0_2:", and Intel, "L1234:"; then an instruction a line.
/^\.?[A-Za-z_][A-Za-z0-9_]*:/ {
  name = $1
  sub(/:.*/, "", name)
  add_label(name)
  next
}
/^[ \t]*[;.\/]/ || !NF { next }
{
  line = $0
  sub(/[ \t]*((;|\/\/).*)?$/, "", line)
  sub(/^[ \t]+/, "", line)
  sub(/^\([^)]*\)[ \t]*/, "", line) # Intel's predicate
  op = line
  sub(/[ \t].*/, "", op)
  if (op !~ /^[a-z]/) next
  rest = line
  sub(/^[^ \t]+[ \t]*/, "", rest)
  if (op ~ /^(s_cbranch|s_branch)/) add_branch(op, rest, rest)
  else if (op ~ /^(while|jmpi|goto|brc|brd)/) {
    n = split(rest, word, /[ \t]+/)
    add_branch(op, rest, word[n])
  } else add(op, rest)
}

# Multiply-adds from load i of the loop f..l to what waits for it: of NVIDIA's and the like, whose instructions name a
# register, the first that names the load's; of AMD's the first wait that leaves fewer loads under way than came later.
function distance(i, f, l,    step, at, math, later, register, left) {
  register = args[i]
  sub(/,.*/, "", register)
  for (step = 1; step <= l - f; step++) {
    at = f + (i - f + step) % (l - f + 1)
    if (ops[at] ~ /^s_waitcnt/) {
      left = args[at]
      if (sub(/.*vmcnt\(/, "", left)) {
        sub(/\).*/, "", left)
        if (left + 0 <= later) return math
      }
    } else if (ops[i] ~ /^LDG/ && index(args[at] ",", register ",") && !is_load(ops[at])) return math
    if (is_load(ops[at])) later++
    math += is_math(at)
  }
  return math
}

END {
  for (n = 1; n <= loops; n++)
    for (i = first[n]; i <= last[n]; i++) {
      math[n] += is_math(i)
      if (math[n] > most) most = math[n]
    }
  for (n = 1; n <= loops; n++)
    if (most && math[n] * 3 >= most && (!best || last[n] - first[n] < last[best] - first[best])) best = n
  if (!best) {
    print "0 0 0 0 0"
    exit
  }
  far = -1
  for (i = first[best]; i <= last[best]; i++) {
    if (!is_load(ops[i])) continue
    if (ops[i] ~ /^send/) { wide++; far = 0; continue }
    if (is_wide(ops[i])) wide++
    else narrow++
    if (is_copy(ops[i])) continue
    d = distance(i, first[best], last[best])
    if (far < 0 || d < far) far = d
  }
  print last[best] - first[best] + 1, math[best], wide + 0, narrow + 0, (far < 0 ? 0 : far) + 0
}
