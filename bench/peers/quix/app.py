"""The simple fold on Quix Streams: a stateful function on a dataframe, between two Avro topics."""

from __future__ import annotations

from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]  # has an environment of its own
from quixstreams.models.serializers.avro import (  # type: ignore[import-not-found]  # the same
    AvroDeserializer,
    AvroSerializer,
)

from bench.peers.arguments import Arguments, mark, read_arguments
from bench.streams.codec import Plain, schema
from bench.streams.status import TABLE, answer_to, is_newer, status_of


def create_app(arguments: Arguments) -> Application:
    """The application as the manual would write it, with Quix's defaults."""
    app = Application(
        broker_address=arguments.bootstrap_servers,
        consumer_group=arguments.app_id,
        auto_offset_reset="earliest",
        state_dir=arguments.state_dir,
        loglevel="WARNING",
    )
    events = app.topic(arguments.source, value_deserializer=AvroDeserializer(schema("Event")), key_deserializer="str")
    answers = app.topic(arguments.output, value_serializer=AvroSerializer(schema("Answer")), key_serializer="str")
    started = False

    def fold(event: Plain, state: State) -> Any:
        nonlocal started
        if not started:
            started = True
            mark("first")
        before = state.get(TABLE)
        applied = is_newer(event, before)
        after = status_of(event) if applied else before
        if applied:
            state.set(TABLE, after)
        return answer_to(event, after=after, applied=applied)

    app.dataframe(events).apply(fold, stateful=True).to_topic(answers)
    return app


def main() -> None:
    """Run until SIGTERM."""
    create_app(read_arguments()).run()


if __name__ == "__main__":
    main()
