#!/usr/bin/env bash
# The main job, offline: five prompts are dropped in a folder, sent through a
# real browser to the rehearsal site, and answered. Called by make demo; in the
# Debian package it is /usr/lib/watcher/demo.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -x "$here/rehearsal" ]; then
  watcher=watcher rehearsal=$here/rehearsal
else
  watcher=$here/../bin/watcher rehearsal=$here/../bin/rehearsal
fi

work=$(mktemp -d)
site= program=
finish() {
  for pid in $program $site; do kill "$pid" 2>/dev/null || true; done
  for pid in $program $site; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

echo "== a site like the real one, on this machine only"
"$rehearsal" --ledger >"$work/site" 2>"$work/ledger" &
site=$!
while [ ! -s "$work/site" ]; do
  kill -0 "$site" || exit 1
  sleep 0.1
done
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/site"; }
export WATCHER_SITE WATCHER_PROFILE="$work/profile" WATCHER_POLL=5s
WATCHER_SITE=$(field url)
echo "$WATCHER_SITE"

echo
echo "== log in, with a token from elsewhere"
field token | "$watcher" login --token-stdin

echo
echo "== watch a folder, and drop five prompts in it"
mkdir "$work/outbox"
"$watcher" run "$work/outbox" &
program=$!
cp "$here"/prompts/*.prompt "$work/outbox"

for prompt in "$work"/outbox/*.prompt; do
  name=${prompt%.prompt}
  until [ -e "$name.md" ]; do
    kill -0 "$program" || exit 1
    if [ -e "$name.md.err" ]; then cat "$name.md.err"; exit 1; fi
    sleep 0.2
  done
done
kill "$program"
wait "$program"
program=

for prompt in "$work"/outbox/*.prompt; do
  name=${prompt%.prompt}
  echo
  echo "== $(basename "$name")"
  (cd "$work/outbox" && wc -c "$(basename "$name").prompt" "$(basename "$name").md.url" "$(basename "$name").md" | sed '$d')
  echo "-- $(basename "$name").md.url"
  cat "$name.md.url"
  echo "-- $(basename "$name").md, its first lines"
  head -n 12 "$name.md"
done

echo
echo "== generate, asked about one that is done, needs no browser"
"$watcher" generate --browser /nowhere "$work/outbox/short.prompt"

kill "$site"
wait "$site" || true
site=
echo
echo "== what the site got"
for prompt in "$work"/outbox/*.prompt; do
  # The newline at the end of a file is not sent.
  sum=$(printf %s "$(cat "$prompt")" | sha256sum | cut -d ' ' -f 1)
  awk -v sum="$sum" -v name="$(basename "$prompt")" -F '[:,]' '
    /"Prompt"/ { mine = index($0, sum) > 0 }
    mine && /"Posted"/ { posted = $2 }
    mine && /"Accepted"/ { accepted = $2 }
    END {
      printf "%-20s posted %d, accepted %d\n", name, posted, accepted
      exit !(posted == 1 && accepted == 1)
    }' "$work/ledger"
done
