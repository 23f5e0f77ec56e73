# One image for every role; `compose/compose.yaml` says which role a container is.
# syntax=docker/dockerfile:1

FROM python:3.11.14-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/roomkeeper
WORKDIR /source
COPY requirements.txt requirements-runtime.txt ./
RUN awk '/^setuptools==/ { on = 1 } on { print } on && !/\\$/ { exit }' requirements.txt > requirements-build.txt \
    && /opt/roomkeeper/bin/pip install --require-hashes -r requirements-build.txt -r requirements-runtime.txt
COPY . .
RUN /opt/roomkeeper/bin/pip install --no-deps --no-build-isolation .

FROM python:3.11.14-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/roomkeeper --shell /usr/sbin/nologin roomkeeper
COPY --from=build /opt/roomkeeper /opt/roomkeeper
ENV PATH=/opt/roomkeeper/bin:$PATH PYTHONUNBUFFERED=1
USER roomkeeper
WORKDIR /var/lib/roomkeeper
ENTRYPOINT ["roomkeeper"]
CMD ["--help"]
