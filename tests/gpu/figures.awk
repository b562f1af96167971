# figures.awk: the figures in what the parts of run.sh wrote, one per line: kind, case, figure, separated by tabs.
#
# A line "== LABEL" names the lines of JSON after it, up to the next: a type, or a type and more. Lines of JSON are
# mica-bench's and peers/torch_cuda.py's; what a profile says of kernels is taken as well. Other lines are passed over.
#   products       gemm        LABEL.MxNxK.TRANS      GFLOP/s
#   bytes          int8        FORM.MxNxK             GOP/s
#   layers         sequence    LABEL.NAME             ms
#   training       train       LABEL.MODEL            ms per step
#   forecasts      forecast    LABEL.MODEL            ms per step
#   generation     language    NAME.BITS.BATCH        tokens per second
#   batch of 1     infer       LABEL.NAME             ms
#   curves         curves      LABEL.MODEL            loss of the last epoch
#   compilers      compilers   KERNEL.registers       registers per work-item
#   peak           peak        TYPE                   GFLOP/s
#   kernels        kernel, planned_kernel   LABEL.MODEL.KERNEL   us per step
#   PyTorch's      torch_gemm, torch_train, torch_compiled, torch_curves  as above

function field(name,    at, rest) {
  at = index($0, "\"" name "\":")
  if (!at) return ""
  rest = substr($0, at + length(name) + 3)
  sub(/^ */, "", rest)
  if (substr(rest, 1, 1) == "\"") {
    rest = substr(rest, 2)
    return substr(rest, 1, index(rest, "\"") - 1)
  }
  sub(/[,}].*/, "", rest)
  return rest
}

function say(kind, name, figure) {
  gsub(/ /, "_", name)
  if (figure != "" && figure != "null") printf "%s\t%s\t%s\n", kind, name, figure
}

function shape() { return field("m") "x" field("n") "x" field("k") }

# A kernel's name as a profile has it: a generated one without the number of its place.
function plain(name) {
  sub(/_at[0-9]+$/, "", name)
  return name
}

/^== / {
  label = substr($0, 4)
  gsub(/ /, ".", label)
  model = ""
  next
}
/^ *[0-9.]+ % +[0-9.]+ us +[0-9.]+ launches/ {
  if (model != "") spent[label "." model "." plain($NF)] += $3
  next
}
!/^\{/ { next }
{
  bench = field("bench")
  peer = (bench == "gemm" || bench == "train") && field("dtype") != "" # peers/torch_cuda.py alone says its type
}
bench == "gemm" && field("summary") == "" && !peer {
  say("gemm", label "." shape() "." field("trans"), field("gflops"))
}
bench == "gemm" && peer {
  split(field("case"), part, " ")
  say("torch_gemm", field("dtype") "." substr(part[1], 2) "x" substr(part[2], 2) "x" substr(part[3], 2) "." part[4],
      field("gflops"))
}
field("form") != "" { say("int8", field("form") "." shape(), field("gops")) }
bench == "sequence" && field("mica") != "" { say("sequence", label "." field("name"), 1000 * field("mica")) }
bench == "train" && !peer {
  model = field("model")
  say("train", label "." model, field("step_ms"))
}
bench == "train" && peer && field("side") + 0 == 224 {
  say(field("compiled") == "true" ? "torch_compiled" : "torch_train", field("dtype") "." field("model"),
      field("step_ms"))
}
bench == "plan" && field("us") != "" { planned[plain(field("kernel"))] += field("us") }
bench == "plan" && field("model") != "" {
  say("forecast", label "." field("model"), field("ms") + field("starts_ms"))
  for (kernel in planned) say("planned_kernel", label "." field("model") "." kernel, planned[kernel])
  split("", planned)
}
bench == "language" { say("language", field("name") "." field("bits") "." field("batch"), field("tokens_a_second")) }
bench == "infer" && field("mica") != "" { say("infer", label "." field("name"), 1000 * field("mica")) }
bench == "curves" || bench == "torch_curves" { say(bench, field("dtype") "." field("model"), field("loss")) }
bench == "compilers" { say("compilers", field("kernel") ".registers", field("registers")) }
bench == "peak" { say("peak", field("type"), field("gflops")) }
END { for (name in spent) say("kernel", name, spent[name]) }
