# tests/vendor/access.awk: counts accesses of global memory of each kernel in a listing, clang's assembly for AMD or
# cuobjdump -sass for NVIDIA: a line KERNEL WIDE NARROW, of 128 bits and of less.

function print_kernel() {
  if (kernel != "") print kernel, wide + 0, narrow + 0
  wide = narrow = 0
}
/^[ \t]+Function : / { print_kernel(); kernel = $3 }
/^[A-Za-z_][A-Za-z0-9_]*:/ { if ($0 ~ /@/) { print_kernel(); kernel = $1; sub(/:.*/, "", kernel) } }
/^[ \t]+(\/\*[0-9a-f]+\*\/ .*(LDG|STG)|(global|flat)_(load|store)_)/ {
  if ($0 ~ /\.128|dwordx4|b128/) wide++
  else narrow++
}
END { print_kernel() }
