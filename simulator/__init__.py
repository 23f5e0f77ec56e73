"""A Zoom that can fail: REST with its limits, signed webhooks with its retries, a driver of meetings, and the truth.

It is the other side. It shares no code with Roomkeeper's own Zoom client, so that a mistake in one shows in the other.
State is in memory and bounded. Times are the machine's: a faster simulator divides its delays and meeting lengths, but
what it says about when something happened stays true.
"""
