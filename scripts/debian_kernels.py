# SPDX-License-Identifier: BSD-2-Clause
"""Kernels of Debian and Ubuntu, and how to boot one in an emulator: what scripts that do so share.

A kernel is a package, fetched once into ~/.cache/bpftruss-kernels with apt, which checks its
signature. DEBIAN_MIRROR and UBUNTU_MIRROR are where packages come from; else where apt of this
machine has those of that distribution, or debootstrap would have them.
"""

import collections
import glob
import os
import re
import subprocess
import tempfile
import zlib
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHES = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
CACHE = os.path.join(CACHES, "bpftruss-kernels")
KEYRINGS = "/usr/share/keyrings"
EMULATOR = "qemu-system-x86_64"
UPDATE_EVERY_S = 86400  # what a suite has does not change every hour


class Skip(Exception):
    """Why something cannot be tested here."""


# --- packages ------------------------------------------------------------------------------------


# A distribution: what it calls itself, its keys and who has them, how packages of kernels are called.
# Since 6.19 what Debian called image is empty, and depends on a signed one and on binary.
Distribution = collections.namedtuple("Distribution", "name keys keys_package kernels")
DEBIAN = Distribution(
    "Debian", "debian-archive-keyring.gpg", "debian-archive-keyring",
    "^linux-(image|binary)-{version}([.+][^-]*)?(-[0-9]+)?{flavour}-{arch}$",
)  # fmt: skip
UBUNTU = Distribution(
    "Ubuntu", "ubuntu-archive-keyring.gpg", "ubuntu-keyring",
    "^linux-image-{version}[.][0-9]+-[0-9]+{flavour}$",
)  # fmt: skip
KEYS_SUITE = "trixie"  # of Debian; it has the keys of both, bookworm has only its own


def distribution_of(suite):
    return UBUNTU if suite.startswith("ubuntu/") else DEBIAN


def mirror(distribution=DEBIAN, release=""):
    name = distribution.name
    variable = name.upper() + "_MIRROR"
    if os.environ.get(variable):
        return os.environ[variable]
    sources = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    for line in sources.splitlines():
        if line.startswith(f"{name} {name} http"):
            return line.split()[2]
    found = debootstrap_mirror(release)
    if not found:
        raise Skip(f"apt has no mirror of {name} here: set {variable}")
    return found


def debootstrap_mirror(release):
    """Returns the mirror that debootstrap would use: its scripts know that of Ubuntu's releases."""
    script = "/usr/share/debootstrap/scripts/" + release
    if not os.path.isfile(script):
        return ""
    words = 'default_mirror() { echo "$1"; exit; }; . "$1"; exit 1'
    environment = {"ARCH": "amd64", "SUITE": release}
    argv = ["sh", "-c", words, "sh", script]
    result = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    return "" if result.returncode else result.stdout.strip()


def keyring(distribution):
    """The keys of a distribution: those of this machine, else as Debian packages them."""
    keys = os.path.join(KEYRINGS, distribution.keys)
    if os.path.exists(keys):
        return keys
    if distribution is DEBIAN:
        raise Skip(f"no {keys} here: install {distribution.keys_package}")
    fetched = os.path.join(CACHE, distribution.keys)
    if not os.path.exists(fetched):
        os.makedirs(CACHE, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            Suite(KEYS_SUITE).unpack([distribution.keys_package], folder + "/root")
            os.rename(folder + "/root" + keys, fetched)
    return fetched


class Suite:
    """Holds what apt knows of a suite, apart from what this machine has installed: ubuntu/jammy."""

    def __init__(self, place, arch="amd64"):
        self.name = place.rpartition("/")[2]
        self.distribution = distribution_of(place)
        self.arch = arch
        of_arch = "" if arch == "amd64" else "-" + arch
        self.folder = os.path.join(CACHE, "apt", self.name + of_arch)

    def apt(self, *command, **options):
        folder = self.folder
        argv = [command[0], "-q"]
        for option in (
            f"Dir::Etc::SourceList={folder}/sources.list",
            "Dir::Etc::SourceParts=/dev/null",
            "Dir::Etc::Preferences=/dev/null",
            "Dir::Etc::PreferencesParts=/dev/null",
            f"Dir::State={folder}/state",
            f"Dir::State::Status={folder}/status",
            f"Dir::Cache={folder}/cache",
            f"APT::Architecture={self.arch}",
            f"APT::Architectures={self.arch}",
            "APT::Update::Post-Invoke-Success::=true",
            "Acquire::Languages=none",
            # An old suite is not signed anew.
            "Acquire::Check-Valid-Until=false",
            "Acquire::Retries=2",
            "Acquire::http::Timeout=30",
            "APT::Sandbox::User=root",
        ):
            argv += ["-o", option]
        return subprocess.run(
            argv + list(command[1:]), capture_output=True, text=True, check=False, **options
        )

    def update(self):
        keys = keyring(self.distribution)
        stamp = os.path.join(self.folder, "updated")
        if os.path.exists(stamp) and time.time() - os.path.getmtime(stamp) < UPDATE_EVERY_S:
            return
        for folder in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        open(os.path.join(self.folder, "status"), "w", encoding="ascii").close()
        release = self.name.partition("-")[0]
        source = f"{mirror(self.distribution, release)} {self.name} main"
        with open(os.path.join(self.folder, "sources.list"), "w", encoding="ascii") as sources:
            sources.write(f"deb [signed-by={keys}] {source}\n")
        result = self.apt("apt-get", "update", "--error-on=any")
        if result.returncode:
            raise Skip(f"suite {self.name} cannot be reached: {last_line(result.stderr)}")
        open(stamp, "w", encoding="ascii").close()

    def newest(self, kernel):
        """The name and version of the newest package with the kernel itself."""
        self.update()
        version, _, flavour = kernel.partition("-")
        shape = self.distribution.kernels.format(
            version=re.escape(version), flavour="-" + flavour if flavour else "", arch=self.arch
        )
        names = self.apt("apt-cache", "search", "--names-only", shape).stdout.splitlines()
        names = [line.split()[0] for line in names]
        names = [n for n in names if n.startswith("linux-binary")] or names
        # Packages that only depend on the present one do not count.
        names = [n for n in names if n not in (f"linux-image-{kernel}-{self.arch}",)]
        if not names:
            raise Skip(f"suite {self.name} has no kernel {kernel}")
        shown = self.apt("apt-cache", "show", "--no-all-versions", *names).stdout
        found = []
        stanza = r"^Package: (\S+)\n(?:.*\n)*?Version: (\S+)$"
        for name, packaged in re.findall(stanza, shown, re.M):
            found.append(([int(n) for n in re.findall("[0-9]+", packaged)], name, packaged))
        return max(found)[1:]

    def fetch(self, package, target):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            result = self.apt("apt-get", "download", package, cwd=folder)
            debs = glob.glob(folder + "/*.deb")
            if result.returncode or not debs:
                raise Skip(f"{package} cannot be fetched: {last_line(result.stderr)}")
            unpack = ["dpkg-deb", "-x", debs[0], folder + "/root"]
            if subprocess.run(unpack, check=False).returncode:
                raise Skip(f"{package} cannot be unpacked")
            images = glob.glob(folder + "/root/boot/vmlinuz-*")
            images += glob.glob(folder + "/root/usr/lib/modules/*/vmlinuz")
            if len(images) != 1:
                raise Skip(f"{package} has no kernel in it")
            os.replace(images[0], target)

    def unpack(self, packages, folder):
        """All these packages and what they depend on, in one tree."""
        self.update()
        wanted = ["apt-get", "install", "-y", "--no-install-recommends", "--download-only"]
        result = self.apt(*wanted, *packages)
        if result.returncode:
            raise Skip(f"packages of {self.arch} cannot be fetched: {last_line(result.stderr)}")
        for name in ("bin", "sbin", "lib"):
            os.makedirs(os.path.join(folder, "usr", name))
            os.symlink("usr/" + name, os.path.join(folder, name))
        for deb in glob.glob(self.folder + "/cache/archives/*.deb"):
            files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
            unpack = ["tar", "-x", "--keep-directory-symlink", "-C", folder]
            unpacked = subprocess.run(unpack, stdin=files.stdout, check=False)
            if files.wait() or unpacked.returncode:
                raise Skip(f"{os.path.basename(deb)} cannot be unpacked")
            os.remove(deb)
        links_make_relative(folder)


def links_make_relative(folder):
    """So that absolute links of packages lead to files below the folder."""
    for place, folders, files in os.walk(folder):
        for path in (os.path.join(place, name) for name in folders + files):
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(folder + os.readlink(path), place)
                os.remove(path)
                os.symlink(target, path)


def last_line(text):
    return (text.strip().splitlines() or ["?"])[-1]


def images_known(image):
    return glob.glob(glob.escape(os.path.join(CACHE, image + "_")) + "*")


def kernel_image(suites, kernel):
    """The file of a Kernel's newest build; an older one only where the suite is out of reach."""
    place = (kernel.suite, kernel.arch)
    suite = suites.setdefault(place, Suite(*place))
    os.makedirs(CACHE, exist_ok=True)
    try:
        package, version = suite.newest(kernel.version)
        path = os.path.join(CACHE, f"{kernel.image}_{package}_{version}")
        if not os.path.exists(path):
            suite.fetch(package, path)
            for older in set(images_known(kernel.image)) - {path}:
                os.remove(older)
        return path, version
    except Skip:
        known = images_known(kernel.image)
        if not known:
            raise
        return known[0], known[0].rpartition("_")[2]


# --- other architectures -------------------------------------------------------------------------

# bpftruss links and live tests run these; 32-bit Arm only gives the numbers of its calls.
SYSROOT_PACKAGES = {
    "arm64": "libbpf-dev libelf-dev libdw-dev libcap-dev libinih-dev libjansson-dev libmicrohttpd-dev "
    "libgnutls28-dev libcurl4-gnutls-dev "
    "libseccomp-dev libncurses-dev libsqlite3-dev libiberty-dev zlib1g-dev libc6-dev libgcc-12-dev "
    "linux-libc-dev bpftool elfutils binutils busybox python3-minimal libpython3-stdlib "
    "python3-pytest",
    "armhf": "linux-libc-dev",
}


def sysroot(suite):
    """The folder with packages of another architecture; unpacked when it is not there."""
    if suite.arch not in SYSROOT_PACKAGES:
        raise Skip(f"not one of {' '.join(SYSROOT_PACKAGES)}: {suite.arch}")
    # A sysroot of other packages is another one.
    packages = zlib.crc32(SYSROOT_PACKAGES[suite.arch].encode())
    folder = os.path.join(CACHE, f"sysroot-{suite.arch}-{suite.name}-{packages:08x}")
    if os.path.exists(folder):
        return folder
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        suite.unpack(SYSROOT_PACKAGES[suite.arch].split(), work + "/root")
        os.rename(work + "/root", folder)
    return folder


# --- emulator ------------------------------------------------------------------------------------


# A machine of an architecture has these: its devices, where the kernel writes, where results go,
# how many processors there may be, and what it takes to have more.
FIELDS = "triple emulator devices console results cpus more_cpus"
Machine = collections.namedtuple("Machine", FIELDS)
# Since 9.0 the emulator has what this needs without help from the host's kernel.
MORE_OF_X86 = ("-cpu", "max", "-machine", "q35", "-device", "intel-iommu,intremap=on,eim=on")
MORE_OF_ARM = ("-machine", "gic-version=3")
TWO_LINES = ("-serial", "file:{}", "-serial", "file:{}")
ONE_LINE = ("-serial", "file:{}", "-chardev", "file,id=results,path={}")
MACHINES = {
    # On a processor with fast string instructions (ERMS) the kernel uses these, which are slow here.
    "amd64": Machine(
        "x86_64-linux-gnu", EMULATOR, ("-cpu", "qemu64,+rdrand") + TWO_LINES, "ttyS0", "ttyS1",
        255, MORE_OF_X86,
    ),
    # Its pointers would be signed by a cipher that takes an emulator as long as all the rest.
    "arm64": Machine(
        "aarch64-linux-gnu", "qemu-system-aarch64",
        ("-machine", "virt", "-cpu", "max,pauth-impdef=on") + ONE_LINE
        + ("-device", "pci-serial,chardev=results"),
        "ttyAMA0", "ttyS0",
        8, MORE_OF_ARM,
    ),
}  # fmt: skip


COLUMNS = "image suite expected emulator words"


class Kernel(collections.namedtuple("Kernel", COLUMNS + " cpus", defaults=(2,))):
    """A row of tests/kernels/kernels, without its name; and how many processors it is to have."""

    @property
    def version(self):
        return self.image.partition(":")[0]

    @property
    def arch(self):
        return self.image.partition(":")[2] or "amd64"


def read_kernels():
    """{name: Kernel} of tests/kernels/kernels."""
    with open(os.path.join(TOP, "tests/kernels/kernels"), encoding="utf-8") as lines:
        rows = [line for line in lines if line.strip() and not line.startswith("#")]
    found = {}
    for row in rows:
        # The last column is the rest of the line.
        name, *columns = row.split(maxsplit=len(COLUMNS.split()))
        columns[-1] = "" if columns[-1].strip() == "-" else columns[-1].strip()
        found[name] = Kernel(*columns)
    return found


def archive_make(folder, archive):
    """Packs all files below a folder, the way a kernel unpacks them, without compression."""
    with open(archive, "wb") as out:
        subprocess.run(
            "find . | busybox cpio -o -H newc 2>/dev/null",
            shell=True,
            cwd=folder,
            stdout=out,
            check=True,
        )


def boot(image, archive, kernel, memory_mib, serial, words, limit_s):
    """Runs a machine until it switches itself off, or for so long; two serial lines go to files."""
    machine, lines = MACHINES[kernel.arch], iter(serial)
    argv = [machine.emulator, "-accel", kernel.emulator, "-smp", str(kernel.cpus)]
    argv += ["-m", str(memory_mib)]
    argv += ["-kernel", image, "-initrd", archive, "-no-reboot", "-display", "none"]
    argv += ["-monitor", "none", "-nic", "none"]
    # Nobody attacks this machine, and an emulator takes long over the fences.
    argv += ["-append", f"console={machine.console} panic=-1 mitigations=off {words}"]
    argv += [word.format(next(lines)) if "{}" in word else word for word in machine.devices]
    if kernel.cpus > machine.cpus:
        argv += machine.more_cpus
    for path in serial:
        if os.path.exists(path):
            os.remove(path)
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        pass
