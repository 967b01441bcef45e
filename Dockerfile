# The operator's server: console, HTTP API, tools for agents and, with --deliver, HTTP deliveries. Not as root, nothing written to disk.
#
#   docker build -t holdfast .
#   docker run -p 4747:4747 -e DATABASE_URL -e HOLDFAST_TOKENS=admin:ann=<secret> --read-only holdfast
#   docker run -e DATABASE_URL holdfast migrate
FROM node:24.21.0-bookworm-slim AS package
WORKDIR /build
COPY . .
RUN npm run build && mkdir /package && npm pack --ignore-scripts --pack-destination /package

FROM node:24.21.0-bookworm-slim
WORKDIR /app
COPY --from=package /package/ /package/
RUN npm install --prefix . --omit=dev --no-audit --no-fund --loglevel=error /package/holdfast-0.0.0.tgz pg@8.23.1
ENV NODE_ENV=production
USER node
EXPOSE 4747
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:4747/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "node_modules/holdfast/dist/cli/main.js"]
CMD ["serve", "--host", "0.0.0.0"]
