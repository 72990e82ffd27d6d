#!/bin/sh
# Installs the Debian packages Pronk is built and tested with. Says plainly what is missing where it
# may not install. Usage: setup.sh [build|test|lint]
set -eu
build="gcc g++ make pkg-config libsentencepiece-dev libicu-dev libjansson-dev"
test="$build libcmocka-dev python3 mandoc"
lint="$test clang clang-format libclang-rt-14-dev"
case "${1:-build}" in
    build) wanted=$build ;;
    test) wanted=$test ;;
    lint) wanted=$lint ;;
    *) echo "usage: setup.sh [build|test|lint]" >&2; exit 2 ;;
esac
missing=""
for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
run=""
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then run="sudo"; else
        echo "setup: these packages are missing and may not be installed by this user:$missing" >&2
        echo "setup: run as root: apt-get install$missing" >&2
        exit 1
    fi
fi
command -v apt-get >/dev/null || { echo "setup: no apt-get here; please install:$missing" >&2; exit 1; }
echo "setup: installing$missing"
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1 || {
    $run apt-get update -qq && $run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
}
