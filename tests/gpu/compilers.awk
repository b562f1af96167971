# compilers.awk: the logs that keep_builds.c left, as a line of JSON per kernel: its programs, and of NVIDIA's driver
# the most registers of a work-item and the most bytes that spill to memory. Exits with 1 if there is no program, if a
# kernel spills, or if with -v verbose=1 no log names registers.
/^kernels / {
  n = split($2, names, ";")
  for (i = 1; i <= n; i++)
    if (programs[names[i]]++ == 0) order[++count] = names[i]
  next
}
/Compiling entry function/ {
  match($0, /'[^']*'/)
  kernel = substr($0, RSTART + 1, RLENGTH - 2)
}
/bytes spill stores/ && kernel != "" {
  match($0, /[0-9]+ bytes spill stores/)
  stores = substr($0, RSTART, RLENGTH) + 0
  match($0, /[0-9]+ bytes spill loads/)
  spills = stores + substr($0, RSTART, RLENGTH)
  if (spills > spilled[kernel]) spilled[kernel] = spills
}
/Used [0-9]+ registers/ && kernel != "" {
  match($0, /Used [0-9]+ registers/)
  used = substr($0, RSTART + 5, RLENGTH) + 0
  if (used > registers[kernel]) registers[kernel] = used
}
END {
  for (i = 1; i <= count; i++) {
    name = order[i]
    line = "{\"bench\":\"compilers\",\"kernel\":\"" name "\",\"programs\":" programs[name]
    if (name in registers) {
      known++
      line = line ",\"registers\":" registers[name] ",\"spills\":" spilled[name] + 0
      bad += spilled[name] > 0
    }
    print line "}"
  }
  print count + 0 " kernels built, " known + 0 " with registers in the log, " bad + 0 " with spills"
  exit !count || bad || (verbose && !known)
}
