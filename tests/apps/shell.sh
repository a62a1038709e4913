# SPDX-License-Identifier: MIT OR Apache-2.0
# What shells do: pipelines, redirections, here-documents, subshells, traps.
set -eu
seq 2000 >numbers
sort -r numbers | uniq | awk '{ s += $1; print s }' >sums
while read -r number; do
    case $number in *7*) echo "$number" ;; esac
done <numbers >sevens
cat <<END >document
$(wc -l <sevens) lines with a seven
$(tail -n 1 sums)
END
(cd / && pwd) >>document
exec 5<>both
echo "through five" >&5
exec 5>&-
for n in 1 2 3; do (echo "subshell $n"; exit "$n") >>document || echo "exit $?" >>document; done
trap 'echo trapped >>document' USR1
kill -USR1 $$
(sleep 0.05; echo "later" >later) &
wait
diff <(head -n 5 numbers) <(seq 5) && echo same >>document
find . -type f | LC_ALL=C sort | xargs cksum
