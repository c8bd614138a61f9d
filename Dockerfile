# One static binary, and nothing else: no shell, no libraries. docs/operations.md says how to run it.
# `make image` makes the last stage without a registry, and tests it.

FROM node:22-bookworm-slim AS node

FROM rust:1-bookworm AS build
COPY --from=node /usr/local/bin/ /usr/local/bin/
COPY --from=node /usr/local/lib/node_modules/ /usr/local/lib/node_modules/
WORKDIR /tidefeed
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/tidefeed/target \
    scripts/image-root.sh /image

FROM scratch
COPY --from=build /image/root/ /
COPY --from=build --chown=65532:65532 /image/data/ /data/
USER 65532:65532
# By default the database is ./data/tidefeed.db, and the configuration ./tidefeed.toml. The root may be read-only:
# only /data is written to, large sorts of SQLite included.
WORKDIR /
VOLUME /data
ENV TMPDIR=/data SQLITE_TMPDIR=/data TIDEFEED__SERVER__LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s CMD ["/usr/local/bin/tidefeed", "health"]
ENTRYPOINT ["/usr/local/bin/tidefeed"]
CMD ["serve"]
