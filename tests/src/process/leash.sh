# sh leash.sh GRACE PROGRAM [ARGUMENT]...
#
# Runs PROGRAM until it ends or this script's standard input closes, as it does when the parent dies in any way. PROGRAM
# then gets SIGTERM; after GRACE tenths of a second, its whole process group gets SIGKILL. Exits with PROGRAM's code.
grace=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{
  while read -r _ <&3; do :; done
  kill -TERM "$program" 2>/dev/null
  while [ "$grace" -gt 0 ] && kill -0 "$program" 2>/dev/null; do
    sleep 0.1
    grace=$((grace - 1))
  done
  if kill -0 "$program" 2>/dev/null; then kill -KILL 0; fi
} &
watcher=$!
exec 3<&-
wait "$program"
code=$?
kill "$watcher" 2>/dev/null
# Ends the processes that PROGRAM has left in its group: first with SIGTERM, then with SIGKILL.
trap '' TERM
kill -TERM 0
{ sleep 1; kill -KILL 0; } >/dev/null 2>&1 &
exit "$code"
