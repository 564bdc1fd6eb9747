"""The scenario of bench/lab-scenario for locust: eight of ten get one of the documents, two put one. With LAB_COMPARE each document is
compared with what it must be; LAB_CLIENT says which of locust's clients is used."""
import itertools
import os
import random
from urllib.parse import unquote

import locust
from locust import constant, events, task

with open(os.environ["LAB_PATHS"], encoding="utf-8") as file:
    PATHS = file.read().split()
NEW = os.environ["LAB_NEW"]
BODY = b"x" * int(os.environ["LAB_SIZE"])
NUMBERS = itertools.count()
CONTENTS = {}
if os.environ.get("LAB_COMPARE"):
    for path in PATHS:
        with open(os.environ["LAB_FILES"] + unquote(path), "rb") as file:
            CONTENTS[path] = file.read()


class Visitor(getattr(locust, os.environ.get("LAB_CLIENT", "FastHttpUser"))):
    wait_time = constant(0)

    @task(8)
    def get(self):
        path = random.choice(PATHS)
        if not CONTENTS:
            self.client.get(path, name="get")
            return
        with self.client.get(path, name="get", catch_response=True) as answer:
            if answer.content != CONTENTS[path]:
                answer.failure("other bytes")

    @task(2)
    def put(self):
        self.client.put(f"{NEW}locust-{next(NUMBERS)}", data=BODY, name="put")


@events.quitting.add_listener
def say(environment, **_):
    total = environment.stats.total
    print(f"lab-count {total.num_requests - total.num_failures} {total.num_failures}")
