"""A broker and a database of Roomkeeper's own, for machines that have neither.

Guarantees: what is started here is Apache Kafka and PostgreSQL themselves, listens on 127.0.0.1 only, is called ready
when it answers, and ends with its owner however the owner ends.
"""
