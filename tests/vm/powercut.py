# SPDX-License-Identifier: Apache-2.0
"""Contents of a disk with a volatile cache after a power cut.

QEMU's blklogwrites keeps every write and flush of a machine's disk, in the format of the kernel's dm-log-writes. A write
before the last flush is on the disk. Any of the later writes may be on it, in any order, each completely or up to a sector. A cut
is a position in the log and a choice of writes, so it can be repeated.

ext4 refuses to mount if the last commit block of its journal is incomplete ("JBD2: journal transaction N is corrupt"), so a
disk must write these 4 KiB completely or not at all. Therefore a write that contains a block of the journal ends at a block.
"""

import contextlib
import os
import struct

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4
SECTOR, BLOCK = 512, 4096
JBD2_MAGIC = b"\xc0\x3b\x39\x98"  # at the start of a descriptor, commit or revoke block of ext4's journal


class Write:
    def __init__(self, offset, data):
        self.offset, self.data = offset, data


def entries(path):
    """Returns the log as a list: a Write, or None for a flush."""
    out = []
    with open(path, "rb") as f:
        magic, _, _, sector = struct.unpack("<QQQI", f.read(28))
        assert magic == MAGIC, "not a log of writes"
        at, size = sector, os.path.getsize(path)
        while at + sector <= size:
            f.seek(at)
            where, n, flags, _ = struct.unpack("<QQQQ", f.read(32))
            if not (where or n or flags):
                break
            at += sector
            if n and flags & DISCARD:
                out.append(Write(where * sector, None))  # Later reads may return anything. The old contents stay.
            elif n:
                out.append(Write(where * sector, _at(f, at, n * sector)))
                at += n * sector
            if flags & (FLUSH | FUA):
                out.append(None)
    return out


def _at(f, at, size):
    f.seek(at)
    return f.read(size)


def whole(log):
    """Returns all writes, as after a shutdown."""
    return [e for e in log if e]


def _unit(data):
    """Returns the number of bytes that the disk writes completely or not at all."""
    return BLOCK if any(data.startswith(JBD2_MAGIC, at) for at in range(0, len(data), BLOCK)) else SECTOR


def cut(log, at, rng):
    """Returns the writes that are on the disk if the power is cut after entry `at`."""
    flushed = max((i for i in range(at) if log[i] is None), default=0)
    kept = [e for e in log[:flushed] if e]
    loose = [e for e in log[flushed:at] if e]
    share = rng.choice([0.0, 0.3, 0.7, 1.0])
    for e in loose:
        if e.data is None or rng.random() >= share:
            continue
        unit = _unit(e.data)
        n = len(e.data) // unit
        if rng.random() < 0.25 and n > 1:  # incomplete
            e = Write(e.offset, e.data[: unit * rng.randrange(1, n)])
        kept.append(e)
    return kept


@contextlib.contextmanager
def patched(path, writes):
    """Applies these writes to the disk in order until the end of the with block."""
    undo = []
    with open(path, "r+b", buffering=0) as f:

        def put(offset, data):
            f.seek(offset)
            done = 0
            while done < len(data):
                done += f.write(data[done:])

        try:
            for e in writes:
                if e.data is None:
                    continue
                undo.append((e.offset, _at(f, e.offset, len(e.data))))
                put(e.offset, e.data)
            yield
        finally:
            for offset, data in reversed(undo):
                put(offset, data)
