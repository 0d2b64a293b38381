# docker build -t counterbalance . && docker run --rm counterbalance
# With files of one's own: docker run --rm -u "$(id -u)" -v "$PWD:/data" -w /data counterbalance audit my.lake demographics
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels pip install --no-cache-dir /wheels/*.whl
RUN useradd --uid 1000 --create-home counterbalance
USER 1000
WORKDIR /home/counterbalance
ENTRYPOINT ["counterbalance"]
CMD ["demo", "demo"]
