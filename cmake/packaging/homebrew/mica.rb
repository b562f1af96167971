# Untried: a Homebrew formula of the tree that it lies in, for `brew install --HEAD cmake/packaging/homebrew/mica.rb`.
class Mica < Formula
  desc "Trains and runs neural networks on any OpenCL 1.2 device"
  license "MIT"
  head "file://#{File.expand_path("../../..", __dir__)}", using: :git, branch: "main"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "xxhash" => :build
  depends_on "cjson"
  depends_on "jpeg-turbo"
  depends_on "libdeflate"
  depends_on "libpng"
  depends_on "libmicrohttpd"
  depends_on "libsndfile"
  depends_on "libsodium"
  depends_on "pcre2"
  depends_on "protobuf-c"
  depends_on "utf8proc"
  uses_from_macos "expat"

  on_linux do
    depends_on "opencl-headers" => :build
    depends_on "opencl-icd-loader"
  end

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DMICA_BUILD_TESTS=OFF", "-DMICA_BUILD_SAMPLES=OFF",
           "-DMICA_WITH_CLBLAST=OFF", "-DMICA_WITH_MPI=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "mica", shell_output("#{bin}/mica version")
  end
end
