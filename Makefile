# Pronk. `make` builds build/pronk and the libraries; `make help` lists the rest.
# Sources are found by wildcard; a new file needs no line here. What is shipped is built without
# assertions; CHECKED=1 builds with them, for the tests, and SAN=address-undefined or SAN=thread with
# them and those sanitizers. EMULATED=1 adds the cuda backend on an emulated GPU, for tests. Each has
# a folder of its own.
BUILD   ?= build$(if $(SAN),/$(SAN),$(if $(EMULATED),/emulated,$(if $(CHECKED),/checked)))
PREFIX  ?= /usr/local
VERSION := $(shell sed -n 's/.*PK_VERSION_TEXT "\(.*\)".*/\1/p' include/pronk.h)
SONAME  := libpronk.so.$(firstword $(subst ., ,$(VERSION)))
CC      ?= cc
CXX     ?= c++
PKGS    := sentencepiece icu-uc icu-i18n jansson yaml-0.1 zlib liblzma libzstd

# of the server, which is part of the program and not of the library
SERVER_PKGS := libmicrohttpd sqlite3

WARN  := -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers -Werror
CWARN := $(WARN) -Wstrict-prototypes -Wmissing-prototypes -Wconversion
SANF  := $(if $(SAN),$(addprefix -fsanitize=,$(subst -, ,$(SAN))) -fno-omit-frame-pointer -fno-sanitize-recover=all)
NDEBUG := $(if $(SAN)$(CHECKED)$(EMULATED),,-DNDEBUG)
# sanitizers multiply every load of the unrolled kernels: less optimisation keeps their build short
BASE  := $(if $(SAN),-O1,-O3) -g -fPIC -pthread -MMD -MP -Iinclude -Isrc -Itests/support -fno-math-errno -ffp-contract=fast \
         -fvisibility=hidden -D_GNU_SOURCE $(NDEBUG) $(SANF) $(EXTRA)
PKGC   = $(shell pkg-config --cflags $(PKGS) | sed 's/-I/-isystem /g')
LIBS   = $(SANF) $(shell pkg-config --libs $(PKGS)) -lstdc++ -lm -ldl -pthread
SERVER_LIBS = $(shell pkg-config --libs $(SERVER_PKGS))
CFLAGS_   = -std=c11 $(BASE) $(CWARN) $(PKGC)
CXXFLAGS_ = -std=c++17 $(BASE) $(WARN) $(PKGC)

# CUDA=1 adds the cuda backend; the runtime is linked statically and finds the driver at run time.
NVCC      ?= nvcc
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell readlink -f $$(command -v $(NVCC))))
# sm_90a, not sm_90: only it has wgmma (backend/cuda/wgmma.cuh). What runs on one runs on the other, but
# sm_90a promises nothing to later devices: those compile the PTX of compute_90, which is without wgmma.
CUDA_ARCH ?= -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a \
             -gencode arch=compute_90,code=compute_90
NVFLAGS_   = -std=c++17 -O3 -lineinfo -Xcompiler -fPIC,-Wall,-Wextra -Iinclude -Isrc $(NDEBUG) $(CUDA_ARCH) -MMD -MP
# The emulated GPU (x86-64 with AVX2) compiles the same files for the CPU: tests/emulator has CUDA's headers, and
# C++ has no <<<...>>>.
EMULATOR := $(if $(EMULATED),$(wildcard tests/emulator/*.cc))
EMULATED_FLAGS = -std=c++17 -O2 -g -fPIC -pthread -march=x86-64-v3 -ffp-contract=off -fno-strict-aliasing \
             -fno-extern-tls-init -Wno-attributes -Itests/emulator -Iinclude -Isrc -MMD -MP -MF $(@:.o=.d) -MT $@
ifneq ($(EMULATED),)
CUSRC := $(wildcard src/backend/cuda/*.cu)
BASE  += -DPK_CUDA
else ifneq ($(CUDA),)
CUSRC := $(wildcard src/backend/cuda/*.cu)
BASE  += -DPK_CUDA
LIBS  += -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt
endif

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
OBJ     := $(CSRC:%.c=$(BUILD)/%.o) $(CXXSRC:%.cc=$(BUILD)/%.o) $(CUSRC:%.cu=$(BUILD)/%.cu.o) $(EMULATOR:%.cc=$(BUILD)/%.o) \
           $(foreach isa,$(ISAS),$(KERNELS:%.c=$(BUILD)/%.$(isa).o))
CLIOBJ  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c))
PAGE    := $(wildcard server/page/*)
SERVEROBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard server/*.c)) $(PAGE:%=$(BUILD)/%.o)
TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/*/$(or $(T),*)_test.c))
SCRIPTS := $(wildcard tests/*/$(or $(T),*)_test.sh)
TESTLIB := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
# peak.c is no part: it is compiled for the machine at hand, see its beginning
BENCHES := $(patsubst %.c,$(BUILD)/%,$(filter-out bench/peak.c,$(wildcard bench/*.c)))
# programs that make what the repository holds
MAKERS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tools/*.c))
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*_fuzz.c))

# MPI is a plugin, built where mpicc is and loaded when mpirun starts the program.
MPICC ?= mpicc
PLUGINS := $(if $(shell command -v $(MPICC) 2>/dev/null),$(BUILD)/pronk-mpi.so)

all: $(BUILD)/pronk $(BUILD)/libpronk.a $(BUILD)/libpronk.so $(PLUGINS)

$(BUILD)/pronk: $(CLIOBJ) $(SERVEROBJ) $(BUILD)/libpronk.a
	@$(CC) -o $@ $^ $(SERVER_LIBS) $(LIBS)
$(BUILD)/libpronk.a: $(OBJ)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libpronk.so: $(OBJ)
	@$(CC) -shared -Wl,-soname,$(SONAME) -o $@ $^ $(LIBS)
$(BUILD)/pronk-mpi.so: plugin/pronk_mpi.c src/ranks/ranks_plugin.h
	@mkdir -p $(@D)
	@echo "  mpicc $<"
	@$(MPICC) -std=c11 -O2 -g -fPIC -shared -fvisibility=hidden $(WARN) -Isrc -o $@ $<
# says what to do where the libraries are not there yet
ready:
	@pkg-config --exists $(PKGS) $(SERVER_PKGS) || { echo "missing: pkg-config or one of $(PKGS) $(SERVER_PKGS); on Debian: make setup" >&2; exit 1; }
$(BUILD)/%.o: %.c | ready
	@mkdir -p $(@D)
	@echo "  cc  $<"
	@$(CC) $(CFLAGS_) -c -o $@ $<
$(BUILD)/%.o: %.cc | ready
	@mkdir -p $(@D)
	@echo "  c++ $<"
	@$(CXX) $(CXXFLAGS_) -c -o $@ $<
ifneq ($(EMULATED),)
$(BUILD)/%.cu.o: %.cu
	@mkdir -p $(@D)
	@echo "  c++ $<"
	@sed -E 's/([a-z_]+(<In(, Out)?>)?)<<<(.*)>>>\(/emulated_launch(\1, \4, /' $< | \
	  $(CXX) $(EMULATED_FLAGS) -include tests/emulator/ptx.h -x c++ -c -o $@ -
$(BUILD)/tests/emulator/%.o: tests/emulator/%.cc
	@mkdir -p $(@D)
	@echo "  c++ $<"
	@$(CXX) $(EMULATED_FLAGS) -c -o $@ $<
else
$(BUILD)/%.cu.o: %.cu
	@mkdir -p $(@D)
	@echo "  nvcc $<"
	@$(NVCC) $(NVFLAGS_) -c -o $@ $<
endif
# a file of the page becomes an array of bytes: page.css is pk_page_css, of pk_page_css_size bytes
$(BUILD)/server/page/%.c: server/page/%
	@mkdir -p $(@D)
	@name=$$(echo "$*" | tr . _) && { echo "extern const unsigned char pk_$$name[]; extern const unsigned long pk_$${name}_size;" && \
	  echo "const unsigned char pk_$$name[] = {" && od -An -v -tx1 $< | sed 's/\([0-9a-f][0-9a-f]\)/0x\1,/g' && \
	  echo "}; const unsigned long pk_$${name}_size = sizeof pk_$$name;"; } > $@
$(BUILD)/server/page/%.o: $(BUILD)/server/page/%.c
	@$(CC) $(CFLAGS_) -c -o $@ $<
# whether there is CUDA is known to one file; it is compiled anew when that changes
$(BUILD)/src/backend/list.o: $(BUILD)/with_cuda
$(BUILD)/with_cuda: FORCE
	@mkdir -p $(@D)
	@echo "CUDA=$(CUDA) EMULATED=$(EMULATED)" | cmp -s - $@ || echo "CUDA=$(CUDA) EMULATED=$(EMULATED)" > $@
FORCE:
# the table of languages is put into the library as it is, which compilers do not see
$(BUILD)/src/detect/detect_table.o: src/detect/detect.table
define isa_rule
$(BUILD)/%.$(1).o: %.c | ready
	@mkdir -p $$(@D)
	@echo "  cc  $$< ($(1))"
	@$(CC) $$(CFLAGS_) $(ISA_$(1)) $(KERNEL_EXTRA) -DPK_ISA=$(1) -DPK_ISA_$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))
$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(TESTLIB) $(BUILD)/libpronk.a
	@$(CC) -o $@ $^ $(LIBS) -lcmocka

$(BUILD)/tests/server/%_test: $(BUILD)/tests/server/%_test.o $(TESTLIB) $(SERVEROBJ) $(BUILD)/libpronk.a
	@$(CC) -o $@ $^ $(SERVER_LIBS) $(LIBS) -lcmocka

tests: $(TESTS)
benches: $(BENCHES) $(MAKERS)

# ---- for people ----
help:
	@sed -n 's/^## //p' Makefile
## make               build/pronk, build/libpronk.a, build/libpronk.so
## make CUDA=1        the same with the cuda backend (needs nvcc)
## make demo          install what is needed, build, translate some sentences (MODEL=folder or file)
## make setup         install what is needed to build (Debian; as root or with sudo)
## make test          install what is needed, build with assertions (build/checked), check, run every test
## make test T=name   the same for the tests of that name: T=base is tests/unit/base_test.c
## make check-source  the include rule, names defined twice, lists written twice, ARCHITECTURE.md against the source
## make test-reference  all lines of the reference outputs (needs ../shared; some minutes)
## make test-emulated  tests of the cuda backend on an emulated GPU (T=name: other tests)
## make sanitize      the tests under AddressSanitizer with UBSan, then under ThreadSanitizer
## make fuzz          every fuzz target for FUZZ_SECONDS (60) seconds, from tests/data/fuzz
## make fuzz-seeds    makes tests/data/fuzz anew
## make install       PREFIX=/usr/local, DESTDIR=
## make format, make check-format, make man, make clean
setup setup-test setup-lint:
	@tools/setup.sh $(or $(patsubst setup-%,%,$(filter setup-%,$@)),build)

demo: setup
	@$(MAKE) --no-print-directory -s -j$(shell nproc) all
	@tools/demo.sh $(BUILD)/pronk "$(MODEL)"

test: setup-test
	@$(MAKE) --no-print-directory -s CHECKED=1 BUILD=$(BUILD)/checked -j$(shell nproc) check-build
	@$(MAKE) --no-print-directory -s CHECKED=1 BUILD=$(BUILD)/checked check
# benchmarks are built too, though no test runs them: they would rot
check-build: all tests benches
check: all tests man check-source
	@PRONK=$(BUILD)/pronk tools/run_tests.sh $(TESTS) $(SCRIPTS)
check-source:
	@python3 tools/check_includes.py
	@python3 tools/check_names.py
test-reference: setup-test
	@$(MAKE) --no-print-directory -s CHECKED=1 BUILD=$(BUILD)/checked reference
reference: all $(BUILD)/tests/golden/reference_test
	PRONK_REFERENCE_LINES=0 $(BUILD)/tests/golden/reference_test
# Laws of sessions, steps on the device and gradients take some minutes on the emulated GPU; other
# tests by name, T=cuda_answer, and some of those take many.
EMULATED_TESTS = $(if $(T),$(wildcard tests/*/$(T)_test.c), \
  $(filter-out %/trainer_test.c,$(shell grep -lE 'session_world.h|teach.h|"cuda"' tests/unit/*_test.c)) tests/ops/cuda_steps_test.c tests/golden/gradient_test.c)
test-emulated: setup-test
	@$(MAKE) --no-print-directory -s EMULATED=1 BUILD=$(BUILD)/emulated -j$(shell nproc) emulated-build
	@$(MAKE) --no-print-directory -s EMULATED=1 BUILD=$(BUILD)/emulated emulated-check
emulated-build: $(EMULATED_TESTS:%.c=$(BUILD)/%)
emulated-check: emulated-build
	@PRONK_REFERENCE_LINES=10 tools/run_tests.sh $(EMULATED_TESTS:%.c=$(BUILD)/%)
SANITIZERS ?= address-undefined thread
sanitize: setup-test
	@for san in $(SANITIZERS); do echo "== $$san" && \
	  $(MAKE) --no-print-directory -s SAN=$$san BUILD=$(BUILD)/$$san -j$(shell nproc) all tests && \
	  $(MAKE) --no-print-directory -s SAN=$$san BUILD=$(BUILD)/$$san sanitize-one || exit 1; done
sanitize-one: all tests
	@PRONK=$(BUILD)/pronk PRONK_REFERENCE_LINES=10 PRONK_TRAIN_UPDATES=60 tools/run_tests.sh $(TESTS)

FUZZ_SECONDS ?= 60
FUZZED := -fsanitize=address,undefined -fno-sanitize-recover=all
# no fuzzer gets as far as the kernels, and clang takes minutes to instrument them
fuzz: setup-lint
	@$(MAKE) --no-print-directory -s -j$(shell nproc) CHECKED=1 BUILD=$(BUILD)/fuzz CC=clang CXX=clang++ CUDA= \
	  WARN=-w EXTRA="-O1 $(FUZZED) -fsanitize=fuzzer-no-link -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION" KERNEL_EXTRA=-fno-sanitize=all fuzzers
	@tools/run_fuzzers.sh $(FUZZ_SECONDS) $(FUZZERS:$(BUILD)/%=$(BUILD)/fuzz/%)
fuzzers: $(FUZZERS)
$(BUILD)/tests/fuzz/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o $(BUILD)/libpronk.a
	@$(CXX) $(FUZZED) -fsanitize=fuzzer -o $@ $^ $(LIBS)
$(BUILD)/tests/fuzz/http_body_fuzz: $(addprefix $(BUILD)/server/,fields.o form.o plain_text.o)
fuzz-seeds: all
	@python3 tools/make_fuzz_seeds.py $(BUILD)/pronk

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libpronk.a
	@$(CC) -o $@ $^ $(LIBS)
$(BUILD)/tools/%: $(BUILD)/tools/%.o $(BUILD)/libpronk.a
	@$(CC) -o $@ $^ $(LIBS)

# ---- manual pages and installation ----
# every verb but help, which the page of the program has
VERBS := $(filter-out help,$(shell sed -n 's/^    X(\([a-z]*\)).*/\1/p' cli/cli.h))
man: $(BUILD)/pronk
	@mkdir -p $(BUILD)/man
	@$(BUILD)/pronk help --man > $(BUILD)/man/pronk.1
	@for v in $(VERBS); do $(BUILD)/pronk help --man $$v > $(BUILD)/man/pronk-$$v.1 || exit 1; done

install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/pronk $(DESTDIR)$(PREFIX)/bin/
	install -m 644 include/pronk.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(BUILD)/libpronk.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/libpronk.so $(DESTDIR)$(PREFIX)/lib/libpronk.so.$(VERSION)
	ln -sf libpronk.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libpronk.so
	[ -z "$(PLUGINS)" ] || install -m 755 $(PLUGINS) $(DESTDIR)$(PREFIX)/lib/
	[ ! -f models/en-de.pronk ] || { install -d $(DESTDIR)$(PREFIX)/share/pronk/models && install -m 644 models/*.pronk $(DESTDIR)$(PREFIX)/share/pronk/models/; }
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local|$(PREFIX)|' dist/pronk.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/pronk.service
	install -m 644 dist/pronk.socket $(DESTDIR)$(PREFIX)/lib/systemd/system/
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@PKGS@|$(PKGS)|' tools/pronk.pc.in \
	  > $(DESTDIR)$(PREFIX)/lib/pkgconfig/pronk.pc

FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cc' '*.cu' '*.cuh')
format:
	@clang-format -i $(FORMATTED)
check-format: setup-lint
	@clang-format --dry-run -Werror $(FORMATTED)
clean:
	rm -rf build

.PHONY: all ready tests benches help setup setup-test setup-lint demo test check check-build check-source \
        test-reference reference test-emulated emulated-build emulated-check sanitize sanitize-one fuzz fuzzers fuzz-seeds man install format \
        check-format clean FORCE
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
