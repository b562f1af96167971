# Builds and runs the consumer of tests/consumer with the package.
import os

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join(self.recipe_folder, *[".."] * 4, "tests", "consumer", "cmake"))
        cmake.build()

    def test(self):
        CMake(self).ctest(["--output-on-failure", "--no-tests=error"])
