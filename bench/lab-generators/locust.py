"""The scenario of bench/lab-scenario for locust: eight of ten get one of the documents, two put one."""
import itertools
import os
import random

from locust import FastHttpUser, constant, events, task

with open(os.environ["LAB_PATHS"], encoding="utf-8") as file:
    PATHS = file.read().split()
NEW = os.environ["LAB_NEW"]
BODY = b"x" * int(os.environ["LAB_SIZE"])
NUMBERS = itertools.count()


class Visitor(FastHttpUser):
    wait_time = constant(0)

    @task(8)
    def get(self):
        self.client.get(random.choice(PATHS), name="get")

    @task(2)
    def put(self):
        self.client.put(f"{NEW}locust-{next(NUMBERS)}", data=BODY, name="put")


@events.quitting.add_listener
def say(environment, **_):
    total = environment.stats.total
    print(f"lab-count {total.num_requests - total.num_failures} {total.num_failures}")
