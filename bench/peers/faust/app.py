"""The simple fold on stock Faust: an agent, a table in RocksDB, and a topic to answer on."""

from __future__ import annotations

from typing import Any

import faust
from faust.serializers import codecs

from bench.peers.arguments import Arguments, mark, read_arguments
from bench.streams.codec import Plain, decode_event, encode_answer
from bench.streams.status import TABLE, answer_to, is_newer, status_of


class Avro(codecs.Codec):
    """Events in, answers out."""

    def _loads(self, value: bytes) -> Plain:
        return decode_event(value)

    def _dumps(self, plain: Plain) -> bytes:
        return encode_answer(plain)


def create_app(arguments: Arguments) -> faust.App:
    """The app as the manual would write it, with Avro in place of JSON on its topics."""
    codecs.register("bench-avro", Avro())
    app = faust.App(
        arguments.app_id,
        broker=f"kafka://{arguments.bootstrap_servers}",
        store="rocksdb://",
        datadir=arguments.state_dir,
        topic_partitions=arguments.partitions,
        topic_replication_factor=1,
        web_enabled=False,
    )
    events = app.topic(arguments.source, key_type=str, value_serializer="bench-avro")
    answers = app.topic(arguments.output, key_type=str, value_serializer="bench-avro")
    statuses = app.Table(TABLE, partitions=arguments.partitions)
    started = False

    @app.agent(events)
    async def fold(stream: faust.StreamT[Any]) -> None:
        nonlocal started
        async for event in stream:
            if not started:
                started = True
                mark("first")
            meeting_id = event["meeting_id"]
            before = statuses.get(meeting_id)
            applied = is_newer(event, before)
            after = status_of(event) if applied or before is None else before
            if applied:
                statuses[meeting_id] = after
            await answers.send(key=meeting_id, value=answer_to(event, after=after, applied=applied))

    return app


def main() -> None:
    """Run one worker until SIGTERM."""
    faust.Worker(create_app(read_arguments()), loglevel="WARN").execute_from_commandline()


if __name__ == "__main__":
    main()
