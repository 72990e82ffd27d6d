#!/bin/sh
# Installs the Debian packages Pronk is built and tested with. Says plainly what is missing where it
# may not install. Tests can do without the packages in `extra`: what needs those is skipped then, and
# counted as skipped. CHROMIUM= (a browser of your own, or empty for none) asks for no browser here, and
# MPICC= likewise for no MPI.
# usage: setup.sh [build|test|lint]
set -eu
build="gcc g++ make pkg-config libsentencepiece-dev libicu-dev libjansson-dev libyaml-dev zlib1g-dev liblzma-dev libzstd-dev libmicrohttpd-dev libsqlite3-dev"
test="$build libcmocka-dev python3 mandoc xz-utils zstd openssl"
lint="$test clang clang-format libclang-rt-14-dev"
extra=""
case "${1:-build}" in
    build) wanted=$build ;;
    test) wanted=$test
        [ -n "${CHROMIUM+set}" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
            extra="chromium"
        [ -n "${CHROMIUM+set}" ] || command -v chromedriver >/dev/null || extra="$extra chromium-driver"
        [ -n "${CHROMIUM+set}" ] || python3 -c 'import selenium' 2>/dev/null || /usr/bin/python3 -c 'import selenium' 2>/dev/null ||
            extra="$extra python3-selenium"
        [ -n "${MPICC+set}" ] || { command -v mpicc && command -v mpirun; } >/dev/null ||
            extra="$extra libopenmpi-dev openmpi-bin"
        python3 -m ensurepip --version >/dev/null 2>&1 || extra="$extra python3-venv" ;;   # clients from PyPI
    lint) wanted=$lint ;;
    *) echo "usage: setup.sh [build|test|lint]" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing$extra" ] || exit 0

root="" why=""
if ! command -v apt-get >/dev/null; then why="there is no apt-get here"
elif [ "$(id -u)" = 0 ]; then root="env"
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then root="sudo"
else why="this user may not install packages"; fi

# install PACKAGE...: with the package lists as they are, or else with new ones
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { $root env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Acquire::http::Timeout=30 "$@"; }
install() {
    apt install --no-install-recommends "$@" >"$log" 2>&1 ||
        { apt update && apt install --no-install-recommends "$@"; } >"$log" 2>&1
}

if [ -n "$missing" ] && [ -n "$why" ]; then
    echo "setup: $why, and these packages are missing:$missing" >&2
    echo "setup: as root: apt-get install$missing" >&2
    exit 1
fi
if [ -n "$missing" ]; then
    echo "setup: installing$missing"
    install $missing || { tail -n 20 "$log" >&2; echo "setup: could not install:$missing" >&2; exit 1; }
fi
for package in $extra; do
    [ -n "$why" ] || echo "setup: installing $package, which some tests need"
    [ -z "$why" ] && install "$package" ||
        echo "setup: no $package (${why:-it could not be installed}): tests that need it are skipped"
done
