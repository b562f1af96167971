"""Where this Python's packages have the libraries that mica-bench is built against: a line NAME=FOLDER for each, a
folder with include/ and lib/ in it. CMake reads it."""
from importlib import metadata

for name, package, header in (("OPENBLAS", "scipy-openblas32", "include/cblas.h"),
                              ("ONEDNN", "onednn-devel-cpu-gomp", "include/dnnl.h")):
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        continue
    for file in files:
        if file.as_posix().endswith(header):
            print(f"{name}={file.locate().resolve().parent.parent}")
            break
