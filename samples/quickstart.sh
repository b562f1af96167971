#!/bin/sh
# sh samples/quickstart.sh [FOLDER]: from a bare Debian to a trained network. Installs what is missing, builds the
# command and the samples into build/, trains a small convolutional network on the 60,000 pictures of Fashion-MNIST on
# the best device there is, tests it on 10,000 others, and shows what it takes ten of them for. All of it lies in FOLDER
# (build/quickstart) in the end; an older run there is replaced.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/quickstart}

sh cmake/setup.sh quickstart build -DMICA_BUILD_TESTS=OFF -DMICA_BUILD_SAMPLES=ON -DMICA_BUILD_CLI=ON mica_cli \
  mica_samples
build/bin/mica devices
rm -rf "$folder"
build/bin/mica train --data fashion-mnist --model cnn --epochs 6 --out "$folder"
build/bin/mica eval --model "$folder"
build/bin/mica predict --model "$folder" --data fashion-mnist --count 10 --pictures

echo
echo "the model, its settings and its report:"
for file in model.safetensors config.json history.csv report.html; do echo "  $folder/$file"; done
echo "go on: build/bin/mica train --help, samples/, README.md"
