# SPDX-License-Identifier: BSD-2-Clause
"""
A file system in user space that never tells what is in its one file, nor whether there is another one
named silent, like a server that is gone; and a program that waits for it for ever.
"""

import ctypes
import os
import struct
import sys

LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26
NODE, MODE, SIZE = 2, 0o100755, 4096
KEEP_CACHE = 2


def attributes(node):
    mode = 0o40755 if node == 1 else MODE
    return struct.pack("<6Q10I", node, SIZE, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


# What the kernel gets; a lookup's attributes are void at once, so that it asks for them again.
ANSWERS = {
    INIT: lambda node: struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 0, 0, 4096, 0, 1, 0, *[0] * 8),
    LOOKUP: lambda node: struct.pack("<4Q2I", NODE, 0, 3600, 0, 0, 0) + attributes(NODE),
    OPEN: lambda node: struct.pack("<Q2I", 0, KEEP_CACHE, 0),
    GETATTR: lambda node: struct.pack("<Q2I", 3600, 0, 0) + attributes(node) if node == 1 else None,
}


def serve(place):
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device
    if libc.mount(b"silent", place.encode(), b"fuse", 0, options):
        sys.exit(os.strerror(ctypes.get_errno()))
    while True:
        request = os.read(device, 1 << 17)
        _, code, unique, node = struct.unpack_from("<2I2Q", request)
        if code == LOOKUP and request[40:] == b"silent\0":
            continue
        answer = ANSWERS.get(code, lambda node: None)(node)
        if answer is None and code in (READ, GETATTR):
            continue
        error = 0 if answer is not None else -38
        answer = answer or b""
        os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


def victim(how, path):
    """
    Waits for the file for ever: in a read, in a call whose path is a page of it, or in one of two paths
    that lie close together.
    """
    descriptor = os.open(path, os.O_RDONLY)
    if how == "read":
        os.read(descriptor, 1)
    libc = ctypes.CDLL(None)
    if how == "rename":
        new = os.path.join(os.path.dirname(path), "silent").encode() + b"\0"
        names = ctypes.create_string_buffer(path.encode(), 2 * SIZE)
        second = ctypes.byref(names, SIZE - 3)
        ctypes.memmove(second, new, len(new))
        libc.rename(names, second)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(SIZE), 1, 1, descriptor, ctypes.c_long(0))
    libc.open(ctypes.c_void_p(page), 0)


if __name__ == "__main__":
    {"serve": serve, "victim": victim}[sys.argv[1]](*sys.argv[2:])
