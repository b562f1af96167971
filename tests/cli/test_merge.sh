#!/bin/sh
# labels: device single
# mica merge: a model with an adapter as one GGUF file, and bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
golden=$MICA_SOURCE_DIR/tests/golden/foundation

run merge "$golden/llama" "$golden/llama/adapter" "$work/m.gguf"
case $err in *"cJSON"*) echo 'SKIP: no cJSON'; exit 77 ;; esac
ends 0 '*written*m.gguf: 21 tensors, 0 of a new type*' ''
run convert "$golden/llama" "$work/base.gguf"
ends 0 '*' ''
! cmp -s "$work/m.gguf" "$work/base.gguf" || fault 'the adapter changed nothing'
run info "$work/m.gguf" --json
ends 0 '*llama.block_count**' ''

# A folder. As a file it has the same weights, after keys that say the folder's name.
run merge "$golden/llama" "$golden/llama/adapter" "$work/folder"
ends 0 '*written*folder*' ''
run convert "$work/folder" "$work/folder.gguf"
ends 0 '*' ''
tail -c 20000 "$work/m.gguf" >"$work/a"
tail -c 20000 "$work/folder.gguf" | cmp - "$work/a" || fault 'the folder has other weights'
run merge "$work/m.gguf" "$golden/llama/adapter" "$work/none-folder"
ends 1 '' '*'

run merge "$golden/llama" "$golden/llama/adapter" "$work/m.gguf"
ends 1 '' '*m.gguf is there already*'
run merge "$golden/llama" "$golden/llama/adapter" "$work/m.gguf" --force --type q8_0
ends 0 '*written*m.gguf: 21 tensors*' ''
run merge "$work/base.gguf" "$golden/llama/adapter" "$work/base.gguf" --force
ends 1 '' '*is the model itself*'
run merge "$work" "$golden/llama/adapter" "$work/n.gguf"
ends 1 '' '*is not a published model*'
run merge "$golden/llama" "$work/none" "$work/n.gguf"
ends 1 '' '*none*'
run merge "$golden/llama" "$golden/gpt2/adapter" "$work/n.gguf"
ends 1 '' '*to adapt*'
run merge "$golden/llama" "$golden/llama/adapter" "$work/n.gguf" --type q99
ends 1 '' '*"q99" of weights is unknown*'
run merge "$golden/llama"
ends 2 '' '*'
[ ! -e "$work/n.gguf" ] || fault 'a model was written all the same'
exit $failed
