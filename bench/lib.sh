# What the bench scripts share: the heading of a report, the load generator, and a Strongroom of their own.
# Read by the scripts with `source`; does nothing by itself.

bench_home=${BENCH_DIRECTORY:-${TMPDIR:-/tmp}/strongroom-bench}
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$bench_home"

fail() { echo "$*" >&2; exit 1; }

heading() { # TITLE COMMAND: what a table needs in order to be quoted
  local commit
  commit=$(git -C "$project" rev-parse --short HEAD 2>/dev/null || echo unknown)
  [ -z "$(git -C "$project" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit with local changes"
  printf '### %s\n\n' "$1"
  printf -- '- machine: %s cores (%s), %s of memory, Linux %s\n' "$(nproc)" \
    "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)" \
    "$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" "$(uname -r)"
  printf -- '- date: %s, commit: %s\n- command: `%s`\n- load average at the start: %s\n\n' \
    "$(date -u +%Y-%m-%d)" "$commit" "$2" "$(cut -d' ' -f1-3 /proc/loadavg)"
}

median() { # NUMBER...
  printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) }'
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else printf "-" }'; }

bytes_of() { # 10KB, 1MB -> bytes
  case $1 in
    *KB) echo $((${1%KB} * 1000)) ;;
    *MB) echo $((${1%MB} * 1000000)) ;;
    *GB) echo $((${1%GB} * 1000000000)) ;;
    *) echo "$1" ;;
  esac
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

free_gigabytes() { df --output=avail -B1000000000 "$1" | tail -1 | tr -d ' '; }

# The load generator and the maker of trees, rebuilt when their sources are newer.
build_load() {
  local name
  load=$bench_home/load tree=$bench_home/tree
  for name in load tree; do
    if [ ! -x "$bench_home/$name" ] || [ "$project/bench/load/$name.rs" -nt "$bench_home/$name" ]; then
      rustc --edition 2024 -C opt-level=3 -o "$bench_home/$name" "$project/bench/load/$name.rs" || fail "$name.rs cannot be built"
    fi
  done
}

# rate MODE HOST:PORT PREFIX RUN|FILES BYTES CONNECTIONS SECONDS AUTHORIZATION: prints requests per second; a refused or
# broken request makes it fail, since a rate with errors says nothing.
rate() {
  local line
  line=$("$load" "$@") || return 1
  awk '{ if ($4 + $5 > 0) exit 1; printf "%.1f\n", $2 * 1000000 / $3 }' <<<"$line" || { echo "$* answered with errors: $line" >&2; return 1; }
}

# copy_texts DIRECTORY DOCUMENTS TREE [EACH]: copies the first so many files with text below DIRECTORY, by name, into a
# folder for each EACH of them (200), with names of their own; sets number and megabytes.
copy_texts() {
  local file folder name each=${4:-200}
  number=0
  while IFS= read -rd '' file; do
    folder=$3/$((number / each))
    [ $((number % each)) -ne 0 ] || mkdir -p "$folder"
    name=${file##*/}
    cp "$file" "$folder/$number-${name//%/_}"
    number=$((number + 1))
  done < <(find "$1" -type f -size -16M -size +0 \( -name '*.html' -o -name '*.txt' -o -name '*.md' -o -name '*.rst' \
    -o -name '*.pdf' -o -name '*.docx' -o -name '*.odt' -o -name '*.xlsx' -o -name '*.pptx' \) -print0 |
    sort -z | head -zn "$2" || true)
  megabytes=$(du -sm --apparent-size "$3" | cut -f1)
}

# make_office_files DOCUMENTS TREE: makes so many of the tree's pages and texts into PDF, DOCX, ODT and XLSX, a quarter
# each, in folders of their own. Counts them in number and megabytes.
make_office_files() {
  local work=$2.office kinds=(pdf docx odt xlsx) file kind filter at=0
  while IFS= read -r file; do
    kind=${kinds[at % 4]}
    mkdir -p "$work/$kind" "$2/$kind"
    sed 's/<[^>]*>/ /g' "$file" >"$work/$kind/$at.txt"
    at=$((at + 1))
  done < <(find "$2" -type f -size -200k -size +2k \( -name '*.html' -o -name '*.txt' \) | sort |
    awk -v many="$1" '{ line[NR] = $0 } END { for (at = 0; at < many && at < NR; at++) print line[int(at * NR / many) + 1] }')
  for kind in "${kinds[@]}"; do
    filter='Text (encoded):UTF8'
    [ "$kind" != xlsx ] || filter='Text - txt - csv (StarCalc):44,34,76'
    soffice -env:UserInstallation="file://$work/profile" --headless --infilter="$filter" --convert-to "$kind" \
      --outdir "$2/$kind" "$work/$kind"/*.txt >/dev/null 2>&1 || fail "LibreOffice cannot make $kind"
    number=$((number + $(find "$2/$kind" -type f | wc -l)))
  done
  rm -rf "$work"
  megabytes=$(du -sm --apparent-size "$2" | cut -f1)
}

# ---- a Strongroom of the script's own ------------------------------------------------------------------------------

build_strongroom() {
  if [ -n "${BENCH_BINARY:-}" ]; then strongroom=$BENCH_BINARY; return; fi
  (cd "$project" && cargo build --release --locked -q -p strongroom) || fail "strongroom cannot be built"
  strongroom=${CARGO_TARGET_DIR:-$project/target}/release/strongroom
}

# start_strongroom DATA [ARGUMENT...]: sets strongroom_address and strongroom_pid; waits until it is ready.
start_strongroom() {
  local data=$1 log=$1.log
  shift
  STRONGROOM_ADMIN_PASSWORD=bench-only-password "$strongroom" serve --data "$data" --listen 127.0.0.1:0 "$@" >"$log" 2>&1 </dev/null &
  strongroom_pid=$!
  for _ in $(seq 2400); do
    strongroom_address=$(grep -oEm1 'http://127\.0\.0\.1:[0-9]+' "$log" | sed 's|http://||' || true)
    if [ -n "$strongroom_address" ] && curl -sf -o /dev/null --max-time 2 "http://$strongroom_address/readyz"; then return; fi
    kill -0 "$strongroom_pid" 2>/dev/null || { tail -20 "$log" >&2; fail "strongroom exited while starting"; }
    sleep 0.025
  done
  tail -20 "$log" >&2; fail "strongroom did not become ready"
}

stop_strongroom() {
  [ -n "${strongroom_pid:-}" ] || return 0
  kill -TERM "$strongroom_pid" 2>/dev/null || true
  wait "$strongroom_pid" 2>/dev/null || true
  strongroom_pid=
}

# make_token DATA [USER]: a bearer token for the administrator or another user.
make_token() {
  "$strongroom" user token create "${2:-admin}" bench --data "$1" --json | sed -n 's/.*"secret": *"\([^"]*\)".*/\1/p'
}

# ---- a PostgreSQL of the script's own ------------------------------------------------------------------------------

# start_postgres: a server of Debian's package in $place/pg, on port 18432 of this machine alone; sets psql.
start_postgres() {
  local bin
  user=postgres
  bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
  [ "$(id -u)" -eq 0 ] || user=$(id -un)
  mkdir -p "$place/pg"; chmod 755 "$place" "$bench_home"; chown "$user" "$place/pg"
  as_user() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid "$user" --regid "$user" --init-groups "$@"; else "$@"; fi; }
  as_user "$bin/initdb" -D "$place/pg/data" -U postgres -A trust --no-sync >"$place/initdb.log" 2>&1 || fail "initdb failed: see $place/initdb.log"
  as_user "$bin/pg_ctl" -D "$place/pg/data" -l "$place/pg/log" -o "-p 18432 -k $place/pg -c listen_addresses=127.0.0.1 -c shared_buffers=1GB -c max_wal_size=4GB" -w start >/dev/null
  psql=("$bin/psql" -qAt -h 127.0.0.1 -p 18432 -U postgres)
}

# stop_postgres: ends it, if it was started.
stop_postgres() {
  [ -e "$place/pg/data/postmaster.pid" ] || return 0
  as_user "$(ls -d /usr/lib/postgresql/*/bin | tail -1)/pg_ctl" -D "$place/pg/data" -m immediate -w stop >/dev/null || true
}
