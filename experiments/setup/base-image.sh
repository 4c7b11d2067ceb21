#!/bin/sh
# Makes the base of the lab's images from Debian packages, for machines that cannot pull it from a registry.
# BASE: the name of the image, by default the one in the Dockerfiles. Until the image is removed, this machine uses it
# under that name. SUITE: Debian's release. MIRROR: the address of the release's packages.
set -eu

base=${BASE:-debian:bookworm-slim}
suite=${SUITE:-bookworm}
PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'base image: %s\n' "$*"; }
fail() {
    printf 'base image: %s\n' "$*" >&2
    exit 1
}

if docker image inspect "$base" >/dev/null 2>&1; then
    say "$base exists already; nothing to do"
    exit 0
fi
[ "$(id -u)" -eq 0 ] || fail "root is needed: debootstrap makes a file system"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
docker version >/dev/null 2>&1 || fail "no Docker engine answers"

mirror=${MIRROR:-}
sources=/etc/apt/sources.list.d/debian.sources
if [ -z "$mirror" ] && [ -e "$sources" ]; then
    mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' "$sources" | head -n 1)
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
say "making $base with debootstrap, about half a minute"
debootstrap --force-check-gpg --variant=minbase "$suite" "$scratch/root" $mirror >"$scratch/log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 1 "$scratch/log")"
# Image builds fetch packages with this machine's settings of apt. But no password may get into an image, such as the
# one in http://user:password@proxy.
password='://[^/"[:space:]]*@'
apt-config dump Acquire >"$scratch/acquire"
sed "\\#$password#d" "$scratch/acquire" >"$scratch/root/etc/apt/apt.conf.d/90acquire"
sed -n "\\#$password#s/ .*//p" "$scratch/acquire" | while read -r setting; do
    say "left out of the image, because it holds a user's name or password: $setting"
done
if [ -e "$sources" ] && grep -q "^Suites:.*\b$suite\b" "$sources"; then
    cp "$sources" "$scratch/root/etc/apt/sources.list.d/"
    rm -f "$scratch/root/etc/apt/sources.list"
fi
for file in "$scratch/root/etc/apt/sources.list" "$scratch/root/etc/apt/sources.list.d/"*; do
    if grep -qs "$password" "$file"; then
        sed -i "s#$password#://#" "$file"
        say "left out of the image: the user's name or password in $(basename "$file")"
    fi
done
rm -rf "$scratch/root/var/cache/apt/archives/"*.deb "$scratch/root/var/lib/apt/lists/"*
tar -C "$scratch/root" -c . | docker import - "$base" >/dev/null
say "$base is ready; this machine uses this image under that name until \`docker image rm $base\`"
