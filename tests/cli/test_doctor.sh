#!/bin/sh
# labels: null single
# What the doctor says where there is nothing to examine; second_start is the one that examines.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

run doctor --device null
ends 1 'null  *' 'mica doctor: *'
run doctor --device=null --json
ends 1 '*' 'mica doctor: *'
holds device.id null
holds checks.# 0
holds healthy false
# A name that no op or kernel has is an error in the command line, whatever the device.
for arguments in frob 'fill frob' 'frob --json' '--device null frob'; do
  # shellcheck disable=SC2086
  run doctor $arguments
  ends 2 '' 'mica doctor: there is no op or kernel frob to examine; choose from: *fill*'
done
export OCL_ICD_VENDORS=/nonexistent
for arguments in '' --json '--device xyzzy'; do
  # shellcheck disable=SC2086
  run doctor $arguments
  ends 1 '' 'mica doctor: this machine has no OpenCL device*'
done
exit "$failed"
