# awk -f join.awk EXPECTED FIGURES: what was measured beside what was expected, one figure per line:
# kind, case, measured, expected, measured / expected, and "as expected", "moved" or "not measured".
#
# EXPECTED has lines of kind, case, figure and tolerance (0.1: a tenth), FIGURES those of figures.awk. A kernel's time
# is expected to be what the plan says, if both are there; a forecast and PyTorch's step stand beside the step.
BEGIN { FS = "[ \t]+" }
FNR == 1 { file++ }
/^#/ || NF < 3 { next }
file == 1 {
  order[++count] = $1 "\t" $2
  wanted[$1, $2] = $3
  tolerance[$1, $2] = $4
  next
}
{
  if (!(($1, $2) in measured)) {
    kinds[++figures] = $1
    cases[figures] = $2
  }
  measured[$1, $2] = $3
}

# Some awks find nan larger and smaller than any number: it is known by its text.
function verdict(has, ratio, by) {
  return has !~ /nan/ && ratio >= 1 - by && ratio <= 1 + by ? "as expected" : "moved"
}

# One line; by: the tolerance, "" where there is none.
function line(kind, name, has, want, by,    ratio, said) {
  ratio = want > 0 ? has / want : 0
  said = by == "" ? "" : verdict(has, ratio, by)
  if (said == "moved") moved++
  printf "%-10s %-52s %12.4g %12.4g %8.3f  %s\n", kind, name, has, want, ratio,
         said
}

function heading(text) {
  printf "\n%s\n%-10s %-52s %12s %12s %8s\n", text, "kind", "case", "measured", "beside it", "ratio"
}

# Lines of kind `kind` beside those of kind `other` for the same case.
function beside(kind, other, text,    i, begun) {
  for (i = 1; i <= figures; i++) {
    if (kinds[i] != kind || !((other, cases[i]) in measured)) continue
    if (!begun++) heading(text)
    line(kind, cases[i], measured[kind, cases[i]], measured[other, cases[i]], "")
  }
}

END {
  heading("Measured, and expected (tests/gpu/expected)")
  for (i = 1; i <= count; i++) {
    split(order[i], part, "\t")
    has = (part[1], part[2]) in measured
    want = wanted[part[1], part[2]]
    known += has
    if (has) line(part[1], part[2], measured[part[1], part[2]], want, tolerance[part[1], part[2]])
    else printf "%-10s %-52s %12s %12.4g %8s  not measured\n", part[1], part[2], "-", want, "-"
  }
  for (i = 1; i <= figures; i++)
    if (kinds[i] !~ /^(kernel|planned_kernel|torch_.*|forecast)$/ && !((kinds[i], cases[i]) in wanted))
      printf "%-10s %-52s %12.4g %12s %8s  nothing expected\n", kinds[i], cases[i],
             measured[kinds[i], cases[i]], "-", "-"
  beside("train", "forecast", "Steps, and what mica-bench plan --as h100 says, ms")
  beside("train", "torch_train", "Steps, and PyTorch's, ms")
  beside("train", "torch_compiled", "Steps, and those that torch.compile makes, ms")
  beside("curves", "torch_curves", "Losses of the last epoch, and PyTorch's from weights of its own")
  beside("gemm", "torch_gemm", "Products, and PyTorch's, GFLOP/s")
  beside("kernel", "planned_kernel", "Kernels of a step, and what the plan says, us")
  printf "\n%d of %d expected figures measured, %d moved\n", known, count, moved
}
