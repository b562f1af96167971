# Conan 2 package of Mica, which uses the system's libraries:
#
#   conan create cmake/packaging/conan
#
# Libraries come from the system's packages. Conan checks that Debian's are installed, and installs them with
# -c tools.system.package_manager:mode=install. The package has the shared and the static libraries; a consumer finds
# mica::mica, mica::run and the static ones by find_package(mica), as with any installed Mica.
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0"

# Option, Debian packages: an optional library of Mica (mica_feature in CMakeLists.txt).
FEATURES = {
    "clblast": ["libclblast-dev"],
    "deflate": ["libdeflate-dev"],
    "png": ["libpng-dev"],
    "jpeg": ["libjpeg-dev"],
    "cjson": ["libcjson-dev"],
    "pcre2": ["libpcre2-dev"],
    "utf8proc": ["libutf8proc-dev"],
    "expat": ["libexpat1-dev"],
    "sndfile": ["libsndfile1-dev"],
    "sodium": ["libsodium-dev"],
    "onnx": ["libprotobuf-c-dev", "protobuf-c-compiler"],
    "mpi": ["libopenmpi-dev"],
    "microhttpd": ["libmicrohttpd-dev"],
}


class MicaRecipe(ConanFile):
    name = "mica"
    package_type = "shared-library"
    license = "MIT"
    description = "Trains and runs neural networks on any OpenCL 1.2 device"
    topics = ("deep-learning", "opencl", "onnx")
    settings = "os", "arch", "compiler", "build_type"
    options = {"command": [True, False], **{f"with_{name}": [True, False] for name in FEATURES}}
    default_options = {"command": False, **{f"with_{name}": name != "mpi" for name in FEATURES}}

    @property
    def _root(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(mica VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for folder in ("cl", "cmake", "include", "src"):
            copy(self, "*", os.path.join(self._root, folder), os.path.join(self.export_sources_folder, folder),
                 excludes="packaging/conan/*")
        for file in ("CMakeLists.txt", "LICENSE"):
            copy(self, file, self._root, self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")  # Mica is C
        self.settings.rm_safe("compiler.cppstd")

    def _features(self):
        return [name for name in FEATURES if self.options.get_safe(f"with_{name}")]

    def system_requirements(self):
        packages = ["ocl-icd-opencl-dev", "opencl-c-headers", "libxxhash-dev"]
        for name in self._features():
            packages += FEATURES[name]
        Apt(self).install(packages, check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("CLI", "SAMPLES", "TESTS", "BENCH"):
            toolchain.cache_variables[f"MICA_BUILD_{name}"] = name == "CLI" and bool(self.options.command)
        for name in FEATURES:
            toolchain.cache_variables[f"MICA_WITH_{name.upper()}"] = bool(self.options.get_safe(f"with_{name}"))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The installed CMake package knows all libraries and what the static ones stand on.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "mica")]
        self.cpp_info.libs = ["mica_run", "mica"]
        if self.options.command:
            self.buildenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))
