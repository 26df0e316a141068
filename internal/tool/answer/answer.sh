# How scripts answer, all in one format, and the functions for it. For sh, dash, bash
# and busybox; built-ins, because every fork costs a millisecond.
#
#   @begin 1              the first line     @end  the last one: without it the answer is cut
#   @WORD …               a fact
#   =PATH<TAB>LINE        first line of a file     !PATH  one that is there and cannot be read
#   @file PATH            a text file; its lines follow
#   @run STATUS<TAB>NAME  a command; what it printed follows
#   |LINE                 a line of a file or of a command
#   @.                    their end; "@.+" says that the last line has no newline
#
# ROOT, if it is set, is taken from the begin of each PATH. A file with a newline in its name
# counts as one that cannot be read, with "?" for the newline. What a function leaves for its
# caller is in capitals.
NEWLINE='
'

# has COMMAND: whether it is there.
has() { command -v "$1" >/dev/null 2>&1; }

# plain FILE: whether its name is of one line.
plain() {
	case $1 in *"$NEWLINE"*) return 1 ;; esac
}

# readable FILE: whether it can be read; one that is there and cannot is named.
readable() {
	[ -f "$1" ] || return 1
	shown=${1#"$ROOT"}
	while ! plain "$shown"; do shown=${shown%%"$NEWLINE"*}"?"${shown#*"$NEWLINE"}; done
	[ "$shown" = "${1#"$ROOT"}" ] && [ -r "$1" ] && return 0
	printf '!%s\n' "$shown"
	return 1
}

# first_line FILE: leaves it in LINE, empty if there is none.
first_line() {
	LINE=''
	[ -f "$1" ] && IFS= read -r LINE 2>/dev/null <"$1"
}

# values FILE…: one line of each.
values() {
	for value_file do
		[ -f "$value_file" ] || continue
		LINE=''
		# A file without a newline at its end makes read fail and still read.
		if IFS= read -r LINE 2>/dev/null <"$value_file" || [ -n "$LINE" ]; then
			printf '=%s\t%s\n' "${value_file#"$ROOT"}" "$LINE"
		else
			printf '!%s\n' "${value_file#"$ROOT"}"
		fi
	done
}

# contents FILE…: whole text files. "@.+" says that the last line has no newline. A link to
# /dev/null is an empty one: it hides a file of its name elsewhere.
contents() {
	for text_file do
		[ -c "$text_file" ] && plain "$text_file" && printf '@file %s\n@.\n' "${text_file#"$ROOT"}"
		readable "$text_file" || continue
		printf '@file %s\n' "${text_file#"$ROOT"}"
		LINE=''
		while IFS= read -r LINE; do
			printf '|%s\n' "$LINE"
			LINE=''
		done <"$text_file"
		if [ -n "$LINE" ]; then
			printf '|%s\n@.+\n' "$LINE"
		else
			echo '@.'
		fi
	done
}

# section NAME STATUS TEXT: what a command printed, and its status. read would take a byte at a
# time, and each expansion goes through what is left: for long texts a process is faster.
section() {
	printf '@run %s\t%s\n' "$2" "$1"
	section_rest=$3
	if [ "${#section_rest}" -gt 5000 ]; then
		printf '%s\n' "$section_rest" | sed 's/^/|/'
		section_rest=''
	fi
	while [ -n "$section_rest" ]; do
		printf '|%s\n' "${section_rest%%"$NEWLINE"*}"
		case $section_rest in *"$NEWLINE"*) section_rest=${section_rest#*"$NEWLINE"} ;; *) section_rest='' ;; esac
	done
	echo '@.'
}

# answer NAME COMMAND…: runs a command and prints its section; what it printed and its
# status are left in OUTPUT and STATUS too. Errors go into the same stream: mstflint
# reports on standard output, getopt on the other one.
answer() {
	answer_name=$1
	shift
	OUTPUT=$("$@" 2>&1 </dev/null)
	STATUS=$?
	section "$answer_name" "$STATUS" "$OUTPUT"
}
