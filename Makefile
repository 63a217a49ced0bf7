# SPDX-License-Identifier: BSD-2-Clause
# bpftruss. `make help` lists the targets; O=DIR builds elsewhere, V=1 shows the commands,
# SAN=1 builds with AddressSanitizer and UBSan, in build/sanitized unless O says otherwise.
# WERROR=1 takes a warning for an error, as CI does: other compilers warn of other things.
# CROSS=aarch64-linux-gnu SYSROOT=DIR builds for another architecture, in build/aarch64-linux-gnu unless
# O says otherwise; scripts/debian-sysroot makes and names such a folder.

# --- config -------------------------------------------------------------------------------------
VERSION := 0.1.0
SAN ?= 0
WERROR ?= 0
CROSS ?=
SYSROOT ?=
ifeq ($(strip $(O)),)
override O := $(if $(filter 1,$(SAN)),build/sanitized,build$(CROSS:%=/%))
endif
PREFIX ?= /usr/local
DESTDIR ?=
V ?= 0

# make takes a blank for the end of a name: a folder that has one is reached through a link.
FOLDER := $(O)
ifneq ($(word 2,$(O)),)
override O := $(shell link=.build-$$(printf %s "$(FOLDER)" | cksum | tr -d ' ') && \
	mkdir -p "$(FOLDER)" && ln -sfn "$(FOLDER)" $$link && echo $$link)
ifeq ($(O),)
$(error O=$(FOLDER) cannot be reached through a link in $(CURDIR), as a name with a blank must be)
endif
endif
ABS_O := $(if $(filter /%,$(O)),$(O),$(CURDIR)/$(O))

.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

Q := $(if $(filter 1,$(V)),,@)
msg = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(patsubst $(O)/%,%,$(2))';)

# --- toolchain ----------------------------------------------------------------------------------
# The first clang that is there and knows the bpf target also compiles user space.
CLANG := $(firstword $(CLANG) \
	$(shell for c in clang $$(seq -f clang-%g 40 -1 14); do command -v $$c && break; done))
ifeq ($(origin CC),default)
CC := $(CLANG)
endif
# Ubuntu's bpftool is a wrapper that may find nothing for the running kernel: take one that answers.
ifeq ($(origin BPFTOOL),undefined)
BPFTOOL := $(shell scripts/find-bpftool)
endif
export BPFTOOL
# Said when something is compiled: what is there already can be installed, and all of it removed.
NEED_TOOLS = $(if $(and $(CLANG),$(BPFTOOL)),,\
	$(error there is no $(if $(CLANG),bpftool,clang) here: run scripts/install-deps))
ifneq ($(CROSS),)
ifeq ($(SYSROOT),)
$(error CROSS=$(CROSS) needs SYSROOT=DIR: the headers and libraries there (scripts/debian-sysroot))
endif
TARGET := --target=$(CROSS) --sysroot=$(SYSROOT)
CC := $(CLANG) $(TARGET)
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
endif
PKG_CONFIG ?= pkg-config
PKGS := gnutls libbpf inih jansson libcap libdw libelf libmicrohttpd libseccomp ncursesw sqlite3 zlib
# Whoever needs it loads it.
LOADED_PKGS := libcurl

MACHINE := $(or $(firstword $(subst -, ,$(CROSS))),$(shell uname -m))
ARCH := $(patsubst x86_64,x86,$(MACHINE:aarch64=arm64))
# The bpf target does not look where Debian keeps asm/types.h.
SYSINC := $(wildcard $(SYSROOT)/usr/include/$(MACHINE)-linux-gnu)

WARN := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
CFLAGS ?= -O2 -g
ifeq ($(SAN),1)
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ALL_CFLAGS = $(NEED_TOOLS)-std=gnu11 $(WARN) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -Iinclude -Isrc -I$(O)/gen -D_GNU_SOURCE \
	-DBPFTRUSS_VERSION='"$(VERSION)"' -MMD -MP $(shell $(PKG_CONFIG) --cflags $(PKGS) $(LOADED_PKGS))
ALL_LDFLAGS = $(LDFLAGS) $(SANFLAGS)
LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS)) -liberty -lm
BPF_CFLAGS = $(NEED_TOOLS)-target bpf -mcpu=v3 -O2 -g $(WARN) -Wno-unused-parameter -D__TARGET_ARCH_$(ARCH) \
	-Iinclude -Ibpf $(if $(SYSINC),-idirafter $(SYSINC)) -ffile-prefix-map="$$PWD=." -MMD -MP

# --- files --------------------------------------------------------------------------------------
BPF_OBJECTS := truss probe storage
SKELETONS := $(BPF_OBJECTS:%=$(O)/gen/%.skel.h)
SRC := $(wildcard src/*/*.c) src/cmd/editions/full.c
OBJ := $(SRC:%.c=$(O)/%.o)
LIB_OBJ := $(filter-out $(O)/src/cmd/%,$(OBJ))
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
COLLECTORS := $(patsubst tests/%.c,$(O)/%,$(wildcard tests/collect/*.c))
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
# Style sheet and script of a picture, and the schema of the history, as strings without comments and
# indentation.
vpath %.css src/report
vpath %.js src/report
vpath %.sql src/store
STRIP := sed -e '/^[[:blank:]]*\/\//d' -e '/^--/d' -e '/^\/\*.*\*\/$$/d' -e '/^$$/d' -e 's/^[[:blank:]]*//'
$(O)/gen/%.inc: % Makefile
	$(call msg,TEXT,$@)
	@mkdir -p $(@D)
	$(Q)$(STRIP) -e 's/["\\]/\\&/g' -e 's/.*/"&\\n"/' $< > $@

# The hash by which a page allows such a style sheet or script, and no other.
$(O)/gen/%.hash.inc: % Makefile
	$(call msg,HASH,$@)
	@mkdir -p $(@D)
	$(Q)hash=$$($(STRIP) $< | sha256sum | sed 's/ .*//; s/../\\x&/g') && \
		printf '"sha256-%s"\n' "$$(env printf "$$hash" | base64)" > $@

# The arguments of calls, and the names of flags that the system's headers have.
$(O)/gen/arguments.inc: src/syscalls/arguments.list scripts/gen-arguments $(wildcard src/syscalls/table_*.inc)
	$(call msg,TABLE,$@)
	@mkdir -p $(@D)
	$(Q)scripts/gen-arguments $< $(filter %.inc,$^) > $@

$(O)/gen/flags.inc: src/syscalls/flags.list scripts/gen-flags
	$(call msg,TABLE,$@)
	@mkdir -p $(@D)
	$(Q)CC="$(CC)" scripts/gen-flags $< > $@

$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/syscalls/arguments.o): | $(O)/gen/arguments.inc
$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/syscalls/flags.o): | $(O)/gen/flags.inc
$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/report/flame.o): \
	| $(O)/gen/flame.css.inc $(O)/gen/flame.js.inc
$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/report/over_time.o): $(O)/gen/over_time.css.inc
PAGE_TEXTS := $(foreach text,flame.css flame.js over_time.css page.css page.js,\
	$(O)/gen/$(text).inc $(O)/gen/$(text).hash.inc)
$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/report/page.o): | $(PAGE_TEXTS)
$(foreach folder,$(O) $(O)/san $(O)/fuzz,$(folder)/src/store/db.o): $(O)/gen/schema.sql.inc
$(filter $(O)/src/collect/%,$(OBJ)): | $(SKELETONS)

$(O)/%.o: %.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/bpftruss: $(OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# --- other editions ----------------------------------------------------------------------------
# They have the verbs that their file in src/cmd/editions names, and leave out folders and libraries.
STATIC := $(O)/bpftruss-static
STATIC_OWN := $(addprefix $(O)/src/cmd/editions/,static.o static_host.o no_remote.o)
STATIC_OBJ := $(filter-out $(addprefix $(O)/src/,cmd/editions/full.o cmd/daemon.o cmd/config_file.o \
	cmd/history.o daemon/% ipc/guard.o ipc/key_file.o ipc/post.o ipc/remote.o ipc/server.o metrics/% \
	store/%),$(OBJ)) \
	$(addprefix $(O)/src/daemon/,baselines.o log.o) $(STATIC_OWN)
STATIC_PKGS := $(filter-out gnutls inih libmicrohttpd sqlite3,$(PKGS))
# The libelf.a of elfutils 0.196 has a crc32() of its own, which collides with zlib's unless that is there first.
STATIC_LIBS = -Wl,-u,crc32 -lz $(shell $(PKG_CONFIG) --static --libs $(STATIC_PKGS)) -liberty -lm

# The linker warns of dlopen(): static_host.c stands in for it.
static: $(STATIC) ## build one static file for rescue media, without the daemon

$(STATIC): $(STATIC_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -static $^ $(STATIC_LIBS) -o $@

CORE := $(O)/bpftruss-core
CORE_PKGS := libbpf libelf zlib
CORE_OWN := $(addprefix $(O)/src/cmd/editions/,core.o no_elf.o no_json.o no_libcap.o)
CORE_CMD := $(addprefix $(O)/src/cmd/,asking.o baseline.o compare.o config_file.o daemon.o doctor.o \
	history.o merge.o recorder.o report.o snapshot.o top.o editions/full.o)
CORE_OBJ := $(filter-out $(CORE_CMD) $(addprefix $(O)/src/,collect/capabilities.o daemon/% elf/% ipc/% json/% \
	metrics/% report/compare.o report/json.o report/page% store/% tui/%),$(OBJ)) \
	$(addprefix $(O)/src/,daemon/log.o ipc/socket.o) $(CORE_OWN)

# Other packages need not be there: their headers are not looked for either.
core: ## build bpftruss -c with nothing but libbpf, libelf and zlib
	$(Q)$(MAKE) O="$(O)" PKGS="$(CORE_PKGS)" $(CORE)

# Another make at the same time would make the same files.
core-after-all: all
	$(Q)$(MAKE) core

$(CORE): $(CORE_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(shell $(PKG_CONFIG) --libs $(CORE_PKGS)) -lm -o $@

# elfutils 0.192, of Debian 13, has a libelf.a that lacks functions (its bug 32293).
static-if-possible: all
	$(Q)$(if $(CROSS)$(filter 1,$(SAN)),,log=$(O)/static.$$$$; trap 'rm -f $$log' EXIT; $(MAKE) static >$$log 2>&1 || \
		{ grep -q eu_search_tree $$log && \
		echo "skipped: the static file: libelf.a of this system lacks functions"; } || \
		{ cat $$log; exit 1; })

# --- tests --------------------------------------------------------------------------------------
# Unit tests link the whole of user space but most of its commands and of the daemon, and what needs
# the BPF object, always under the sanitizers.
UNIT_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
UNIT_LIB := $(filter-out $(O)/src/cmd/% $(O)/src/collect/% $(O)/src/daemon/%,$(OBJ)) \
	$(addprefix $(O)/src/collect/,cgroups.o descriptor_links.o idle.o odd_values.o sockets.o user_names.o) \
	$(addprefix $(O)/src/daemon/,baselines.o budget.o events.o question.o recent.o log.o spool.o) \
	$(addprefix $(O)/src/cmd/,asking.o config_file.o option_advice.o option_help.o option_reader.o option_table.o \
		options.o reporting.o)
UNIT_OBJ := $(UNIT_LIB:$(O)/%=$(O)/san/%)

$(O)/san/%.o: %.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(UNIT_SAN) -c $< -o $@

# Each test takes from it what it needs: to link, start and sanitize all of it took longer than to test.
$(O)/san/unit.a: $(UNIT_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $^

$(O)/unit/%: tests/unit/%.c $(O)/san/unit.a
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DGOLDEN_DIR='"tests/golden"' \
		-DFIXTURES='"$(FIXTURES)"' $(UNIT_SAN) -Wl,--as-needed $< $(filter %.a,$^) \
		$(LIBS) -lcmocka -o $@

# They have parts of the collector compiled in.
$(O)/unit/test_ended $(O)/unit/test_mapped_file $(O)/unit/test_reader: | $(SKELETONS)

# --- fixtures: ELF files of every sort, for the tests of src/elf ---------------------------------
# Always of clang: gcc writes no names that are none in C.
FIXTURES := $(O)/fixtures
FIXTURE_NAMES := plain lean static fixed stripped stripped.debug mini cxx inlines inlines_cxx \
	bare bare.debug
ifeq ($(ARCH),x86)
FIXTURE_NAMES += frames i386 nocfi
endif

$(FIXTURES)/plain: FLAGS := -O0 -fno-omit-frame-pointer -Wl,-z,lazy
$(FIXTURES)/lean: FLAGS := -O2 -fomit-frame-pointer
$(FIXTURES)/static: FLAGS := -O2 -static
$(FIXTURES)/fixed: FLAGS := -O1 -no-pie
$(FIXTURES)/nocfi: FLAGS := -O1 -nostdlib -static -fno-asynchronous-unwind-tables -Wl,-e,main
$(FIXTURES)/i386: FLAGS := -O1 -m32 -nostdlib -static -fno-pic -Wl,-e,main

$(FIXTURES)/%: tests/elf/sample.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET) -std=gnu11 $(WARN) -g -Wl,--build-id $(FLAGS) $< -o $@

# The linker would merge its sections of text otherwise.
$(FIXTURES)/frames: tests/elf/frames.S Makefile
	$(call msg,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET) -nostdlib -static -Wl,--build-id -Wl,--unique=.text.* $< -o $@

$(FIXTURES)/cxx: tests/elf/sample.cc Makefile
	$(call msg,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET) -x c++ $(WARN) -O1 -Wl,--build-id $< -o $@

$(FIXTURES)/stripped.debug: $(FIXTURES)/lean
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --only-keep-debug $< $@

$(FIXTURES)/stripped: $(FIXTURES)/lean $(FIXTURES)/stripped.debug
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-all --add-gnu-debuglink=$@.debug $< $@

$(FIXTURES)/inlines: tests/elf/inlines.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET) -std=gnu11 $(WARN) -O2 -g -Wl,--build-id $< -o $@

$(FIXTURES)/inlines_cxx: tests/elf/inlines.cc Makefile
	$(call msg,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET) -x c++ $(WARN) -O2 -g -Wl,--build-id $< -o $@

$(FIXTURES)/bare.debug: $(FIXTURES)/inlines
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --only-keep-debug --compress-debug-sections $< $@

$(FIXTURES)/bare: $(FIXTURES)/inlines $(FIXTURES)/bare.debug
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-all --add-gnu-debuglink=$@.debug $< $@

# As Fedora does: function symbols alone, compressed, in a section of their own.
$(FIXTURES)/mini: $(FIXTURES)/lean
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-debug $< $@.symbols && xz -f -k $@.symbols && objcopy --strip-all \
		--add-section .gnu_debugdata=$@.symbols.xz $< $@

$(UNIT:%=$(O)/unit/%): | $(FIXTURE_NAMES:%=$(FIXTURES)/%)

# A workload is one static program of its own: raw calls and nothing that a library adds.
$(O)/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) -Wno-unused-parameter -O1 -g -D_GNU_SOURCE -static -pthread -Wl,--build-id $< -o $@

# And one of 32-bit Arm, without a C library: the linker for 64-bit Arm can make it.
ifeq ($(ARCH),arm64)
WORKLOADS += $(O)/workloads/compat
endif

$(O)/workloads/compat: tests/compat/compat.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) --target=arm-linux-gnueabi -march=armv7-a -std=gnu11 $(WARN) -O1 -ffreestanding \
		$(if $(SYSINC),-idirafter $(SYSINC)) -c $< -o $@.o
	$(Q)$(CROSS:%=%-)ld -m armelf_linux_eabi -z noexecstack $@.o -o $@ && rm $@.o

# Collectors that live tests tell what to do.
$(O)/collect/%: tests/collect/%.c $(LIB_OBJ)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(filter %.c %.o,$^) $(LIBS) -o $@

# Also if make was told what LDFLAGS are.
$(O)/collect/verifier: override LDFLAGS += -Wl,--wrap=bpf_object__open_skeleton

# --- programs whose stacks are known -----------------------------------------------------------
# The same program as compilers and linkers make it in different ways: the code of gcc unwinds
# differently from that of clang. Without gcc or rustc their tests are skipped by name.
STACKS := $(O)/stacks
GCC := $(shell command -v gcc 2>/dev/null)
GXX := $(shell command -v g++ 2>/dev/null)
RUSTC := $(shell command -v rustc || command -v "$(HOME)/.cargo/bin/rustc")
STACK_NAMES :=
ifeq ($(ARCH),x86)
STACK_NAMES += chain-clang chain-clang-O0 loads refused alpha.so beta.so heavy.so small
ifneq ($(GCC),)
STACK_NAMES += locks $(addprefix chain-,O0 O2 O3-realign fixed static static-pie stripped linked mini)
endif
ifneq ($(GXX),)
STACK_NAMES += throws
endif
ifneq ($(RUSTC),)
STACK_NAMES += panics
endif
else
# Where only frame pointers are followed.
STACK_NAMES += chain-clang-O0
endif

$(STACKS)/chain-clang: COMPILE = $(CLANG) -O2
$(STACKS)/chain-clang-O0: COMPILE = $(CLANG) $(TARGET) -O0 -fno-omit-frame-pointer
# Ubuntu's gcc marks targets of jumps, and its linker makes other stubs for them.
GCC += $(if $(filter x86,$(ARCH)),-fcf-protection=none)

$(STACKS)/chain-O0: COMPILE = $(GCC) -O0 -fno-omit-frame-pointer
$(STACKS)/chain-O2: COMPILE = $(GCC) -O2 -fomit-frame-pointer
$(STACKS)/chain-O3-realign: COMPILE = $(GCC) -O3 -fomit-frame-pointer -mstackrealign
$(STACKS)/chain-fixed: COMPILE = $(GCC) -O2 -fno-pie -no-pie
$(STACKS)/chain-static: COMPILE = $(GCC) -O2 -static
$(STACKS)/chain-static-pie: COMPILE = $(GCC) -O2 -static-pie -fPIE

$(STACKS)/chain-%: tests/stacks/chain.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -std=gnu11 $(WARN) -Wno-unused-parameter -g -pthread -Wl,--build-id -Wl,-z,lazy $< -o $@

$(STACKS)/locks: tests/stacks/locks.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(GCC) -std=gnu11 $(WARN) -O2 -g -pthread $< -o $@

$(STACKS)/loads $(STACKS)/refused: $(STACKS)/%: tests/stacks/%.c Makefile tests/workloads/filter.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 $(WARN) -Wno-unused-parameter -D_GNU_SOURCE -O1 -g -fno-optimize-sibling-calls $< -o $@

# Functions of other names and frames at the same addresses.
$(STACKS)/alpha.so: FLAGS := -DFIRST='"alpha_one"' -DSECOND='"alpha_two"' -DSELF='"alpha_self"' -DFRAME='"0x218"'
$(STACKS)/beta.so: FLAGS := -DFIRST='"beta_one"' -DSECOND='"beta_two"' -DSELF='"beta_self"' -DFRAME='"0x188"'

$(STACKS)/%.so: tests/stacks/plugin.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(WARN) -shared -nostdlib -fPIC $(FLAGS) -Wl,--build-id $< -o $@

$(STACKS)/heavy.so: tests/stacks/heavy.S Makefile
	$(call msg,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -shared -nostdlib -Wl,--build-id $< -o $@

$(STACKS)/small: tests/stacks/small.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(WARN) -O1 -m32 -nostdlib -static -fno-pic $< -o $@

$(STACKS)/throws: tests/stacks/throws.cc Makefile
	$(call msg,CXX,$@)
	@mkdir -p $(@D)
	$(Q)$(GXX) $(WARN) -O2 -fomit-frame-pointer -Wl,--build-id $< -o $@

$(STACKS)/panics: tests/stacks/panics.rs Makefile
	$(call msg,RUSTC,$@)
	@mkdir -p $(@D)
	$(Q)env -u MAKEFLAGS "$(RUSTC)" --edition 2018 -O $< -o $@

# Without symbols, and what of it is elsewhere.
$(STACKS)/chain-O2.debug: $(STACKS)/chain-O2
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --only-keep-debug $< $@

$(STACKS)/chain-stripped: $(STACKS)/chain-O2
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-all $< $@

$(STACKS)/chain-linked: $(STACKS)/chain-O2 $(STACKS)/chain-O2.debug
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-all --remove-section=.note.gnu.build-id \
		--add-gnu-debuglink=$(STACKS)/chain-O2.debug $< $@

$(STACKS)/chain-mini: $(STACKS)/chain-O2
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy --strip-debug $< $@.symbols && xz -f -k $@.symbols && objcopy --strip-all \
		--add-section .gnu_debugdata=$@.symbols.xz $< $@

$(O)/unit/%.out: $(O)/unit/% FORCE
	$(call msg,TEST,$<)
	$(Q)$< >$@ 2>&1; echo $$? >$(@:.out=.status)

# Side by side with -j; what they say comes at the end, one after the other, and who failed last.
check: $(UNIT:%=$(O)/unit/%.out) ## unit and golden tests; needs no root
	$(Q)cat $^; grep -vx 0 $(^:.out=.status); test $$? = 1

check-live-programs: core-after-all $(WORKLOADS) $(COLLECTORS) $(STACK_NAMES:%=$(STACKS)/%)

# In the end pairing as it is before 5.15.
check-live: check-live-programs ## tests against the running kernel; needs root
	$(Q)O="$(ABS_O)" python3 -m pytest -q tests/live
	$(Q)O="$(ABS_O)" BPFTRUSS_NO_TASK_REGS=1 PYTEST_ADDOPTS="-p no:cacheprovider" \
		python3 -m pytest -q tests/live/test_pairing.py

# Those of them that others may run beside.
check-live-waits: check-live-programs
	$(Q)O="$(ABS_O)" python3 -m pytest -q -m waits tests/live

check-live-time: check-live-programs
	$(Q)O="$(ABS_O)" python3 -m pytest -q tests/live/test_time.py

# The drills at their full length, which the live tests run for seconds only.
drills: all $(WORKLOADS) $(O)/collect/steer ## faults and loads, a quarter of an hour; needs root
	$(Q)O="$(ABS_O)" DRILLS=full python3 -m pytest -q -s tests/live/test_drills*.py tests/live/test_storms.py

# KERNELS="6.1 6.12" takes only these of tests/kernels/kernels; TABLE=1 writes docs/internals/KERNELS.md; CPUS=64
# boots them with so many processors, and runs what that is for.
KERNELS_NEED := all static-if-possible $(WORKLOADS) $(COLLECTORS) \
	$(filter $(STACKS)/chain-clang%,$(STACK_NAMES:%=$(STACKS)/%))

kernels-need: $(KERNELS_NEED)

test-kernels: $(KERNELS_NEED) ## live tests on other kernels, in an emulator
	$(Q)O="$(ABS_O)" BPFTOOL=$(BPFTOOL) scripts/test-kernels $(if $(TABLE),--table) $(if $(CPUS),--cpus $(CPUS)) $(KERNELS)

# GATE=oldest or GATE=newest takes only that.
check-kernels: $(KERNELS_NEED) ## some live tests on Debian's oldest and newest kernel, in an emulator
	$(Q)O="$(ABS_O)" BPFTOOL=$(BPFTOOL) scripts/test-kernels --gate $(GATE)

test-systemd: all ## the service in a booted Debian, in an emulator; needs root
	$(Q)O="$(ABS_O)" scripts/test-systemd $(KERNEL)

veristat: $(O)/collect/verifier ## what the running kernel's verifier examines; needs root
	$(Q)O="$(ABS_O)" scripts/veristat

# The unit tests of these leave files for other programs to read.
SAMPLES := $(O)/samples
SAMPLERS := $(addprefix $(O)/unit/,test_pprof test_pictures test_flame test_over_time test_page test_exemplars test_metrics)

readers-need: all $(SAMPLERS)

check-readers: readers-need ## how pprof, browsers and `make install` handle our files; needs no root
	$(Q)rm -rf $(SAMPLES) && mkdir -p $(SAMPLES)
	$(Q)for test in $(SAMPLERS); do SAMPLES_DIR=$(SAMPLES) $$test >/dev/null 2>&1 || exit 1; done
	$(Q)O="$(ABS_O)" SAMPLES_DIR="$(ABS_O)/samples" python3 -m pytest -q -rs tests/readers

test: check check-readers check-live lint ## all tests

# --- fuzz ---------------------------------------------------------------------------------------
# Each tests/fuzz/fuzz_X.c begins with tests/fuzz/seeds/X and keeps what it finds below $(O).
FUZZ_SECONDS ?= 60
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJ := $(patsubst $(O)/%,$(O)/fuzz/%,$(filter-out $(O)/src/daemon/%,$(UNIT_LIB)) \
	$(O)/src/daemon/log.o)
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined

$(O)/fuzz/%.o: %.c Makefile
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(ALL_CFLAGS) $(FUZZ_SAN) -c $< -o $@

$(O)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(FUZZ_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CLANG) $(ALL_CFLAGS) $(FUZZ_SAN) -fsanitize=fuzzer $(filter %.c %.o,$^) $(LIBS) -o $@

# The fixtures as inputs: a byte that chooses the parser, then the file.
$(O)/fuzz/corpus/elf: $(FIXTURE_NAMES:%=$(FIXTURES)/%)
	@mkdir -p $@
	$(Q)for name in lean mini cxx inlines $(filter frames,$(FIXTURE_NAMES)); do \
		for parser in 0 1 6; do \
		{ printf $$parser; cat $(FIXTURES)/$$name; } > $@/$$name-$$parser; done; done

# Libraries may leak what hostile files make them lose track of: a worker ends soon.
fuzz: $(FUZZ:%=$(O)/fuzz/fuzz_%) $(O)/fuzz/corpus/elf ## feed parsers with mutated input, FUZZ_SECONDS each
	$(Q)for name in $(FUZZ); do mkdir -p $(O)/fuzz/corpus/$$name && $(O)/fuzz/fuzz_$$name \
		-max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -detect_leaks=0 \
		-max_len=32768 -print_final_stats=1 -artifact_prefix=$(O)/fuzz/ \
		$(O)/fuzz/corpus/$$name tests/fuzz/seeds/$$name || exit 1; done

bench: all $(addprefix $(O)/bench/,floor herd pingpong spawn spin) $(O)/workloads/storm ## measure the overhead, compared with other tools
	$(Q)O="$(ABS_O)" scripts/bench
	$(Q)O="$(ABS_O)" scripts/bench-daemon
	$(Q)O="$(ABS_O)" scripts/bench-scale

$(O)/bench/%: tests/bench/%.c tests/bench/batches.h $(O)/gen/floor.skel.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $< $(LIBS) -o $@

pictures: all ## make docs/images from real runs; needs root, PostgreSQL, tmux and Chromium
	$(Q)O="$(ABS_O)" scripts/pictures

# --- quality ------------------------------------------------------------------------------------
lint: all tidy ## check layers, format, shell scripts, documents, systemd units, stack of BPF programs; run clang-tidy
	$(Q)for check in layers format docs units version stack; do \
		O=$(O) scripts/check-$$check || failed=1; done; test -z "$$failed"

# Versions differ in what they find. Only what has changed since is looked at again. The analyzer gives a
# function up after so many states, of which it would take 225000 by itself, and four times as long.
CLANG_TIDY := $(shell command -v clang-tidy-19 2>/dev/null)
TIDY_STATES := 50000
TIDY_FLAGS := -Xclang -analyzer-config -Xclang max-nodes=$(TIDY_STATES)

tidy: $(if $(CLANG_TIDY),$(SRC:%.c=$(O)/tidy/%.ok)) ## run clang-tidy
	$(Q)$(if $(CLANG_TIDY),echo "tidy: in order",echo "skipped: clang-tidy: no version 19 here")

$(O)/tidy/%.ok: %.c $(O)/%.o .clang-tidy
	$(call msg,TIDY,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG_TIDY) --quiet $< -- $(filter-out -MMD -MP -Werror,$(ALL_CFLAGS)) $(TIDY_FLAGS) 2>$@.err || \
		{ cat $@.err; exit 1; }
	$(Q)mv $@.err $@

# --- install ------------------------------------------------------------------------------------
# systemd looks below /usr/lib and /usr/local/lib alike; another PREFIX needs UNITDIR and its like.
# The program is in bin: members of the group ask it, too.
SYSCONFDIR ?= /etc
BINDIR ?= $(PREFIX)/bin
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/bpftruss
# Debian's zsh looks in /usr/local/share/zsh/site-functions and in /usr/share/zsh/vendor-completions.
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
CONFIG := $(SYSCONFDIR)/bpftruss/bpftruss.conf
# As units spell a path that has blanks.
UNIT_BINDIR := $(subst $(subst ,, ),\\x20,$(BINDIR))

# Of each manual page the folder of its section.
MAN := $(foreach page,$(wildcard man/*.[1-9]),man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page)))
# For a shell: make would take a blank for the end of a name.
INSTALLED := "$(BINDIR)/bpftruss" $(foreach page,$(MAN),"$(MANDIR)/$(page)") \
	"$(COMPLETIONDIR)/bpftruss" "$(ZSHDIR)/_bpftruss" "$(FISHDIR)/bpftruss.fish" \
	"$(UNITDIR)/bpftruss.service" "$(UNITDIR)/bpftruss.socket" "$(SYSUSERSDIR)/bpftruss.conf" \
	"$(TMPFILESDIR)/bpftruss.conf" \
	$(foreach name,LICENSE listen.conf otlp.conf stacks.conf,"$(DOCDIR)/$(name)")
# Folders that a system has even if nothing is in them.
KEPT := /etc /opt /usr $(foreach top,/usr /usr/local,$(addprefix $(top)/,bin etc lib local share share/man))

# What an administrator wrote into the configuration is never replaced, nor removed.
install: all ## install below DESTDIR and PREFIX
	install -D -m 755 $(O)/bpftruss "$(DESTDIR)$(BINDIR)/bpftruss"
	for page in $(MAN); do \
		install -D -m 644 man/$${page##*/} "$(DESTDIR)$(MANDIR)/$$page" || exit 1; done
	install -D -m 644 completion/bpftruss.bash "$(DESTDIR)$(COMPLETIONDIR)/bpftruss"
	install -D -m 644 completion/_bpftruss "$(DESTDIR)$(ZSHDIR)/_bpftruss"
	install -D -m 644 completion/bpftruss.fish "$(DESTDIR)$(FISHDIR)/bpftruss.fish"
	install -d "$(DESTDIR)$(UNITDIR)"
	for unit in bpftruss.service bpftruss.socket; do sed 's,@BINDIR@,$(UNIT_BINDIR),' systemd/$$unit \
		>"$(DESTDIR)$(UNITDIR)/$$unit" && chmod 644 "$(DESTDIR)$(UNITDIR)/$$unit" || exit 1; done
	install -D -m 644 systemd/bpftruss.sysusers "$(DESTDIR)$(SYSUSERSDIR)/bpftruss.conf"
	install -D -m 644 systemd/bpftruss.tmpfiles "$(DESTDIR)$(TMPFILESDIR)/bpftruss.conf"
	install -D -m 644 systemd/listen.conf "$(DESTDIR)$(DOCDIR)/listen.conf"
	install -D -m 644 systemd/otlp.conf "$(DESTDIR)$(DOCDIR)/otlp.conf"
	install -D -m 644 systemd/stacks.conf "$(DESTDIR)$(DOCDIR)/stacks.conf"
	install -D -m 644 LICENSE "$(DESTDIR)$(DOCDIR)/LICENSE"
	test -e "$(DESTDIR)$(CONFIG)" || \
		install -D -m 644 systemd/bpftruss.conf "$(DESTDIR)$(CONFIG)"

uninstall: ## remove what install put there, except a changed configuration
	for file in $(INSTALLED); do rm -f "$(DESTDIR)$$file" || exit 1; done
	! cmp -s systemd/bpftruss.conf "$(DESTDIR)$(CONFIG)" || rm -f "$(DESTDIR)$(CONFIG)"
	for path in $(INSTALLED) "$(CONFIG)"; do \
		while path=$${path%/*}; test -n "$$path" && \
			case " $(if $(DESTDIR),,$(KEPT)) " in *" $$path "*) false; esac && \
			rmdir "$(DESTDIR)$$path" 2>/dev/null; do :; done; done

# --- packages -----------------------------------------------------------------------------------
# They are built in a copy, with the compilers and flags of Debian and nothing of what this make was told.
DEBS ?= $(O)/debs

deb: ## build packages for this release of Debian, into DEBS
	$(Q)rm -rf $(O)/deb && mkdir -p $(O)/deb/source "$(DEBS)"
	$(Q)tar -c --exclude=./.git --exclude=./build --exclude='./.build-*' --exclude="./$(FOLDER)" . | \
		tar -x -C $(O)/deb/source
	$(Q)cd $(O)/deb/source && env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u O -u CC -u CLANG \
		dpkg-buildpackage -us -uc -b
	$(Q)mv $(O)/deb/*.* "$(DEBS)" && rm -rf $(O)/deb

test-packages: ## packages in bare systems: built twice, installed, upgraded, purged; needs root
	$(Q)O="$(ABS_O)" scripts/test-packages $(SUITES)

RELEASE ?= $(O)/release

release: ## make a tarball of the commit, with checksums, into RELEASE; KEY=ID signs them
	$(Q)KEY="$(KEY)" scripts/release "$(RELEASE)"

clean: ## remove what was built
	$(Q)rm -rf "$(FOLDER)" $(O)

-include $(OBJ:.o=.d) $(STATIC_OWN:.o=.d) $(CORE_OWN:.o=.d) $(UNIT_OBJ:.o=.d) $(UNIT:%=$(O)/unit/%.d) $(wildcard $(O)/bpf/*.d)

FORCE:

.PHONY: FORCE all help check check-live check-live-time check-live-waits check-live-programs check-readers check-kernels \
	kernels-need readers-need drills test test-kernels test-systemd veristat fuzz bench pictures lint tidy install \
	uninstall core core-after-all static static-if-possible deb test-packages release clean
