"""Judges the captured frames by the models of the Python SDK.

Each file in AGUI_CAPTURE_DIR is one stream, one event per line. A frame must validate as an ``Event``, hold nothing
the models have no field for, and come back as the same JSON when the model is written out again.
"""

import json
import os
import pathlib
import unittest

from ag_ui.core import Event, EventType
from pydantic import BaseModel, TypeAdapter, ValidationError

EVENT = TypeAdapter(Event)
CAPTURES = pathlib.Path(os.environ["AGUI_CAPTURE_DIR"])
FILES = sorted(CAPTURES.glob("*.ndjson"))


def extras(value, path=""):
    """Yields the path of every member that the models keep without knowing it."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            yield f"{path}/{name}"
        for name in type(value).model_fields:
            yield from extras(getattr(value, name), f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from extras(item, f"{path}/{index}")


def judge(frame):
    """Raises unless the frame is what the models describe."""
    model = EVENT.validate_python(frame)
    unknown = list(extras(model))
    if unknown:
        raise AssertionError(f"members unknown to the models: {unknown}")
    again = EVENT.dump_python(model, mode="json", by_alias=True, exclude_unset=True)
    if again != frame:
        raise AssertionError(f"written out again it is {json.dumps(again)}")


def frames_of(file):
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Frames(unittest.TestCase):
    """One test per captured stream is added below."""

    def test_streams_were_captured(self):
        self.assertGreater(len(FILES), 200)

    def test_every_event_type_was_captured(self):
        seen = {frame["type"] for file in FILES for frame in frames_of(file)}
        self.assertEqual(seen, {kind.value for kind in EventType})

    def test_broken_frames_are_found(self):
        for frame in (
            {"type": "CUSTOM", "name": "x"},
            {"type": "CUSTOM", "name": "x", "value": 1, "extra": 1},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 5},
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "interrupt", "interrupts": []}},
            {"type": "MOOD_CHANGED"},
        ):
            with self.subTest(frame=frame), self.assertRaises((ValidationError, AssertionError)):
                judge(frame)


def stream_test(file):
    def test(self):
        frames = frames_of(file)
        self.assertTrue(frames, "an empty stream")
        for number, frame in enumerate(frames):
            with self.subTest(frame=number, event=frame.get("type")):
                judge(frame)

    return test


for _file in FILES:
    setattr(Frames, f"test_{_file.stem.replace('-', '_').replace('.', '_')}", stream_test(_file))


if __name__ == "__main__":
    unittest.main()
