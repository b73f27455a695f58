#!/bin/bash
# Boots a systemd of its own on a copy of this machine's root: called in new
# mount, process, uts, ipc and cgroup namespaces. $1 is a folder that both sides
# see, /shared in there; drive.sh in it is what is run.
set -e
shared=$1
mount --make-rprivate /
work=$(mktemp -d)
mount -t tmpfs tmpfs "$work"
mkdir "$work"/{up,tmp,root}
root=$work/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/up,workdir=$work/tmp" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,ro,bind "$root/proc/sys" # the kernel's settings are everybody's
mount -t sysfs -o ro sysfs "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root"/sys/fs/cgroup/{systemd,unified}
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/shared"
mount --bind "$shared" "$root/shared"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
: >"$shared/console"
mount --bind "$shared/console" "$root/dev/console"
: >"$root/etc/machine-id"
rm -f "$root/usr/bin/watcher"
ln -s /shared/watcher "$root/usr/bin/watcher"
cp "$shared"/units/* "$root/etc/systemd/system/"
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l /old
exec env -i container=lxc PATH=/usr/bin:/bin:/usr/sbin:/sbin \
  /lib/systemd/systemd --system --unit=drive.target --log-target=console
