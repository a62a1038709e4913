# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python's ways to a file. The interpreter decides on the calls: the tests
compare with strace."""
import mmap
import os
import shutil

with open("text", "w") as out:
    for n in range(2000):
        out.write(f"line {n}\n")
with open("text") as text:
    lines = text.readlines()
with open("binary", "wb", buffering=0) as raw:
    for n in range(50):
        raw.write(bytes([n]) * 100)
with open("binary", "r+b") as both:
    both.seek(1000)
    both.write(b"changed")
    both.seek(995)
    part = both.read(20)

descriptor = os.open("low", os.O_RDWR | os.O_CREAT, 0o644)
os.write(descriptor, b"0123456789")
os.pwrite(descriptor, b"xy", 4)
os.lseek(descriptor, 2, os.SEEK_SET)
low = os.read(descriptor, 100)
copy = os.dup(descriptor)
os.ftruncate(copy, 5)
os.fsync(copy)
os.close(descriptor)
os.close(copy)

shutil.copyfile("binary", "copied")
os.rename("copied", "renamed")
with open("renamed", "r+b") as mapped, mmap.mmap(mapped.fileno(), 0) as memory:
    memory[0:4] = b"mmap"
    memory.flush()
os.unlink("renamed")
print(len(lines), part, low)
