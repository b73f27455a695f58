#!/bin/bash
# What a person does with watcher@.service. Each line of result is checked by
# the test.
exec 2>/shared/drive.log
set -x
unit=watcher@watched
box=/var/lib/watcher/watched/outbox
result() { echo "$*" >>/shared/result; }
# within DECISECONDS COMMAND...: whether it comes true in that time.
within() {
  local n=$1
  shift
  for ((i = 0; i < n; i++)); do
    if "$@" >&2; then return 0; fi
    sleep 0.1
  done
  return 1
}
property() { systemctl show -p "$1" --value "$unit"; }
restarted() { [ "$(property NRestarts)" = 1 ] && [ "$(property SubState)" = running ]; }
prompt() { # as the user, so that the program may ask whether it is still open
  runuser -u watched -- cp "/shared/$1.prompt" "$box/$1.prompt"
}
logged() { [ -n "$(journalctl -q -o cat "_SYSTEMD_UNIT=$unit.service" "$@")" ]; }

useradd -m watched
mkdir -p /etc/watcher /var/lib/watcher/watched/watcher "/etc/systemd/system/$unit.service.d"
cp -r /shared/profile /var/lib/watcher/watched/watcher/profile
chown -R watched: /var/lib/watcher
chmod 700 /var/lib/watcher/watched/watcher/profile
cp /shared/environment /etc/watcher/watched
printf '[Service]\nWatchdogSec=9s\nRestartSec=1\n' >"/etc/systemd/system/$unit.service.d/test.conf"
systemctl daemon-reload

systemctl start "$unit" && result "started: $(property SubState)"
prompt one && within 600 test -s "$box/one.md" && result "answered: one"
within 100 logged WATCHER_JOB=$box/one WATCHER_STAGE=sent && result "the journal has fields"
systemctl reload "$unit" && result "reloaded: $(property SubState)"
pid=$(property MainPID)
grep -q 'NoNewPrivs:.1' "/proc/$pid/status" && result "no new privileges"
spaces=$(for p in $(pgrep -u watched chrom); do readlink "/proc/$p/ns/user"; done | sort -u | wc -l)
[ "$spaces" -gt 1 ] && result "the browser has its sandbox"

# The program is well, and its browser hangs.
pkill -STOP -u watched chrom
within 600 restarted && result "restarted by the watchdog"
prompt two && within 600 test -s "$box/two.md" && result "answered: two"

systemctl stop "$unit"
result "stopped: $(property Result)"
pgrep -u watched >&2 || result "nothing is left"
journalctl -q -u "$unit" --no-pager >/shared/journal
touch /shared/end
