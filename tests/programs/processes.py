# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python's ways to start others: subprocess (vfork), multiprocessing (fork and
spawn), os.fork, threads. Every process writes a file of its own."""
import multiprocessing
import os
import subprocess
import sys
import threading


def write(name):
    with open(name, "wb", buffering=0) as raw:
        for n in range(10):
            raw.write(b"%5d\n" % n)
    return name


if __name__ == "__main__":
    with open("inherited", "wb", buffering=0) as inherited:
        inherited.write(b"parent\n")
        for n in range(5):
            done = subprocess.run([sys.executable, "-c", "print('from a child', flush=True)"],
                                  stdout=inherited, close_fds=True, check=True)
            inherited.write(b"parent again\n")
    out = subprocess.run("cat inherited | sort | uniq -c", shell=True, capture_output=True, check=True)
    print(out.stdout.decode(), end="")

    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(sorted(pool.map(write, [f"forked{n}" for n in range(6)])))
    spawned = multiprocessing.get_context("spawn").Process(target=write, args=("spawned",))
    spawned.start()
    spawned.join()
    threads = [threading.Thread(target=write, args=(f"thread{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        write("child")
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    print([len(open(name, "rb").read()) for name in ("spawned", "child", "forked0", "thread7")])
