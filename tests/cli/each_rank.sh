#!/bin/sh
# sh each_rank.sh COMMAND... // COMMAND...: rank 0 of mpirun runs the first command, the others run the second. mpirun
# itself takes two commands too, but with Open MPI 5.0.7 (Debian 13) it crashes.
if [ "${OMPI_COMM_WORLD_RANK:-0}" != 0 ]; then
  while [ "$1" != // ]; do shift; done
  shift
  exec "$@"
fi
ended=''
for word; do
  shift
  [ "$word" != // ] || ended=1
  [ "$ended" ] || set -- "$@" "$word"
done
exec "$@"
