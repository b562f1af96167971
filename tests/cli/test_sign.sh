#!/bin/sh
# labels: null single
# mica sign: keys, signatures of files and folders, their check, beside minisign both ways; and MICA_REQUIRE_KEY.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

run sign
ends 2 '' 'mica sign: name the files to sign'
run sign x
ends 2 '' '*--key is missing: the secret key'
run sign x --check
ends 2 '' '*--key is missing: the public key'
run sign --new-key a x
ends 2 '' '*--new-key takes no files*'
run sign x --key k --no-password
ends 2 '' '*--no-password is for --new-key'
run sign x --key k --check --comment c
ends 2 '' '*--comment is for signing*'

cd "$work" || exit 1
run sign --new-key v --no-password
case $err in *'needs libsodium'*)
  MICA_REQUIRE_KEY=v.pub run info v.safetensors
  echo 'SKIP: built without libsodium'
  exit 77
  ;;
esac
ends 0 'v.key is secret; give v.pub to those who check' ''
run sign --new-key v --no-password
ends 1 '' '*v.* exists already*'
run sign --new-key "$(printf 'x\033[31m')" --no-password
ends 0 'x[?][[]31m.key is secret; give x[?][[]31m.pub to those who check' ''
run sign --new-key w </dev/null
ends 1 '' '*no password of at most 1022 bytes was given*'
ran='mica sign --new-key w'
printf 'one\ntwo\n' | "$mica" sign --new-key w >out 2>err && fault 'two passwords are one'
grep -q 'passwords differ' err || fault "$(cat err)"
[ ! -e w.key ] || fault 'a key is left'
run sign --new-key w --no-password
ends 0 '*' ''

# Files, folders, comments.
mkdir -p run/part
echo one >run/a
echo two >run/part/b
run sign run --key v.key --comment 'of a test'
ends 0 '2 files signed' ''
[ -e run/a.minisig ] && [ -e run/part/b.minisig ] || fault 'a signature is missing'
run sign run --key v.key
ends 0 '2 files signed' ''
run sign --check run --key v.pub
ends 0 'run/a: signed with key *timestamp:*file:a*run/part/b: *' ''
run sign --check run --key "$(sed -n 2p v.pub)" --json
ends 0 '*' ''
holds files.# 2
holds files.1.file run/part/b
holds files.1.comment 'timestamp:*'
run sign --check run --key w.pub
ends 1 '' '*run/a is signed with key *, but key * is required*run/part/b*'
echo three >run/a
run sign --check run --key v.pub
ends 1 'run/part/b: *' '*run/a does not match its signature run/a.minisig*'
echo more >run/c
run sign --check run/c --key v.pub
ends 1 '' '*run/c is not signed: there is no run/c.minisig*'
head -c 100 run/a.minisig >cut && mv cut run/a.minisig
run sign --check run/a --key v.pub
ends 1 '' '*run/a.minisig is damaged, or not a minisign signature'
run sign run/none --key v.key
ends 1 '' '*run/none*'
mkdir empty
run sign empty --key v.key
ends 1 '' '*empty has no files to sign; hidden files and signatures do not count'
# Root reads closed folders too, unless it lacks these capabilities.
as='setpriv --bounding-set -dac_override,-dac_read_search'
[ "$(id -u)" = 0 ] || as=
mkdir closed
chmod 0 closed
if $as true && ! $as ls closed >/dev/null 2>&1; then
  ran='mica sign closed'
  $as "$mica" sign closed --key v.key >out 2>err && fault 'it is signed'
  case $(cat err) in *'closed: the folder cannot be read in full: Permission denied') ;; *) fault "$(cat err)" ;; esac
else
  echo 'no folder can be closed: not tested'
fi

# A model is opened if it has the right signature.
model=$MICA_SOURCE_DIR/tests/golden/foundation/gemma3-gguf/model.gguf
if [ -e "$model" ]; then
  cp "$model" m.gguf
  MICA_REQUIRE_KEY=v.pub run info m.gguf
  ends 1 '' '*m.gguf is not signed: there is no m.gguf.minisig*'
  run sign m.gguf --key w.key
  MICA_REQUIRE_KEY=v.pub run info m.gguf
  ends 1 '' '*m.gguf is signed with key *, but key * is required'
  run sign m.gguf --key v.key
  MICA_REQUIRE_KEY=v.pub run info m.gguf
  ends 0 '*' ''
  MICA_REQUIRE_KEY=none.pub run info m.gguf
  ends 1 '' '*MICA_REQUIRE_KEY: there is no file none.pub'
  printf x >>m.gguf
  MICA_REQUIRE_KEY=v.pub run info m.gguf
  ends 1 '' '*m.gguf does not match its signature*'
fi

# minisign takes Mica's signatures and keys, and the reverse.
if command -v minisign >/dev/null; then
  echo text >f
  run sign f --key v.key --comment 'for minisign'
  ends 0 '1 file signed' ''
  ran='minisign -V'
  minisign -V -m f -p v.pub >out 2>&1 || fault "$(cat out)"
  grep -q 'for minisign' out || fault "$(cat out)"
  minisign -S -m f -s v.key >out 2>&1 || fault "$(cat out)"
  run sign --check f --key v.pub
  ends 0 'f: signed with key *' ''
  minisign -G -W -p m.pub -s m.key >out 2>&1 || fault "$(cat out)"
  run sign f --key m.key
  ends 0 '1 file signed' ''
  minisign -V -H -m f -p m.pub >out 2>&1 || fault "$(cat out)"
  echo other >f
  ! minisign -V -m f -p m.pub >out 2>&1 || fault 'minisign took another file'
else
  echo 'no minisign: not compared with it'
fi
exit "$failed"
