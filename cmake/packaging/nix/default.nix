# Untried: a nix expression of the tree that it lies in, for `nix-build cmake/packaging/nix`.
{ pkgs ? import <nixpkgs> { } }:

let
  root = ../../..;
  line = builtins.head (builtins.filter (text: pkgs.lib.hasPrefix "project(mica VERSION " text)
    (pkgs.lib.splitString "\n" (builtins.readFile (root + "/CMakeLists.txt"))));
in
pkgs.stdenv.mkDerivation {
  pname = "mica";
  version = builtins.elemAt (pkgs.lib.splitString " " line) 2;
  src = pkgs.lib.cleanSource root;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config protobufc ];
  buildInputs = with pkgs; [
    cjson
    clblast
    expat
    libdeflate
    libjpeg
    libpng
    libmicrohttpd
    libsndfile
    libsodium
    ocl-icd
    opencl-headers
    pcre2
    protobufc
    utf8proc
    (pkgs.xxhash or pkgs.xxHash) # the name that nixpkgs gives it, and the older one
  ];
  cmakeFlags = [ "-DMICA_BUILD_TESTS=OFF" "-DMICA_BUILD_SAMPLES=OFF" "-DMICA_WITH_MPI=OFF" ];
  meta = {
    description = "Trains and runs neural networks on any OpenCL 1.2 device";
    license = pkgs.lib.licenses.mit;
    platforms = pkgs.lib.platforms.linux;
  };
}
