#!/bin/sh
# labels: null packages
# sh tests/packages/test_release.sh: a release is refused unless tag, version, tree and CHANGELOG.md agree.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v git >/dev/null || { echo 'SKIP: there is no git'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
failed=0

mkdir -p "$work/cmake/packaging"
cp "$root"/cmake/packaging/*.sh "$work/cmake/packaging/"
cd "$work"
git init -q -b main .
git config user.name test
git config user.email test@example.invalid

# says TEXT: `release.sh --check` fails and says TEXT, or passes if TEXT is empty.
says() {
  status=0
  output=$(sh cmake/packaging/release.sh --check 2>&1) || status=$?
  if [ -z "$1" ]; then
    [ $status = 0 ] || { echo "refused: $output"; failed=1; }
  else
    case $status:$output in
      1:*"$1"*) ;;
      *) echo "\"$output\" ($status) instead of \"$1\""; failed=1 ;;
    esac
  fi
}
# commit CHANGES: a commit of version 1.2.3 with that CHANGELOG.md.
commit() {
  printf 'project(mica VERSION 1.2.3 LANGUAGES C)\n' >CMakeLists.txt
  printf '%b' "$1" >CHANGELOG.md
  git add -A
  git commit -q --allow-empty -m "$1"
}

entry='## 1.2.3\n\n- It is new.\n\n'
commit "# Changes\n\n## Unreleased\n\n$entry## 1.2.2\n\n- It was.\n"
says 'HEAD has no tag v1.2.3'
git tag v1.2.4
says 'the tag is v1.2.4, but CMakeLists.txt says version 1.2.3'
git tag -d v1.2.4 >/dev/null
git tag v1.2.3
says ''
touch new
says 'the tree differs from the tag'
rm new

commit '# Changes\n\n## 1.2.30\n\n- It is another.\n\n## 1.2.3\n\n\n## 1.2.2\n\n- It was.\n'
git tag -f v1.2.3 >/dev/null
says 'CHANGELOG.md has no entry for 1.2.3'
commit "# Changes\n\n## Unreleased\n\n- It comes.\n\n$entry"
git tag -f v1.2.3 >/dev/null
says 'CHANGELOG.md has unreleased changes'

# changes(): a section without the blank lines around it.
commit "# Changes\n\n$entry## 1.2.2\n\n- It was.\n"
printf '. "%s/cmake/packaging/common.sh"\nchanges 1.2.3\n' "$work" >cmake/packaging/show.sh
[ "$(sh cmake/packaging/show.sh)" = '- It is new.' ] || { echo 'another entry'; failed=1; }
exit $failed
