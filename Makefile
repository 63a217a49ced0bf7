# SPDX-License-Identifier: BSD-2-Clause
# bpftruss. `make help` lists the targets; O=DIR builds elsewhere, V=1 shows the commands,
# SAN=1 builds with AddressSanitizer and UBSan.

# --- config -------------------------------------------------------------------------------------
VERSION := 0.1.0
O ?= build
PREFIX ?= /usr/local
DESTDIR ?=
V ?= 0
SAN ?= 0

.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

Q := $(if $(filter 1,$(V)),,@)
msg = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))';)

# --- toolchain ----------------------------------------------------------------------------------
# The first clang that is there and knows the bpf target also compiles user space.
CLANG := $(firstword $(CLANG) $(foreach c,clang $(foreach n,21 20 19 18 17 16 15 14,clang-$(n)),\
	$(shell command -v $(c) 2>/dev/null)))
ifeq ($(origin CC),default)
CC := $(CLANG)
endif
# Ubuntu's bpftool is a wrapper that may find nothing for the running kernel: take one that answers.
ifeq ($(origin BPFTOOL),undefined)
BPFTOOL := $(shell scripts/find-bpftool)
endif
PKGS := libbpf jansson libcap ncursesw

ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
# The bpf target does not look where Debian keeps asm/types.h.
SYSINC := $(wildcard /usr/include/$(shell uname -m)-linux-gnu)

WARN := -Wall -Wextra -Werror
CFLAGS ?= -O2 -g
ifeq ($(SAN),1)
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) -Iinclude -Isrc -I$(O)/gen -D_GNU_SOURCE \
	-DBPFTRUSS_VERSION='"$(VERSION)"' -MMD -MP $(shell pkg-config --cflags $(PKGS))
ALL_LDFLAGS = $(LDFLAGS) $(SANFLAGS)
LIBS = $(shell pkg-config --libs $(PKGS)) -lm
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g $(WARN) -Wno-unused-parameter -D__TARGET_ARCH_$(ARCH) \
	-Iinclude -Ibpf $(if $(SYSINC),-idirafter $(SYSINC)) -MMD -MP

# --- files --------------------------------------------------------------------------------------
BPF_OBJECTS := truss probe
SKELETONS := $(BPF_OBJECTS:%=$(O)/gen/%.skel.h)
SRC := $(wildcard src/*/*.c)
OBJ := $(SRC:%.c=$(O)/%.o)
LIB_OBJ := $(filter-out $(O)/src/cmd/%,$(OBJ))
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
WORKLOADS := $(patsubst tests/workloads/%.c,$(O)/workloads/%,$(wildcard tests/workloads/*.c))

all: $(O)/bpftruss ## build bpftruss

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# --- bpf ----------------------------------------------------------------------------------------
$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/bpf/%.bpf.o: tests/bench/%.bpf.c
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/gen/%.skel.h: $(O)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# --- user space ---------------------------------------------------------------------------------
$(filter $(O)/src/collect/%,$(OBJ)): | $(SKELETONS)

$(O)/%.o: %.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/bpftruss: $(OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# --- tests --------------------------------------------------------------------------------------
# Unit tests link the whole of user space but its commands and what needs the BPF object, always
# under the sanitizers.
UNIT_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_LIB := $(filter-out $(O)/src/cmd/% $(O)/src/collect/%,$(OBJ)) \
	$(addprefix $(O)/src/collect/,cgroups.o cgroup_names.o)
UNIT_OBJ := $(UNIT_LIB:$(O)/%=$(O)/san/%)

$(O)/san/%.o: %.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(UNIT_SAN) -c $< -o $@

$(O)/unit/%: tests/unit/%.c $(UNIT_OBJ)
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DGOLDEN_DIR='"tests/golden"' $(UNIT_SAN) $(filter %.c %.o,$^) \
		$(LIBS) -lcmocka -o $@

# A workload is one static program of its own: raw calls and nothing that a library adds.
$(O)/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) -O1 -g -D_GNU_SOURCE -static -pthread $< -o $@

check: $(UNIT:%=$(O)/unit/%) ## unit and golden tests; needs no root
	$(Q)for test in $^; do $$test || failed=1; done; test -z "$$failed"

check-live: all $(WORKLOADS) ## tests against the running kernel; needs root
	$(Q)O=$(abspath $(O)) python3 -m pytest -q tests/live

test: check check-live lint ## all tests

bench: all $(O)/bench/floor $(O)/bench/spin $(O)/bench/pingpong ## measure the cost, next to other tools
	$(Q)O=$(abspath $(O)) scripts/bench

$(O)/bench/%: tests/bench/%.c tests/bench/batches.h $(O)/gen/floor.skel.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $< $(LIBS) -o $@

# --- quality ------------------------------------------------------------------------------------
lint: all ## layers, format, shell scripts, documents
	$(Q)for check in layers format docs; do \
		O=$(O) scripts/check-$$check || failed=1; done; test -z "$$failed"

# --- install ------------------------------------------------------------------------------------
install: all ## install below DESTDIR and PREFIX
	install -D -m 755 $(O)/bpftruss $(DESTDIR)$(PREFIX)/sbin/bpftruss
	install -D -m 644 man/bpftruss.8 $(DESTDIR)$(PREFIX)/share/man/man8/bpftruss.8
	install -D -m 644 completion/bpftruss.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpftruss

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/sbin/bpftruss $(DESTDIR)$(PREFIX)/share/man/man8/bpftruss.8 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpftruss

clean: ## remove what was built
	$(Q)rm -rf $(O)

-include $(OBJ:.o=.d) $(UNIT_OBJ:.o=.d) $(UNIT:%=$(O)/unit/%.d) $(wildcard $(O)/bpf/*.d)

.PHONY: all help check check-live test bench lint install uninstall clean
