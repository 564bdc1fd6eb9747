#!/usr/bin/env python3
"""Builds all tests of the workspace and runs their binaries in lanes, side by side.

lanes.py LANES LOGS. `cargo test` runs one binary after the other, and a binary that mostly waits leaves the processors
idle. Here the binaries share LANES lanes, the longest first. The output of each goes to a file in the folder LOGS, and
is printed when it has ended, so that lines of two are never mixed. The exit status is 1 if a test failed or a binary did
not build.
"""
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

# Run before all others and alone: they judge how late a load generator is, and a busy machine makes it late. They wait
# and compute next to nothing, so many run at once.
ALONE = [("lab", "faults")]
THREADS_ALONE = 16
# Binaries that take longest, in this order; all others follow.
FIRST = ["e2e", "lab", "faults", "http_edge", "repository"]


def built():
    """Builds the tests; returns (name, package directory, binary) of each."""
    words = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    build = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if build.returncode != 0:
        sys.exit(1)
    found = []
    for line in build.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            found.append((message["target"]["name"], Path(message["manifest_path"]).parent, message["executable"]))
    order = {name: place for place, name in enumerate(FIRST)}
    return sorted(found, key=lambda test: order.get(test[0], len(FIRST)))


def run(binary, folder, log, variables):
    """Runs one binary with its output in a file. Returns its exit status, and seconds on the clock and of processors."""
    begun = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen([binary], cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - begun, used.ru_utime + used.ru_stime


def main():
    waiting = built()
    alone = [test for test in waiting if (test[1].name, test[0]) in ALONE]
    waiting = [test for test in waiting if test not in alone]
    logs, lock, failed = Path(sys.argv[2]), threading.Lock(), []
    logs.mkdir(parents=True, exist_ok=True)

    def lane(tests, variables):
        while True:
            with lock:
                if not tests:
                    return
                name, folder, binary = tests.pop(0)
            log = logs / f"{folder.name}-{name}.log"
            status, seconds, used = run(binary, folder, log, variables)
            with lock:
                print(f"-- {name} of {folder.name}, {seconds:.0f} s, {used:.0f} s of processor time", flush=True)
                print(log.read_text(errors="replace"), flush=True)
                if status != 0:
                    failed.append(f"{name} of {folder.name}")

    lane(alone, os.environ | {"RUST_TEST_THREADS": str(THREADS_ALONE)})
    lanes = [threading.Thread(target=lane, args=[waiting, os.environ]) for _ in range(int(sys.argv[1]))]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
