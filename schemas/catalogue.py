"""Which records exist: the one list that the codec, the topics and the tests share."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.records import meeting_commands, meeting_events, room_events, security_alerts, tables, zoom_events

RECORDS: Mapping[str, type] = {
    record.__name__: record
    for record in (
        zoom_events.ZoomEvent,
        room_events.RoomEvent,
        room_events.RoomEntry,
        meeting_commands.CreateMeeting,
        meeting_commands.ChangeMeeting,
        meeting_commands.CancelMeeting,
        meeting_commands.RetryRoom,
        meeting_commands.AddRegistrant,
        meeting_commands.SetRegistrant,
        meeting_commands.RecordRegistrantOutcome,
        meeting_commands.RecordRoomOutcome,
        meeting_events.MeetingEvent,
        meeting_events.MeetingState,
        meeting_events.CommandAnswer,
        meeting_events.RegistrantState,
        security_alerts.SecurityAlert,
        tables.Revised,
    )
}
