# The reference server with its data in a volume, as a user without rights.
#
#   docker build -t adanalytics .
#   docker run -p 127.0.0.1:8000:8000 -v adanalytics:/data adanalytics
#
# The same for tests, with data, a key that is no secret, and the test controls:
#
#   docker build -t adanalytics-for-tests --target for-tests .

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE adanalytics.cdx.json ./
COPY src ./src
RUN python -m venv /opt/adanalytics \
 && /opt/adanalytics/bin/pip install --no-cache-dir '.[server,arrow,s3]'

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS base
LABEL org.opencontainers.image.title="adanalytics" \
      org.opencontainers.image.description="Client, command line and reference server" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN install --directory --owner 10001 --group 10001 --mode 0700 /data
COPY --from=build /opt/adanalytics /opt/adanalytics
ENV PATH=/opt/adanalytics/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/data
# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s \
  CMD ["adanalytics", "server", "health", "http://127.0.0.1:8000"]
ENTRYPOINT ["adanalytics"]

FROM base AS for-tests
CMD ["serve", "--host", "0.0.0.0", "--allow-remote", "--for-tests", "--test-controls", "--demo", "--demo-events", "2000", "--demo-key", "aak_only-for-tests", "--log-format", "json"]

FROM base
VOLUME /data
CMD ["serve", "--host", "0.0.0.0", "--allow-remote", "--data", "/data", "--log-format", "json"]
