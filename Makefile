# Pronk. `make` builds build/pronk and the libraries; `make help` lists the rest.
# Sources are found by wildcard; a new file needs no line here. SAN=address|undefined|thread builds
# into a folder of its own with that sanitizer.
BUILD   ?= build$(if $(SAN),/$(SAN))
PREFIX  ?= /usr/local
VERSION := $(shell sed -n 's/.*PK_VERSION_TEXT "\(.*\)".*/\1/p' include/pronk.h)
SONAME  := libpronk.so.$(firstword $(subst ., ,$(VERSION)))
CC      ?= cc
CXX     ?= c++
PKGS    := sentencepiece icu-uc icu-i18n jansson

WARN  := -Wall -Wextra -Wshadow -Wvla -Werror
CWARN := $(WARN) -Wstrict-prototypes -Wmissing-prototypes -Wconversion
SANF  := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
BASE  := -O3 -g -fPIC -pthread -MMD -MP -Iinclude -Isrc -fno-math-errno -ffp-contract=fast \
         -fvisibility=hidden -D_GNU_SOURCE $(SANF) $(EXTRA)
PKGC   = $(shell pkg-config --cflags $(PKGS) | sed 's/-I/-isystem /g')
LIBS   = $(SANF) $(shell pkg-config --libs $(PKGS)) -lstdc++ -lm -pthread
CFLAGS_   = -std=c11 $(BASE) $(CWARN) $(PKGC)
CXXFLAGS_ = -std=c++17 $(BASE) $(WARN) $(PKGC)

# Kernels are compiled once per instruction set and chosen at run time (backend/cpu/isa.c).
ISAS := generic
ifneq ($(filter x86_64,$(shell uname -m)),)
ISAS += avx2 avx512
endif
ISA_generic :=
ISA_avx2    := -mavx2 -mfma -mf16c
ISA_avx512  := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mavx2 -mfma -mf16c -mprefer-vector-width=512

KERNELS := $(wildcard src/backend/cpu/kernels/*.c)
CSRC    := $(filter-out $(KERNELS),$(shell find src -name '*.c' | sort))
CXXSRC  := $(shell find src -name '*.cc' | sort)
OBJ     := $(CSRC:%.c=$(BUILD)/%.o) $(CXXSRC:%.cc=$(BUILD)/%.o) \
           $(foreach isa,$(ISAS),$(KERNELS:%.c=$(BUILD)/%.$(isa).o))
CLIOBJ  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c))
TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/*/*_test.c))
TESTLIB := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*_fuzz.c))

all: $(BUILD)/pronk $(BUILD)/libpronk.a $(BUILD)/libpronk.so

$(BUILD)/pronk: $(CLIOBJ) $(BUILD)/libpronk.a
	$(CC) -o $@ $^ $(LIBS)
$(BUILD)/libpronk.a: $(OBJ)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/libpronk.so: $(OBJ)
	$(CC) -shared -Wl,-soname,$(SONAME) -o $@ $^ $(LIBS)
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_) -c -o $@ $<
$(BUILD)/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS_) -c -o $@ $<
define isa_rule
$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$(CC) $$(CFLAGS_) $(ISA_$(1)) -DPK_ISA=$(1) -DPK_ISA_$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))
$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(TESTLIB) $(BUILD)/libpronk.a
	$(CC) -o $@ $^ $(LIBS) -lcmocka

tests: $(TESTS)

clean:
	rm -rf build

format:
	clang-format -i $(shell git ls-files '*.c' '*.h' '*.cc')

.PHONY: all clean tests format
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
