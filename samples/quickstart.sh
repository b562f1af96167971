#!/bin/sh
# sh samples/quickstart.sh: from a bare Debian to a running Mica. Installs what is missing, builds the command and the
# samples into build/, shows the devices, and computes, checks and times a matrix product on the best of them.
set -eu
cd "$(dirname "$0")/.."

sh cmake/setup.sh run build -DMICA_BUILD_TESTS=OFF -DMICA_BUILD_SAMPLES=ON -DMICA_BUILD_CLI=ON mica_cli mica_samples
build/bin/mica devices
build/bin/samples/02_matrix_product
