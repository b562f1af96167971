#!/bin/sh
# labels: null packages
# sh tests/packages/test_port_options.sh: what the ports for vcpkg, Homebrew and nix pass to CMake configures this tree.
# Every option that any package passes exists, and a port names the library of each feature that it does not switch
# off. The ports run here with stubs for their package managers, which say what they were asked to do.
# shellcheck source-path=SCRIPTDIR source=ports.sh
. "$(dirname "$0")/ports.sh"

# Options: a word MICA_<NAME> of a package is one of the project's.
sed -n 's/^ *\(cmake_dependent_\)*option(\(MICA_[A-Z0-9_]*\).*/\2/p; s/^ *mica_feature(\([A-Z0-9]*\) .*/MICA_WITH_\1/p
  s/^ *set(\(MICA_[A-Z0-9_]*\) .* CACHE .*/\1/p' "$root/CMakeLists.txt" "$root"/cmake/*.cmake >"$work/known"
[ "$(wc -l <"$work/known")" -gt 15 ]
find "$packaging" -type f -exec grep -oEh -e '-DMICA_[A-Z0-9_]+[A-Z0-9]\b' {} + | sed 's/^-D//' | sort -u \
  >"$work/passed"
[ "$(wc -l <"$work/passed")" -gt 15 ]
grep -vxF -f "$work/known" "$work/passed" >"$work/unknown" || [ $? = 1 ]
[ ! -s "$work/unknown" ] || fail "cmake/packaging passes unknown options: $(paste -s -d ' ' "$work/unknown")"

# port NAME COLUMN: $work/NAME.options has the port's options for CMake, and $work/NAME.libraries what it depends on.
# COLUMN is where the table of libraries has their names there. The options configure, without asking for a library that
# this machine may lack.
port() {
  options=$(sed -n 's/^\(-DMICA_[^;]*\)=ON$/\1=AUTO/; /^-DMICA/p' "$work/$1.options")
  [ "$options" ] || fail "$1: passes no options"
  # Word splitting is wanted.
  # shellcheck disable=SC2086
  cmake -G Ninja -S "$root" -B "$work/$1" $options >"$work/$1.log" 2>&1 ||
    { cat "$work/$1.log"; fail "$1: does not configure"; }
  ! grep -A 3 'not used by the project' "$work/$1.log" || fail "$1: passes options that nothing uses"
  for feature in $(sed -n 's/^MICA_WITH_//p' "$work/known"); do
    ! grep -qxF -e "-DMICA_WITH_$feature=OFF" "$work/$1.options" || continue
    library=$(awk -v feature="$feature" -v column="$2" '$1 == feature { print $column }' "$work/names")
    [ "$library" ] || fail "the table here has no library of $feature"
    grep -qxF -e "$library" "$work/$1.libraries" || fail "$1: $feature is on, but \"$library\" is not depended on"
  done
  for library in $3; do
    grep -qxF -e "$library" "$work/$1.libraries" || fail "$1: \"$library\" is not depended on"
  done
}

# The feature; its library in vcpkg, Homebrew and nixpkgs.
cat >"$work/names" <<'END'
CLBLAST clblast clblast clblast
CJSON cjson cjson cjson
PCRE2 pcre2 pcre2 pcre2
UTF8PROC utf8proc utf8proc utf8proc
MPI openmpi open-mpi openmpi
ONNX protobuf-c protobuf-c protobufc
SODIUM libsodium libsodium libsodium
DEFLATE libdeflate libdeflate libdeflate
PNG libpng libpng libpng
JPEG libjpeg-turbo jpeg-turbo libjpeg
EXPAT expat expat expat
SNDFILE libsndfile libsndfile libsndfile
MICROHTTPD libmicrohttpd libmicrohttpd libmicrohttpd
END

# vcpkg: a portfile is a script for CMake. Its package configuration lies where the portfile looks for it.
cat >"$work/vcpkg.cmake" <<'END'
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  string(REPLACE ";" "\n" lines "${arg_OPTIONS}")
  file(WRITE ${WORK}/vcpkg.options "${lines}\n")
  file(WRITE ${WORK}/vcpkg.source "${arg_SOURCE_PATH}\n")
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(WRITE ${WORK}/vcpkg.config "${arg_CONFIG_PATH}\n")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(file IN LISTS arg_FILE_LIST)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "there is no ${file}")
    endif()
  endforeach()
endfunction()
include(${PORT}/portfile.cmake)
END
cmake -DWORK="$work" -DPORT="$packaging/vcpkg/mica" -P "$work/vcpkg.cmake"
[ "$(cat "$work/vcpkg.source")" = "$root" ] || fail "vcpkg: the source is $(cat "$work/vcpkg.source")"
sed -n '/"dependencies"/,$ s/.*"\([a-z0-9-]*\)",*$/\1/p' "$packaging/vcpkg/mica/vcpkg.json" >"$work/vcpkg.libraries"
port vcpkg 2 'opencl xxhash'
grep -rqF "/$(cat "$work/vcpkg.config")\"" "$work/vcpkg" --include=cmake_install.cmake ||
  fail "vcpkg: $(cat "$work/vcpkg.config") is not where the package configuration is installed"

if command -v ruby >/dev/null; then
  cat >"$work/formula.rb" <<'END'
class Formula
  def self.desc(text) = text
  def self.license(name) = name
  def self.head(url, **)
    File.write("#{WORK}/homebrew.source", url.delete_prefix("file://"))
  end
  def self.depends_on(name)
    name = name.keys.first if name.is_a? Hash
    File.write("#{WORK}/homebrew.libraries", "#{name}\n", mode: "a")
  end
  def self.uses_from_macos(name) = depends_on(name)
  def self.on_linux = yield
  def self.test = nil
  def std_cmake_args = []
  def system(*command)
    File.write("#{WORK}/homebrew.options", command.join("\n") + "\n", mode: "a")
  end
end
WORK, formula = ARGV
require formula
Mica.new.install
END
  ruby "$work/formula.rb" "$work" "$packaging/homebrew/mica.rb"
  [ "$(cat "$work/homebrew.source")" = "$root" ] || fail "homebrew: the source is $(cat "$work/homebrew.source")"
  port homebrew 3 'opencl-icd-loader opencl-headers xxhash pkgconf'
else
  echo 'SKIP homebrew: there is no ruby'
fi

if command -v nix-instantiate >/dev/null; then
  cat >"$work/stub.nix" <<'END'
# A package of any name that the port asks for is its name.
{ names }:
let
  lib = {
    hasPrefix = start: text: builtins.substring 0 (builtins.stringLength start) text == start;
    splitString = by: text: builtins.filter builtins.isString (builtins.split by text);
    cleanSource = path: toString path;
    licenses.mit = "MIT";
    platforms.linux = [ "linux" ];
  };
  each = builtins.listToAttrs (map (name: { inherit name; value = name; }) names);
in
each // { inherit lib; stdenv.mkDerivation = set: set; }
END
  cat >"$work/eval.nix" <<'END'
{ port, stub, names }:
let
  set = import port { pkgs = import stub { names = builtins.filter builtins.isString (builtins.split " " names); }; };
  lines = builtins.concatStringsSep "\n";
in
{
  options = lines set.cmakeFlags;
  libraries = lines (set.buildInputs ++ set.nativeBuildInputs);
  version = set.version;
  source = set.src;
}
END
  names=$(awk '{ print $4 }' "$work/names" | paste -s -d ' ')
  # nix keeps its store and its settings in folders of the user.
  export HOME="$work" NIX_STATE_DIR="$work/nix" NIX_STORE_DIR="$work/store" NIX_LOG_DIR="$work/nix/log"
  for part in options libraries version source; do
    nix-instantiate --eval --readonly-mode --json -A $part "$work/eval.nix" --arg port "$packaging/nix/default.nix" \
      --arg stub "$work/stub.nix" --argstr names "$names cmake ninja pkg-config ocl-icd opencl-headers xxhash" \
      >"$work/part" 2>"$work/error" || { cat "$work/error"; fail "nix: $part"; }
    sed 's/^"//; s/"$//; s/\\n/\n/g' "$work/part" >"$work/nix.$part"
  done
  [ "$(cat "$work/nix.version")" = "$version" ] || fail "nix: the version is $(cat "$work/nix.version")"
  [ "$(cat "$work/nix.source")" = "$root" ] || fail "nix: the source is $(cat "$work/nix.source")"
  port nix 4 'ocl-icd opencl-headers xxhash pkg-config'
else
  echo 'SKIP nix: there is no nix-instantiate'
fi
exit $failed
