# SPDX-License-Identifier: Apache-2.0
#
# The demonstration in a container:
#
#     docker build -t vproc . && docker run --rm -v "$PWD/report:/report" vproc
#
# leaves the figures and report.html in report/. What it measures is the machine it runs on,
# so the experiments run when the container does, not when it is built.
#
# Not tested as a container, since no engine runs where it was written; its steps were, one by one,
# in a bare Debian 12.
FROM debian:bookworm

RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make \
    && rm -rf /var/lib/apt/lists/*
COPY . /vproc
WORKDIR /vproc
# The report has a place also where nobody mounts a folder for it.
RUN tools/setup.sh demo && make && mkdir -p /report

CMD ["sh", "-c", "make demo && cp -r build/demo/. /report/"]
