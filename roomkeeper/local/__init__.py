"""All of Roomkeeper on one machine: broker, database, a simulated Zoom, and every role as a process of its own."""
