#!/bin/sh
# sh samples/quickstart.sh: from a bare Debian to a running Mica. Installs what is missing, builds the command and the
# samples into build/, shows the devices and runs the main job.
set -eu
cd "$(dirname "$0")/.."

sh cmake/setup.sh run build -DMICA_BUILD_TESTS=OFF -DMICA_BUILD_SAMPLES=ON -DMICA_BUILD_CLI=ON mica_cli mica_samples
build/bin/mica devices
