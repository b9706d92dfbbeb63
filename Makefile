# SPDX-License-Identifier: Apache-2.0
#
# A person's daily vocabulary; Meson and the scripts in tools/ do the work.
#
#   make          build into build/
#   make demo     build, run the paper's experiments, show the figures; DEMO_SECONDS=5 for longer
#   make test     everything that must hold; ONLY="plain asan" runs those sections alone
#   make check    format, lint, include order, pages, exported symbols
#   make format   rewrite the C files in the house format
#   make bench    build and run the benchmarks
#   make install  PREFIX (default /usr/local) and DESTDIR are respected
#   make clean    remove every build folder

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
ONLY   ?=
DEMO_SECONDS ?= 0.4

.PHONY: all help demo test check format bench install clean setup-build setup-test setup-check setup-demo

# Steps here are in order, also with `make -j`; Ninja does the work in parallel.
.NOTPARALLEL:

all: setup-build
	@tools/configure.sh $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD) -j $(JOBS)

setup-build setup-test setup-check setup-demo: setup-%:
	@tools/setup.sh $*

help:
	@sed -n 's/^#   //p' Makefile

# Half a second for each of more than a hundred series, more for A4: a few minutes in all.
demo: setup-demo all
	@ninja -C $(BUILD) --quiet examples
	@$(BUILD)/vproc bench --seconds $(DEMO_SECONDS) --work $(BUILD)/peers \
	    --json $(BUILD)/demo/results.json --svg $(BUILD)/demo
	@echo "The report with all figures: $(BUILD)/demo/report.html"

bench: all
	@tools/setup_numpy.sh $(BUILD)/numpy
	@ninja -C $(BUILD) --quiet bench

test: setup-test
	@tools/setup_numpy.sh $(BUILD)/numpy
	@python3 tests/run_all.py --build $(BUILD) --jobs $(JOBS) $(ONLY)

check: setup-check
	@python3 tools/check.py --jobs $(JOBS)

format: setup-check
	@python3 tools/check.py --fix-format

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz
