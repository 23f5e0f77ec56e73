"""The records that travel through Roomkeeper's topics: Avro schemas, dataclasses, codec and ids.

Nothing in this package touches a network, a clock or a setting.
"""
