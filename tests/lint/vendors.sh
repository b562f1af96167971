#!/bin/sh
# sh tests/lint/vendors.sh [ROOT]: a device's vendor, by number, name or generation, is asked for by
# src/runtime/device.*, which finds it, core_model.*, which knows cores, and kernel_desc.c, which holds it against the
# vendors of a variant. All others take a variant or a number from these; they may name the vendor to people
# (mica_vendor_name). tests/lint/vendors.allow lists exceptions, "<file> <reason>"; one that is no longer needed fails
# too.
set -eu
cd "${1:-$(dirname "$0")/../..}"
allow=tests/lint/vendors.allow
[ -e "$allow" ] || allow=/dev/null

find src -name '*.[ch]' | grep -v '^src/runtime/\(device\.[ch]\|core_model\.[ch]\|kernel_desc\.c\)$' | sort |
  xargs awk -v allow="$allow" '
  function complain(text) { print text; bad = 1 }
  BEGIN {
    while ((getline line < allow) > 0) {
      if (line ~ /^#/ || line == "") continue
      split(line, field)
      if (field[2] == "") complain(allow ": " field[1] " has no reason")
      allowed[field[1]] = 1
    }
  }
  {
    text = $0
    gsub(/mica_vendor_name\([^)]*\)/, "", text)
    asked = text ~ /(->|\.)vendor([^A-Za-z0-9_]|$)/ || text ~ /([=!]=|>>) *MICA_VENDOR_|case MICA_VENDOR_/ ||
            text ~ /compute_capability *[<>=!]/ ||
            text ~ /str[a-z]*cmp\(.*"[^"]*(NVIDIA|AMD|Advanced Micro|Intel|Qualcomm|Mali|Apple)/ ||
            text ~ /str(case)?str\(.*"[^"]*(NVIDIA|AMD|Advanced Micro|Intel|Qualcomm|Mali|Apple)/
    if (!asked) next
    used[FILENAME] = 1
    if (!(FILENAME in allowed)) complain(FILENAME ":" FNR ": a test of the vendor is core_model.h'"'"'s: " $0)
  }
  END {
    for (file in allowed) if (!(file in used)) complain(allow ": " file " does not test a vendor")
    exit bad
  }'
