# The reference server with its data in a volume, as a user without rights.
#
#   docker build -t adanalytics .
#   docker run -p 127.0.0.1:8000:8000 -v adanalytics:/data adanalytics

FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/adanalytics \
 && /opt/adanalytics/bin/pip install --no-cache-dir '.[server,arrow]'

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data adanalytics \
 && install --directory --owner adanalytics --mode 0700 /data
COPY --from=build /opt/adanalytics /opt/adanalytics
ENV PATH=/opt/adanalytics/bin:$PATH \
    PYTHONUNBUFFERED=1
USER adanalytics
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s \
  CMD ["adanalytics", "server", "health", "http://127.0.0.1:8000"]
ENTRYPOINT ["adanalytics"]
CMD ["serve", "--host", "0.0.0.0", "--allow-remote", "--data", "/data", "--log-format", "json"]
