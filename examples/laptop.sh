#!/usr/bin/env bash
# Write prompts on a laptop, have them sent by another machine, read the answers
# on the laptop: call it as often as you like, or from cron.
#
#   laptop.sh ~/drafts host:outbox
#
# Out go the prompts that the other side does not have; rsync renames each when it
# is whole. Back come the answers, and the files that say where they are from.
# Nothing is deleted on either side, so a lost name.md.url can't send a prompt twice.
set -euo pipefail
here=${1:?name the folder on this machine}
there=${2:?name the folder on the other, as host:folder}

rsync -a --ignore-existing --exclude='.*' --include='*/' --include='*.prompt' --exclude='*' "$here/" "$there/"
rsync -a --exclude='.*' --include='*/' --include='*.md' --include='*.md.url' --include='*.md.err' --exclude='*' "$there/" "$here/"
