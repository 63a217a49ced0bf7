# SPDX-License-Identifier: BSD-2-Clause
"""Packs what live tests run on a kernel in an emulator: from this machine, or from a sysroot."""

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig

from debian_kernels import TOP, Skip, archive_make

# No test imports these parts of the standard library, which are much of its size.
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3",
    "pydoc_data", "config-*", "dist-packages", "site-packages", "distutils",
)  # fmt: skip
PROGRAMS = ["bpftool", "eu-stack", "readelf", "c++filt"]
# Imports all that a run does, and names it.
LIST_MODULES = """
import sys, runpy
sys.argv = ["pytest", "--version", "-p", "no:cacheprovider"]
import pytest, _pytest.junitxml
try:
    pytest.main(["--co", "-q", "-p", "no:cacheprovider", sys.executable + "/none"])
finally:
    import os
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if "-packages/" in path:
            root, _, rest = path.partition("-packages/")
            print("MODULE", root + "-packages/" + rest.partition("/")[0])
"""


class Root:
    """The tree of an initramfs. Subclasses say where programs, Python and libraries come from."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = set()

    def path(self, target):
        path = self.folder + target
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add(self, source, target):
        """A file, and if it is a program all libraries that it needs."""
        shutil.copy2(source, self.path(target))
        self.add_libraries(source)

    def add_tree(self, source, target, ignore=None):
        shutil.copytree(source, self.path(target), ignore=ignore, dirs_exist_ok=True)

    def add_module(self, path):
        target = "/pytest/" + os.path.basename(path)
        if os.path.isdir(path):
            self.add_tree(path, target, LEFT_OUT)
        else:
            shutil.copy2(path, self.path(target))

    def add_stdlib(self, source, target):
        self.add_tree(source, target, LEFT_OUT)
        for module in glob.glob(source + "/lib-dynload/*.so"):
            self.add_libraries(module)

    def compile_modules(self):
        """Once here, not by an emulated machine at each boot."""
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "-s", self.folder, self.folder],
            stdout=subprocess.DEVNULL,
            check=False,
        )

    def add_project(self, build):
        self.add(os.path.join(build, "bpftruss"), "/build/bpftruss")
        if os.path.exists(os.path.join(build, "bpftruss-static")):
            self.add(os.path.join(build, "bpftruss-static"), "/build/bpftruss-static")
        for name in ("busy", "steer", "verifier"):
            self.add(os.path.join(build, "collect", name), "/build/collect/" + name)
        for path in glob.glob(build + "/workloads/*") + glob.glob(build + "/stacks/chain-clang*"):
            self.add(path, "/build" + path[len(build) :])
        for folder in ("live", "kernels"):
            self.add_tree(os.path.join(TOP, "tests", folder), "/tests/" + folder)
        self.add(os.path.join(TOP, "tests/kernels/init"), "/init")


class RootOfMachine(Root):
    """All as it is here: files stand where they stand here."""

    def add_libraries(self, source):
        listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False)
        for library in re.findall(r"(?:=> |^\t)(/\S+) \(0x", listed.stdout, re.M):
            if library not in self.seen:
                self.seen.add(library)
                shutil.copy2(library, self.path(library))

    def add_python(self):
        python = os.path.realpath(sys.executable)
        self.add(python, python)
        if python != "/usr/bin/python3":
            os.symlink(python, self.path("/usr/bin/python3"))
        stdlib = sysconfig.get_path("stdlib")
        self.add_stdlib(stdlib, stdlib)
        listed = subprocess.run(
            [sys.executable, "-c", LIST_MODULES], capture_output=True, text=True, check=False
        ).stdout
        for path in set(re.findall(r"^MODULE (.*)$", listed, re.M)):
            self.add_module(path)

    def add_programs(self):
        self.add(shutil.which("busybox"), "/bin/busybox")
        for name in PROGRAMS:
            path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
            if name == "bpftool":
                path = os.environ.get("BPFTOOL") or path
            if not path:
                raise Skip(f"no {name} here")
            self.add(os.path.realpath(path), "/usr/bin/" + name)


class RootOfSysroot(Root):
    """Programs and libraries of another architecture, from unpacked packages."""

    def __init__(self, folder, sysroot, triple):
        super().__init__(folder)
        self.sysroot = sysroot
        self.libraries = "/usr/lib/" + triple

    def add_libraries(self, source):
        listed = subprocess.run(["readelf", "-ld", source], capture_output=True, text=True,
                                check=False).stdout  # fmt: skip
        found = re.findall(r"Requesting program interpreter: (/\S+)\]", listed)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listed)
        for library in found + [self.libraries + "/" + name for name in needed]:
            if library not in self.seen and os.path.exists(self.sysroot + library):
                self.seen.add(library)
                self.add(self.sysroot + library, library)

    def add_python(self):
        (stdlib,) = glob.glob(self.sysroot + "/usr/lib/python3.*")
        name = os.path.basename(stdlib)
        self.add(self.sysroot + "/usr/bin/" + name, "/usr/bin/python3")
        self.add_stdlib(stdlib, "/usr/lib/" + name)
        for path in glob.glob(self.sysroot + "/usr/lib/python3/dist-packages/*"):
            self.add_module(path)

    def add_programs(self):
        self.add(self.sysroot + "/bin/busybox", "/bin/busybox")
        for name in PROGRAMS:
            (path,) = glob.glob(self.sysroot + "/usr/*bin/" + name)
            self.add(path, "/usr/bin/" + name)


def make(work, build, sysroot, triple):
    """
    Packs all that is to run, the same for each kernel of an architecture; with a sysroot of what is
    there. Returns the file.
    """
    folder, archive = os.path.join(work, "root"), os.path.join(work, "initramfs")
    shutil.rmtree(folder, ignore_errors=True)
    root = RootOfSysroot(folder, sysroot, triple) if sysroot else RootOfMachine(folder)
    for name in ("proc", "sys", "dev", "tmp", "root", "etc", "run"):
        os.makedirs(os.path.join(folder, name))
    root.add_programs()
    root.add_project(build)
    root.add_python()
    root.compile_modules()
    # Emulators of another run may be about to read the one there is.
    archive_make(folder, archive + ".new")
    os.replace(archive + ".new", archive)
    return archive
