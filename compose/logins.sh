#!/usr/bin/env bash
# Run by the database's container when its volume is made: a login for each role. `roomkeeper db roles` gives them rights.
set -euo pipefail

for role in ingress projectors rooms poller; do
    password="${role^^}_PASSWORD"
    psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
        --set name="roomkeeper_$role" --set password="${!password:?stands in compose/.env}" \
        <<< "CREATE ROLE :\"name\" LOGIN PASSWORD :'password';"
done
