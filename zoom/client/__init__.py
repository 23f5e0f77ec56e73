"""Zoom's REST API: one client, what its answers mean, and what a room looks like on the wire.

    client = ZoomClient(apps, http=http, tokens=tokens, clock=clock, ...)
    reply = await client.call(CREATE, account_id, host=..., body=room_body(details, key=key), permit=permit)
    match reply.ruling.decision: ...

Secrets end here: start links, passcodes and host keys are taken out of every answer before anybody sees it.
"""
