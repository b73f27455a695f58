#!/usr/bin/env bash
# What comes after an answer: runs a command for each name.md that appears, with
# inotifywait (Debian: inotify-tools), and for those that are there already.
#
#   chain.sh ~/outbox pandoc -s -o {}.html {}.md
#
# {} is the answer's path without .md. An answer appears whole, under its last name,
# by link(2): "create" is its event, and there is no other to wait for. With entr:
#
#   ls ~/outbox/*.prompt | entr -np watcher generate ~/outbox
set -euo pipefail
shopt -s nullglob
outbox=${1:?name the folder}
shift

each() { # NAME COMMAND...: once for each answer
  local name=$1 mark
  mark=$(dirname "$1")/.chained-$(basename "$1") # a name that begins with a dot is nobody's job
  shift
  [ ! -e "$mark" ] || return 0
  "${@//\{\}/$name}" </dev/null && : >"$mark"
}

# Listen first, then look: what comes meanwhile is in the pipe.
exec 3< <(exec inotifywait -m -e create -e moved_to --format %f "$outbox" 2>&1)
listener=$!
trap 'kill "$listener" 2>/dev/null' EXIT
while IFS= read -r line <&3 && [ "$line" != 'Watches established.' ]; do :; done
for answer in "$outbox"/*.md; do each "${answer%.md}" "$@" || true; done
while IFS= read -r file <&3; do
  case $file in *.md) each "$outbox/${file%.md}" "$@" || echo "$file: the command failed" >&2 ;; esac
done
