#!/usr/bin/env python3
"""Builds all tests of the workspace and runs their binaries in lanes, side by side.

lanes.py LANES LOGS. `cargo test` runs one binary after the other, and a binary that mostly waits leaves the processors
idle. Here the binaries share LANES lanes, the longest first. The output of each goes to a file in the folder LOGS, and
is printed when the binary has ended, so that lines of two are never mixed. The exit status is 1 if a test failed or a
binary did not build.
"""
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def main():
    waiting = [(name, [binary], folder) for name, folder, binary in built()]
    waiting.append(("doc", ["cargo", "test", "--workspace", "--locked", "--doc"], Path.cwd()))
    logs, lock, failed = Path(sys.argv[2]), threading.Lock(), []
    logs.mkdir(parents=True, exist_ok=True)

    def lane():
        while True:
            with lock:
                if not waiting:
                    return
                name, words, folder = waiting.pop(0)
            begun, log = time.monotonic(), logs / f"{folder.name}-{name}.log"
            with log.open("w") as output:
                ended = subprocess.run(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
            with lock:
                print(f"-- {name} of {folder.name}, {time.monotonic() - begun:.0f} s", flush=True)
                print(log.read_text(errors="replace"), flush=True)
                if ended.returncode != 0:
                    failed.append(f"{name} of {folder.name}")

    lanes = [threading.Thread(target=lane) for _ in range(int(sys.argv[1]))]
    for each in lanes:
        each.start()
    for each in lanes:
        each.join()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
