"""Calls QStash's Python client: each line of the input is a call as JSON, each line of the output is its result.

["message.cancel_many", {"message_ids": ["…"]}]  →  {"value": 1} or {"error": "…"}
"""

import dataclasses
import enum
import json
import os
import sys

from qstash import QStash, Receiver
from qstash.log import LogState

# The client prints what it lists.
results, sys.stdout = sys.stdout, open(os.devnull, "w")

client = QStash(os.environ["QSTASH_TOKEN"], retry=False, base_url=os.environ["QSTASH_URL"])
client.receiver = Receiver(
    os.environ["QSTASH_CURRENT_SIGNING_KEY"], os.environ["QSTASH_NEXT_SIGNING_KEY"]
)


def plain(value):
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(f"{value!r} has no JSON")


def call(name, arguments):
    method = client
    for part in name.split("."):
        method = getattr(method, part)
    log_filter = arguments.get("filter", {})
    if "state" in log_filter:
        log_filter["state"] = LogState(log_filter["state"])
    return method(**arguments)


for line in sys.stdin:
    try:
        result = {"value": call(*json.loads(line))}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result, default=plain), file=results, flush=True)
