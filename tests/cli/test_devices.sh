#!/bin/sh
# labels: null single
# The list of devices: with and without any, for people and for machines, in colour on a terminal only.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
escape=$(printf '\033')

# Without a driver: no device, and the null device where it is asked for.
vendors=${OCL_ICD_VENDORS-}
export OCL_ICD_VENDORS=/nonexistent
run devices
ends 1 '' 'mica devices: this machine has no OpenCL device*'
run devices --json
ends 1 '*' 'mica devices: this machine has no OpenCL device*'
holds devices.# 0
holds chosen null
export MICA_DEVICE=null
run devices
ends 0 '\* null *' ''
run devices --json
ends 0 '*' ''
holds devices.# 1
holds chosen null
holds devices.0.id null
holds devices.0.class null
holds devices.0.chosen true
holds devices.0.limits.max_group_dim.# 3
unset OCL_ICD_VENDORS MICA_DEVICE
[ -z "$vendors" ] || export OCL_ICD_VENDORS="$vendors"

run devices --json
count=$(json devices.#) || fault 'no JSON'
[ "$count" != 0 ] || { echo 'no device, so only their absence was tested'; exit "$failed"; }
ends 0 '*' ''
chosen=$(json chosen)
marked=0
i=0
while [ $i -lt "$count" ]; do
  for key in name platform driver opencl_c class vendor id; do holds "devices.$i.$key" '?*'; done
  for key in compute_units vector_bytes clock_mhz global_bytes limits.max_buffer_bytes limits.local_bytes \
    limits.max_group limits.align_bytes; do
    holds "devices.$i.$key" '[0-9]*'
  done
  holds "devices.$i.extensions.#" '[0-9]*'
  if [ "$(json "devices.$i.chosen")" = true ]; then
    marked=$((marked + 1))
    holds "devices.$i.id" "$chosen"
  fi
  i=$((i + 1))
done
[ $marked = 1 ] || fault "$marked devices are marked as chosen"

holds "pairs.#" $((count * (count - 1) / 2))

run devices
ends 0 "*\* $chosen *" ''
case $out in *"$escape"*) fault 'colour without a terminal' ;; esac
MICA_DEVICE=$chosen run devices
ends 0 "*\* $chosen *" ''
export MICA_DEVICE='no such device'
run devices
ends 1 "*  $chosen *" 'mica devices: no device matches "no such device"; choose from: *'
export MICA_DEVICE=cuda
run devices
ends 1 "*  $chosen *" 'mica devices: no device matches "cuda"; choose from: *; Mica computes on OpenCL devices*gpu'
unset MICA_DEVICE

# util-linux's script, essential in Debian, runs a command on a terminal.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  ran='mica devices on a terminal'
  out=$(TERM=xterm script -qec "$mica devices" /dev/null </dev/null)
  case $out in *"${escape}[32m* $chosen "*) ;; *) fault "no colour: $out" ;; esac
  out=$(TERM=dumb script -qec "$mica devices" /dev/null </dev/null)
  case $out in *"$escape"*) fault 'colour on a dumb terminal' ;; esac
  out=$(TERM=xterm NO_COLOR=1 script -qec "$mica devices" /dev/null </dev/null)
  case $out in *"$escape"*) fault 'colour with NO_COLOR' ;; esac
fi
exit "$failed"
