#!/usr/bin/env bash
# One step for every prompt of a folder, for cron:
#
#   * * * * * ROUTER_MODEL=kr/some-model flock -n ~/outbox/.cron ~/bin/cron.sh ~/outbox
#
# and another engine of your own where the chat can't be used. (watcher has one
# built in: --fallback-model, docs/router.md. This is for any other, and shows what
# the exit codes promise.) Needs curl and jq.
set -uo pipefail
shopt -s nullglob
outbox=${1:?name the folder}
router=${ROUTER:-http://localhost:20128/v1}
model=${ROUTER_MODEL:?name the model of the other engine}

# elsewhere NAME: nothing sends this prompt now, as --hold-on-1 has left its hold.
elsewhere() {
  local name=$1 class temp asked
  asked=$(dirname "$name")/.asked-$(basename "$name")
  # Look again. What was sent, and has not failed, is answered by the chat.
  if [ -e "$name.md" ]; then rm -f "$name.prompt.hold"; return; fi
  if [ -e "$name.md.url" ] && [ ! -e "$name.md.err" ]; then rm -f "$name.prompt.hold"; return; fi
  class=$(sed -n 's/^class: //p' "$name.md.err" 2>/dev/null)
  case $class in ambiguous | cancelled | invalid) return ;; esac # a person's
  # mkdir is exclusive: a call that was cut off is not made again by itself.
  mkdir "$asked" 2>/dev/null || { echo "$name: the call to the other engine was cut off; rmdir $asked to ask again" >&2; return; }
  temp=$(mktemp "$(dirname "$name")/.answer.XXXXXX") || return
  # A whole answer only: finish_reason stop, and text.
  if jq -n --arg model "$model" --rawfile text "$name.prompt" '{model: $model, messages: [{role: "user", content: $text}]}' |
    curl -sS --fail-with-body --max-time 600 -H "Authorization: Bearer ${ROUTER_KEY:-none}" -H 'Content-Type: application/json' \
      --data-binary @- "$router/chat/completions" |
    jq -er '.choices[0] | select(.finish_reason == "stop") | .message.content | select(test("\\S"))' >"$temp"; then
    chmod 644 "$temp"
    mv -n "$temp" "$name.md" # never over an answer; from here on the job is done
    rmdir "$asked"
    rm -f "$name.prompt.hold"
  else
    echo "$name: the other engine gave no answer; it stays held" >&2
  fi
  rm -f "$temp"
}

for prompt in "$outbox"/*.prompt; do
  watcher generate --quiet --hold-on-1 "$prompt"
  case $? in
    0) ;;                                # name.md is there
    42 | 3) ;;                           # sent, or on its way: the next minute
    1) elsewhere "${prompt%.prompt}" ;; # nothing was sent, or it failed
    *) ;;                                # nothing is known: change nothing
  esac
done
