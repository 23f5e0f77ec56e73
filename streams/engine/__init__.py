"""A batching, exactly-once transport for Faust: raw records in, a fold's answers out, a whole transaction at a time.

Faust keeps what it is good at: the app, the agents, the tables with their changelogs, group membership and the
assignment of co-partitioned topics. What it does per message is done per batch here, and what it does at least once is
done once:

- `transport`: the consumer hands agents one event per batch and partition; Faust commits nothing and produces nothing.
- `recovery`: at an assignment, first fence (so that no earlier owner can write any more), then restore, then read the
  committed offsets, then let records flow.
- `lane`: one transaction after another per partition number: fold, produce, commit, then write RocksDB.

Guarantees: for every record of a source topic, its outputs, its changes to the table (in the changelog) and its offset
become visible together, once, whatever crashes, pauses or is lost; a reader of `read_committed` sees each output once.
The changelog is the authority on state; RocksDB holds a prefix of it and says how far it goes.
"""
