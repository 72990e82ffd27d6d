#!/bin/bash
# make_image.sh - an image for container engines (OCI layout in a tar, which `docker load` and `podman load` take too) with
# `pronk serve` and the bundled model, made of Debian's packages alone: no registry, no base image.
#
# usage: dist/make_image.sh [-o FILE]         build FILE (default build/pronk-image.tar) with build/pronk
#        dist/make_image.sh --check [FILE]    unpack FILE and run it: read-only, as its unprivileged user (needs root)
# needs: Debian 12, the release that build/pronk was built on; mmdebstrap, python3, procps. MIRROR: another mirror of Debian
#
# In the image are the program, its model and the libraries that it is linked with; no shell, no package manager. What
# of those packages no program reads (documents but for copyright, manuals, messages, conversion tables) is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
PRONK=${PRONK:-build/pronk}
MOST=$((150 * 1024 * 1024))     # bytes, unpacked
USER_ID=65532                   # as others have it for "nobody in particular"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { echo "image: $*" >&2; }
fail() { say "$*"; exit 1; }

# the packages that hold the libraries which the program is linked with; theirs come along by dependency
packages_of() {
    ldd "$1" | awk '$2 == "=>" { print $3 }' | while read -r library; do
        file=$(readlink -f "$library")
        { dpkg -S "$file" "${file#/usr}" 2>/dev/null || true; } | head -n 1 | cut -d : -f 1   # one of the two names is known
    done | sort -u | paste -s -d ,
}

prune() {
    local share=$1/usr/share
    find "$share/doc" -type f ! -name copyright -delete
    find "$share/doc" \( -type l -o -type d -empty \) -delete
    rm -rf "$1"/dev/* "$1"/etc/{dpkg,resolv.conf,hostname,fstab}
    rm -rf "$share"/{man,locale,info,lintian,bug,gdb,gcc,polkit-1,bash-completion} "$1"/usr/lib/*/gconv "$1"/usr/lib/*/audit \
        "$1"/usr/lib/*/engines-3 "$1"/etc/{apt,ld.so.conf.d,logcheck} \
        "$1"/{var,usr/sbin,sbin,usr/bin,bin,boot,home,media,mnt,opt,srv}
}

# the program's own part: stripped, its model, who runs it
add_program() {
    install -d "$1"/usr/bin "$1"/usr/share/pronk/models "$1"/usr/share/doc/pronk "$1"/{etc,proc,sys,dev,tmp,run,models,data}
    strip -o "$1/usr/bin/pronk" "$PRONK"
    install -m 644 models/en-de.pronk models/README.md "$1/usr/share/pronk/models/"
    install -m 644 LICENSE "$1/usr/share/doc/pronk/copyright"
    echo "pronk:x:$USER_ID:$USER_ID:Pronk:/data:/nonexistent" >"$1/etc/passwd"
    echo "pronk:x:$USER_ID:" >"$1/etc/group"
    chmod 1777 "$1/tmp"
    chown "$USER_ID:$USER_ID" "$1/data"
}

build() {
    local root=$work/root packages
    [ -x "$PRONK" ] || fail "no $PRONK: build it first (make)"
    command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing (Debian's package of that name)"
    packages=$(packages_of "$PRONK")
    say "packages: $packages"
    mmdebstrap --quiet --variant=extract --include="$packages" bookworm "$root" ${MIRROR:+"$MIRROR"} ||
        fail "mmdebstrap could not get the packages"
    prune "$root"
    add_program "$root"
    find "$root" -xdev -name '*.a' -delete
    python3 dist/oci_layout.py pack "$root" "$1" --user "$USER_ID:$USER_ID" --version "$("$PRONK" --version | awk '{ print $NF }')"
    check_size "$root"
    say "wrote $1, $(stat -c %s "$1") bytes"
}

check_size() {
    local size
    size=$(du -s --apparent-size -B 1 "$1" | cut -f 1)
    say "unpacked: $size bytes, $((size / 1024 / 1024)) MiB of at most $((MOST / 1024 / 1024))"
    [ "$size" -le "$MOST" ] || fail "too large"
}

# in_image ROOT COMMAND...: as a container engine would run it: root file system read-only, /proc and /dev there, no privileges
in_image() {
    local root=$1
    shift
    unshare --mount --pid --fork sh -c '
        mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
            exec chroot --userspec='"$USER_ID:$USER_ID"' "$0" "$@"' "$root" "$@"
}

# the process at the end of a chain of shells and wrappers
last_child() {
    local child
    child=$(pgrep -n -P "$1") && last_child "$child" || echo "$1"
}

check() {
    local root=$work/root port answer
    [ "$(id -u)" = 0 ] || fail "--check mounts and changes root: run it as root"
    python3 dist/oci_layout.py unpack "$1" "$root"
    check_size "$root"
    answer=$(echo "Good morning." | in_image "$root" /usr/bin/pronk translate -q) || fail "pronk translate failed"
    [ -n "$answer" ] || fail "pronk translate wrote nothing"
    say "pronk translate: $answer"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    in_image "$root" /usr/bin/pronk serve --port "$port" 2>"$work/log" &
    server=$!
    for _ in $(seq 100); do python3 dist/oci_layout.py ask "$port" >"$work/answer" 2>/dev/null && break; sleep 0.1; done
    server_user=$(awk '$1 == "Uid:" { print $2 }' "/proc/$(last_child "$server")/status")
    kill -TERM "$(last_child "$server")"                # it ends in order when asked
    wait "$server" || fail "pronk serve ended with $?"
    [ -s "$work/answer" ] || fail "pronk serve did not answer: $(cat "$work/log")"
    say "pronk serve: $(cat "$work/answer")"
    [ "$server_user" = "$USER_ID" ] || fail "pronk serve ran as user $server_user"
    ! echo "Good morning." | in_image "$root" /usr/bin/pronk translate -q -o /tmp/written 2>/dev/null ||
        fail "the image could be written to"
}

case "${1:-}" in
    --check) check "${2:-build/pronk-image.tar}" ;;
    -o) build "$2" ;;
    "") build build/pronk-image.tar ;;
    *) sed -n 's/^# usage: /usage: /p; s/^#        dist/       dist/p' "$0" >&2; exit 2 ;;
esac
