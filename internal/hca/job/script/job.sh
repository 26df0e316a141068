# Changes the flash of one card, as a systemd unit of its own.
#   job.sh DIR LOCK HOLDER outer|inner
# DIR holds: request (key=value), argv (one word a line), answers (lines for
# the tool's questions). Written here: claim, states, query, output, reason,
# held, exit. The file exit is the last one written; if it is missing and the
# unit is gone, the job was interrupted. The directory claim is also made by
# whoever gives the job up before it begins.
set -u
umask 077
LC_ALL=C
export LC_ALL
# These make the tool print or log more than is understood.
unset FLINT_LOG_FILE FLASH_DEBUG FW_COMPS_DEBUG MFT_DEBUG
dir=$1
lock=$2
holder=$3
phase=$4

# Reads back what it wrote: not every shell's printf says that the disk is full.
state() {
  line="$1 $2 $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  last=
  printf '%s\n' "$line" >>"$dir/states"
  while IFS= read -r text; do last=$text; done <"$dir/states"
  [ "$last" = "$line" ] && sync "$dir/states"
}

# What is about to be done is on the disk before it is done, or it is not done:
# whoever reads the journal of a full disk must not take a burned card for one
# that was left alone.
step() {
  state "$1" "$2" || refuse 72 "the journal cannot be written, no space may be left"
}

# The rename makes exit appear whole or not at all.
finish() {
  printf '%s\n' "$1" >"$dir/exit.new"
  last=
  IFS= read -r last <"$dir/exit.new"
  if [ "$last" = "$1" ]; then sync "$dir/exit.new" && mv "$dir/exit.new" "$dir/exit"; fi
  sync "$dir"
  exit 0
}

# The driver's package is only for as long as the kernel needs it where the kernel looks for it.
take_package_away() {
  if [ -n "$package_at" ]; then rm -f "$package_at" "$package_path"; fi
}

refuse() {
  printf '%s\n' "$2" >"$dir/reason"
  state 5 failed
  if [ "$phase" = inner ]; then rm -f "$holder"; fi
  take_package_away
  finish "$1"
}

kind='' pci='' operator='' image_path='' image_sha256='' from_psid='' from_fw='' from_guids='' from_macs='' from_serial='' job=''
package_path='' package_sha256='' package_at=''
while IFS='=' read -r key value; do
  case $key in
    job) job=$value ;;
    kind) kind=$value ;;
    pci) pci=$value ;;
    operator) operator=$value ;;
    image_path) image_path=$value ;;
    image_sha256) image_sha256=$value ;;
    from_psid) from_psid=$value ;;
    from_fw) from_fw=$value ;;
    from_guids) from_guids=$value ;;
    from_macs) from_macs=$value ;;
    from_serial) from_serial=$value ;;
    package_path) package_path=$value ;;
    package_sha256) package_sha256=$value ;;
    package_at) package_at=$value ;;
  esac
done <"$dir/request"

if [ "$phase" = outer ]; then
  # systemd may start this unit long after it was asked for, and given up.
  if ! mkdir "$dir/claim" 2>/dev/null; then
    if [ -d "$dir/claim" ]; then exit 0; fi
    refuse 72 "the journal cannot be written, no space may be left"
  fi
  # A reader holds the lock for a moment and leaves no holder file; another
  # job holds it for minutes and does.
  try=0
  while :; do
    flock -n -E 75 "$lock" /bin/sh "$dir/job.sh" "$dir" "$lock" "$holder" inner
    status=$?
    if [ "$status" -ne 75 ]; then exit "$status"; fi
    if [ -f "$holder" ]; then
      cp "$holder" "$dir/held"
      refuse 75 'another job holds the lock of this host'
    fi
    try=$((try + 1))
    if [ "$try" -ge 60 ]; then refuse 75 'the lock of this host was not free for a minute'; fi
    sleep 1
  done
fi

printf 'job=%s\npci=%s\noperator=%s\nsince=%s\n' "$job" "$pci" "$operator" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$holder"
step 2 locked

# A card is who it is, not where it sits: the slot may have another one since the
# host was read. Where the serial number cannot be read now, GUIDs and MACs must
# prove it.
if [ -n "$package_at" ] && [ -z "$from_serial" ]; then
  refuse 73 'the serial number of the card is not known, and its driver tells neither GUIDs nor MACs of the flash'
fi
if [ -n "$from_serial" ]; then
  lspci -vvs "$pci" </dev/null >"$dir/vpd" 2>/dev/null
  serial=
  while read -r a rest; do
    case $a in '[SN]') serial=${rest#*: } ;; esac
  done <"$dir/vpd"
  if [ -n "$serial" ] && [ "$serial" != "$from_serial" ]; then
    refuse 73 "the card has serial number '$serial' instead of '$from_serial'"
  fi
  if [ -z "$serial$from_guids$from_macs" ]; then
    refuse 73 "the serial number of the card cannot be read, which was '$from_serial', and it had neither GUIDs nor MACs"
  fi
fi

# The second gate: card and image are still those that the verdict was about.
if [ "$kind" = burn ]; then
  sum=$(sha256sum <"$image_path") || refuse 70 "the image $image_path cannot be read"
  sum=${sum%% *}
  if [ "$sum" != "$image_sha256" ]; then
    refuse 70 "the image has SHA-256 $sum instead of $image_sha256"
  fi
fi
if [ -n "$package_at" ]; then
  sum=$(sha256sum <"$package_path") || refuse 70 "the package $package_path cannot be read"
  if [ "${sum%% *}" != "$package_sha256" ]; then
    refuse 70 "the package has SHA-256 ${sum%% *} instead of $package_sha256"
  fi
fi
# Nobody else is at the card, now and again right before the first byte: a program of
# others does not know the lock.
# shellcheck disable=SC2154,SC2034 # find_users sets USERS_WHY; a line has more than is told
nobody_else() {
  find_users '' "$lock"
  if [ -n "$USERS_WHY" ]; then refuse 77 "whether another program uses the card is not known: $USERS_WHY"; fi
  find_update '' "$pci"
  others=
  while IFS=' ' read -r pid since card rest; do
    case $pid in
      '') ;;
      0) others="$others; ${rest#*	}, by ${rest%%	*}" ;;
      *) others="$others; ${rest#*	}, pid $pid, user ${rest%%	*}" ;;
    esac
  done <<END
$(users_of "$pci")
END
  if [ -n "$others" ]; then refuse 77 "busy: ${others#; }"; fi
}

nobody_else
psid='' fw='' guids='' macs='' section=''
if [ -n "$package_at" ]; then
  devlink dev info "pci/$pci" </dev/null >"$dir/query" 2>&1 || refuse 70 "the driver does not tell the firmware: devlink ended with status $?"
  while read -r a b; do
    case $a in *:) section=$a ;; esac
    case $section$a in fixed:fw.psid) psid=$b ;; stored:fw.version) fw=$b ;; esac
  done <"$dir/query"
else
  mstflint -d "$pci" q </dev/null >"$dir/query" 2>&1 || refuse 70 "the card cannot be queried: mstflint ended with status $?"
fi
while read -r a b c d e rest; do
  case "$a $b" in
    'PSID: '*) psid=$b ;;
    'FW Version:') fw=$c ;;
    'GUIDs: '*) guids="$b $c $d $e" ;;
    # From ConnectX-4 on there is a base, which stands for all GUIDs, and one MAC.
    'Base GUID:')
      if [ "$c" = N/A ]; then c=0000000000000000; fi
      guids="$c $c 0000000000000000 $c"
      ;;
    'Base MAC:')
      # Old releases print sixteen digits.
      if [ "$c" = N/A ]; then c=000000000000; fi
      if [ "${#c}" -eq 16 ]; then c=${c#0000}; fi
      macs="$c 000000000000"
      ;;
    'MACs: '*) macs="$b $c" ;;
  esac
done <"$dir/query"
if [ -z "$psid" ] || [ "$psid" != "$from_psid" ]; then
  refuse 70 "the card has PSID '$psid' instead of '$from_psid'"
fi
if [ -z "$fw" ] || [ "$fw" != "$from_fw" ]; then
  refuse 70 "the card has firmware '$fw' instead of '$from_fw'"
fi
if [ -n "$from_guids" ] && [ "$guids" != "$from_guids" ]; then
  refuse 70 "the card has GUIDs '$guids' instead of '$from_guids': it may be another card"
fi
if [ -n "$from_macs" ] && [ "$macs" != "$from_macs" ]; then
  refuse 70 "the card has MACs '$macs' instead of '$from_macs': it may be another card"
fi
step 3 inspected

set --
while IFS= read -r word; do set -- "$@" "$word"; done <"$dir/argv"

# The answers are counted: a question that nobody foresaw meets the end of the
# file, which the tool takes as no, before it writes anything.
if [ -n "$package_at" ]; then
  # A host that has no package with firmware may not have the directory.
  if ! mkdir -p "${package_at%/*}" || ! cp "$package_path" "$package_at" || ! sync "$package_at"; then
    refuse 72 "the package cannot be copied to $package_at, where the kernel looks for it"
  fi
fi
nobody_else
step 4 burning
"$@" <"$dir/answers" >"$dir/output" 2>&1
status=$?
sync "$dir/output"
# The tool has been seen to end with 0 after an error that it printed.
if [ "$status" -eq 0 ] && grep -q -e '-E- ' "$dir/output"; then status=71; fi
if [ "$status" -eq 0 ]; then state 5 burned; else state 5 failed; fi
rm -f "$holder"
take_package_away
finish "$status"
