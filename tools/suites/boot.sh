#!/bin/sh
# boot.sh TREE OUT CGROUP: starts systemd as the first process of new namespaces, in a file system on top of TREE that is
# thrown away. The folder OUT is /out there, where the tree's check.service looks for a check.
set -e
if [ "${4-}" != inside ]; then
    mkdir "$3"
    trap 'find "$3" -depth -type d -exec rmdir {} + 2>/dev/null' EXIT
    sh -c 'echo $$ >"$3/cgroup.procs" && exec timeout -s KILL 600 unshare --mount --pid --fork --net --uts --ipc --cgroup \
        --kill-child sh "$0" "$1" "$2" "$3" inside' "$0" "$1" "$2" "$3" || true
    sleep 1
    exit 0
fi
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay none -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
cd /mnt/root
mount -t proc none proc
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs none dev
for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/shm dev/pts
ln -s /proc/self/fd dev/fd
mount -t devpts none dev/pts -o newinstance
ln -s pts/ptmx dev/ptmx
mount -t tmpfs none run
mount -t tmpfs none tmp
mount --bind "$2" out
ip link set lo up
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /lib/systemd/systemd --system --log-level=notice
